package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

const (
	oracleReplicated = "persist/replicated"
	replicatedShard  = "replicated"
)

// replicatedUpdates are the updates of the times in [lower, upper) in the shard that all clients write
// alike: they follow from the times.
func replicatedUpdates(lower, upper uint64) []persist.Update {
	var updates []persist.Update
	for t := lower; t < upper; t++ {
		updates = append(updates, persist.Update{Data: fmt.Sprintf("mod-%d", t%5), Time: t, Diff: 1})
		if t%3 == 0 {
			updates = append(updates, persist.Update{Data: fmt.Sprintf("third-%d", t), Time: t, Diff: 1})
		}
		if t >= 6 && t%3 == 0 {
			updates = append(updates, persist.Update{Data: fmt.Sprintf("third-%d", t-6), Time: t, Diff: -1})
		}
	}
	return updates
}

// replica appends to the shard that all clients write alike, as replicas of one computation do that
// know nothing of each other, and holds what it reads against what must be there.
type replica struct {
	*shardClient
	h     host.Host
	check *Check
}

func (p *replica) run() {
	choices := p.r.World.NewStream("workload", "replica", p.h.Name(), fmt.Sprint(p.h.Incarnation()))
	client := p.c.client(p.h, clientConfig)
	at := uint64(0) // everything before is surely in
	for p.r.Working() {
		draw := sim.NewStream(choices.Uint64(), "replica")
		p.h.Clock().Sleep(sim.Exp(0, 4*p.r.Duration("pace")).Sample(draw.Uint64()))
		ctx, cancel := p.h.Clock().WithTimeout(context.Background(), opTimeout)
		at = p.step(ctx, client, at, draw)
		cancel()
	}
}

// step appends some times that may or may not be in yet, or reads.
func (p *replica) step(ctx context.Context, client *persist.Client, at uint64, draw *sim.Stream) uint64 {
	if draw.N(4) == 0 {
		p.read(ctx, client, at)
		return at
	}
	w, err := client.OpenWriter(ctx, replicatedShard)
	p.c.durable.check("open writer", err)
	if err != nil {
		return at
	}
	lower := at - min(at, draw.N(4))
	upper := at + 1 + draw.N(8)
	err = w.Append(ctx, replicatedUpdates(lower, upper), persist.At(lower), persist.At(upper))
	p.c.durable.check("append", err)
	var mismatch *persist.UpperMismatch
	if errors.As(err, &mismatch) {
		p.check.Holds(false, "shard %s: an append of [%d, %d) was refused with %v, and everything before %d is in", replicatedShard, lower, upper, err, at)
	}
	if err == nil {
		return upper
	}
	return at
}

// read compares the contents as of the last time that is surely in with what must be there.
func (p *replica) read(ctx context.Context, client *persist.Client, at uint64) {
	if at == 0 {
		return
	}
	r, err := client.OpenReader(ctx, replicatedShard)
	p.c.durable.check("open reader", err)
	if err != nil {
		return
	}
	defer r.Close()
	_ = p.compare(ctx, r, at-1)
}

func (p *replica) compare(ctx context.Context, r *persist.ReadHandle, asOf uint64) error {
	got, err := r.SnapshotAndFetch(ctx, asOf)
	p.c.durable.check("snapshot", err)
	if err != nil {
		return err
	}
	want := persist.Consolidate(advanced(replicatedUpdates(0, asOf+1), asOf))
	p.check.Holds(fmt.Sprint(got) == fmt.Sprint(want), "shard %s as of %d holds %v, and every replica wrote %v", replicatedShard, asOf, got, want)
	return nil
}

func advanced(updates []persist.Update, asOf uint64) []persist.Update {
	for i := range updates {
		updates[i].Time = asOf
	}
	return updates
}

// final reads the shard as it is in the end.
func (p *replica) final(ctx context.Context, client *persist.Client) error {
	w, err := client.OpenWriter(ctx, replicatedShard)
	if err != nil {
		return err
	}
	upper, err := w.FetchRecentUpper(ctx)
	if err != nil {
		return err
	}
	// One more time, by somebody who knows: then there is something to read.
	t, _ := upper.Time()
	if err := w.Append(ctx, replicatedUpdates(t, t+1), upper, persist.At(t+1)); err != nil {
		return err
	}
	r, err := client.OpenReader(ctx, replicatedShard)
	if err != nil {
		return err
	}
	defer r.Close()
	return p.compare(ctx, r, t)
}
