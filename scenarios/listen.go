package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// listenerClient + n is the number of the client n's listener in histories: it works beside it.
const listenerClient = 1000

// listener follows shards, one after the other, through all of a client's life.
type listener struct {
	*shardClient
	h     host.Host
	count int
}

// run listens until the workload ends. What a listener holds back is its own affair, and recorded
// nowhere: it can only keep a since lower than the recorded holds do.
func (l *listener) run() {
	choices := l.r.World.NewStream("workload", "listener", l.h.Name(), fmt.Sprint(l.h.Incarnation()))
	for l.r.Working() {
		draw := sim.NewStream(choices.Uint64(), "listener")
		l.h.Clock().Sleep(sim.Exp(0, l.r.Duration("pace")).Sample(draw.Uint64()))
		shard := l.shards[draw.N(l.mix.shards)]
		if draw.N(6) == 0 {
			shard = l.brief()
		}
		l.follow(shard, draw)
	}
}

// follow opens a listener and stays with it for a number of events, or until its lease has run out.
func (l *listener) follow(shard string, draw *sim.Stream) {
	client := l.c.client(l.h, l.config())
	defer client.Close()
	ctx, cancel := l.h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	r, err := client.OpenReader(ctx, persist.ShardID(shard))
	l.c.durable.check("open reader", err)
	if err != nil {
		return
	}
	low, open := r.Since().Time()
	if !open {
		return
	}
	asOf := low + draw.N(6)
	subscribe := draw.N(2) == 0
	events, err := listen(ctx, r, asOf, subscribe)
	l.c.durable.check("listen", err)
	if err != nil {
		return
	}
	l.count++
	f := &followed{rec: l.rec, durable: l.c.durable, client: listenerClient + l.number, Listener: events,
		name: fmt.Sprintf("listener-%s-%d-%d", l.h.Name(), l.h.Incarnation(), l.count), snapshot: subscribe}
	for n := draw.N(20) + 1; n > 0 && l.r.Working(); n-- {
		if draw.N(4) == 0 {
			l.h.Clock().Sleep(sim.Exp(0, time.Second).Sample(draw.Uint64())) // a slow one
		}
		ctx, cancel := l.h.Clock().WithTimeout(context.Background(), opTimeout)
		err := f.next(ctx)
		cancel()
		if errors.Is(err, persist.ErrLeaseExpired) || errors.Is(err, io.EOF) {
			return
		}
	}
	// Half of them are left to their leases.
	if draw.N(2) == 0 {
		ctx, cancel := l.h.Clock().WithTimeout(context.Background(), opTimeout)
		defer cancel()
		l.c.durable.check("expire listener", events.Expire(ctx))
	}
}

func listen(ctx context.Context, r *persist.ReadHandle, asOf uint64, subscribe bool) (*persist.Listener, error) {
	if subscribe {
		return r.Subscribe(ctx, asOf)
	}
	return r.Listen(ctx, asOf)
}

// followed is a persist.Listener that records what it yields.
type followed struct {
	*persist.Listener
	rec      *recorder
	durable  durability
	client   int
	name     string
	snapshot bool // the next event is the contents as of AsOf
	from     models.Frontier
	begun    bool
}

// next waits for the next event and records it.
func (f *followed) next(ctx context.Context) error {
	if f.snapshot {
		return f.first(ctx)
	}
	if !f.begun {
		f.from = models.At(f.AsOf() + 1)
	}
	in := models.Listen{Shard: string(f.Shard()), Listener: f.name, AsOf: f.AsOf(), From: f.from}
	t := f.rec.begin(f.client, models.KindListen, in)
	event, err := f.Next(ctx)
	f.durable.check("listen", err)
	if errors.Is(err, io.EOF) && !f.Frontier().IsEmpty() {
		f.rec.w.Fail(models.OracleListen, "%s of shard %s is told that there is nothing to follow after %v", f.name, f.Shard(), f.Frontier())
	}
	switch {
	case err == nil && event.Progress == persist.At(f.AsOf()+1) && !f.begun && len(event.Updates) == 0:
		f.rec.end(t, f.client, models.Fail, nil) // it went past AsOf itself, which is nothing to tell
	case err == nil:
		out := models.ListenBatch{Progress: frontier(event.Progress), Updates: make([]models.Update, len(event.Updates))}
		for i, u := range event.Updates {
			out.Updates[i] = models.Update{Data: u.Data, TS: u.Time, Diff: u.Diff}
		}
		f.rec.end(t, f.client, models.Ok, out)
		f.from, f.begun = out.Progress, true
	case errors.Is(err, persist.ErrLeaseExpired):
		f.rec.end(t, f.client, models.Fail, models.LeaseExpired{})
	default:
		f.rec.end(t, f.client, models.Fail, nil)
	}
	return err
}

// first takes the snapshot of a subscription.
func (f *followed) first(ctx context.Context) error {
	t := f.rec.begin(f.client, models.KindSnapshot, models.Snapshot{Shard: string(f.Shard()), AsOf: f.AsOf()})
	event, err := f.Next(ctx)
	f.durable.check("subscribe", err)
	if err != nil {
		f.rec.end(t, f.client, models.Fail, nil)
		return err
	}
	f.snapshot = false
	f.rec.end(t, f.client, models.Ok, contents(event.Updates))
	return nil
}

// contents are a snapshot's rows as models have them.
func contents(updates []persist.Update) models.Contents {
	out := models.Contents{Rows: make([]models.Row, len(updates))}
	for i, u := range updates {
		out.Rows[i] = models.Row{Data: u.Data, Diff: u.Diff}
	}
	return out
}

// listenToAll follows a shard from its since to its upper, in the end, and sees one more append.
func listenToAll(ctx context.Context, rec *recorder, d durability, client *persist.Client, w *persist.WriteHandle, upper persist.Frontier) error {
	shard := string(w.Shard())
	r, err := client.OpenReader(ctx, persist.ShardID(shard))
	if err != nil {
		return err
	}
	asOf, open := r.Since().Time()
	if !open {
		return nil
	}
	events, err := r.Subscribe(ctx, asOf)
	if err != nil {
		return err
	}
	defer events.Close()
	f := &followed{rec: rec, durable: d, client: finalID, Listener: events, name: "listener-final-" + shard, snapshot: true}
	if t, open := upper.Time(); open {
		t = max(t, asOf) + 1 // the since may be past the upper
		row := persist.Update{Data: "final-" + shard, Time: t, Diff: 1}
		if err := appendRecorded(ctx, rec, d, finalID, w, []persist.Update{row}, upper, persist.At(t+1)); err != nil {
			return err
		}
		upper = persist.At(t + 1)
	}
	for events.Frontier().Before(upper) {
		if err := f.next(ctx); err != nil {
			return err
		}
	}
	return nil
}
