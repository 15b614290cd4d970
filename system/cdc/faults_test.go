package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// underFaults is one run of everything, with everything going wrong for a while.
func underFaults(t *testing.T, seed uint64) (hash uint64, sometimes map[string]int) {
	return inWorld(t, seed, func(w *sim.World) {
		cfg := config()
		if seed%4 >= 2 {
			cfg.SessionTTL = 8 * time.Second
		}
		c := newCluster(t, w, 4, cfg)
		c.create(6)
		stop := c.write(20 * time.Millisecond)
		w.Sleep(2 * time.Second)
		f := &faults{c: c, random: w.NewStream("test", "faults"), next: 7}
		quiet := w.AddRule(sim.Rule{Loss: 5_000})
		for range 20 {
			w.Sleep(time.Duration(f.random.Between(50, 1500)) * time.Millisecond)
			f.one()
		}
		f.healAll()
		quiet()
		w.Sleep(5 * time.Second)
		stop()
		c.settled()
		f.settled()
	})
}

// faults makes things go wrong.
type faults struct {
	c      *cluster
	random *sim.Stream
	next   model.KeySpanID
	sinks  int // of the changefeed that comes and goes
	heal   []func()
}

// another is a changefeed that is removed and created again under its id, each time into another sink.
const another = "another"

func (f *faults) again(ctx context.Context) {
	if f.random.N(4) > 0 {
		_ = f.c.admin.Remove(ctx, another)
	}
	f.c.w.Sleep(time.Duration(f.random.Between(0, 1)*f.random.Between(0, 400)) * time.Millisecond)
	now, err := f.c.upstream.Now(ctx)
	if err != nil {
		return
	}
	f.sinks++
	_ = f.c.admin.Create(ctx, another, model.ChangeFeedInfo{StartTs: now, SinkURI: fmt.Sprint(another, f.sinks)})
}

// settled waits until the changefeed that comes and goes is where the upstream store is, if there is one, and
// compares.
func (f *faults) settled() {
	var feed cdc.Feed
	f.c.within(time.Minute, func(ctx context.Context) (err error) {
		if feed, err = f.c.admin.Feed(ctx, another); errors.Is(err, cdc.ErrNoFeed) {
			return nil
		}
		return err
	})
	if feed.Incarnation == 0 {
		return
	}
	at := f.c.now()
	f.c.within(2*time.Minute, func(ctx context.Context) (err error) {
		if feed, err = f.c.admin.Feed(ctx, another); err == nil && feed.Status.CheckpointTs < at {
			err = fmt.Errorf("%s at %d, not at %d: %v", feed.Info.State, feed.Status.CheckpointTs, at, feed.Err())
		}
		return err
	})
	f.c.judge.start[feed.Info.SinkURI] = feed.Info.StartTs
	f.c.compare(feed.Info.SinkURI, feed.Status.CheckpointTs)
}

func (f *faults) healAll() {
	for _, heal := range f.heal {
		heal()
	}
	f.heal = nil
}

// later ends a fault after a while.
func (f *faults) later(least, most int64, heal func()) {
	done := false
	once := func() {
		if !done {
			done = true
			heal()
		}
	}
	f.heal = append(f.heal, once)
	d := time.Duration(f.random.Between(least, most)) * time.Millisecond
	f.c.w.Go("heal", func() {
		f.c.w.Sleep(d)
		once()
	})
}

func (f *faults) someCapture() *sim.Node {
	if f.random.N(3) == 0 {
		if n := f.c.ownerNode(); n != nil {
			return n
		}
	}
	return f.c.nodes[f.random.N(uint64(len(f.c.nodes)))]
}

func (f *faults) crash(n *sim.Node, least, most int64) {
	f.c.judge.died(n.Name())
	if f.random.N(2) == 0 {
		n.PowerOff()
	} else {
		n.Crash()
	}
	f.later(least, most, n.Restart)
}

// one is one fault, or one wish of a user.
func (f *faults) one() {
	c, w := f.c, f.c.w
	ctx, cancel := w.Host().Clock().WithTimeout(background, 2*time.Second)
	defer cancel()
	spans := c.store.SpanIDs()
	switch f.random.N(27) {
	case 0, 1:
		f.crash(f.someCapture(), 0, 3000)
	case 2:
		n := f.someCapture() // for shorter or longer than its session lasts
		n.Pause()
		f.later(200, 5000, n.Resume)
	case 3:
		n := f.someCapture()
		others := []string{"coord", "source", "blob", "consensus"}
		f.later(100, 5000, w.AddRule(sim.Rule{From: []string{n.Name()}, To: []string{others[f.random.N(4)]}, Both: f.random.N(2) == 0, Drop: true}))
	case 4:
		a, b := f.someCapture(), f.someCapture()
		f.later(100, 4000, w.AddRule(sim.Rule{From: []string{a.Name()}, To: []string{b.Name()}, Both: f.random.N(2) == 0, Drop: true}))
	case 5:
		w.ResetConns(f.someCapture().Name(), f.someCapture().Name())
	case 6:
		f.crash(c.coord, 0, 1500)
	case 7:
		f.crash(c.source, 0, 1500)
	case 8:
		f.crash(c.stores[f.random.N(2)], 0, 1000)
	case 9:
		_ = c.admin.Resign(ctx)
	case 10, 11:
		captures, err := c.admin.Captures(ctx)
		if err == nil && len(captures) > 0 && len(spans) > 0 {
			_ = c.admin.MoveKeySpan(ctx, feed, spans[f.random.N(uint64(len(spans)))], captures[f.random.N(uint64(len(captures)))].ID)
		}
	case 12:
		_ = c.admin.Rebalance(ctx, feed)
	case 13:
		start, end := spanRange(f.next)
		_, _ = c.upstream.AddSpan(ctx, f.next, start, end)
		f.next++
	case 14:
		if len(spans) > 3 {
			_, _ = c.upstream.DropSpan(ctx, spans[f.random.N(uint64(len(spans)))])
		}
	case 15:
		if len(spans) > 0 {
			id := spans[f.random.N(uint64(len(spans)))]
			c.store.Stall(id, true)
			f.later(100, 4000, func() { c.store.Stall(id, false) })
		}
	case 16:
		// Slow stores: what is written takes its time.
		slow := w.AddRule(sim.Rule{From: []string{"blob", "consensus"}, Both: true, Delay: sim.Between(0, 300*time.Millisecond)})
		f.later(500, 4000, slow)
	case 17:
		// Messages between captures are late.
		late := w.AddRule(sim.Rule{From: []string{f.someCapture().Name()}, To: []string{"cap0", "cap1", "cap2", "cap3"}, Delay: sim.Between(0, 2*time.Second)})
		f.later(500, 4000, late)
	case 18:
		// What the coordination service says is late on one machine.
		late := w.AddRule(sim.Rule{From: []string{"coord"}, To: []string{f.someCapture().Name()}, Delay: sim.Between(0, 500*time.Millisecond)})
		f.later(500, 4000, late)
	case 19:
		// What one machine asks of the coordination service is kept back, for longer than a session lasts, and
		// then arrives all the same.
		clog := w.AddRule(sim.Rule{From: []string{f.someCapture().Name()}, To: []string{"coord"}, Hold: true})
		f.later(500, 5000, clog)
	case 20, 21:
		// The owner goes while it moves something.
		captures, err := c.admin.Captures(ctx)
		if err == nil && len(captures) > 0 && len(spans) > 0 {
			for range 3 {
				_ = c.admin.MoveKeySpan(ctx, feed, spans[f.random.N(uint64(len(spans)))], captures[f.random.N(uint64(len(captures)))].ID)
			}
		}
		w.Sleep(time.Duration(f.random.Between(100, 700)) * time.Millisecond)
		_ = c.admin.Resign(ctx)
	case 23, 24, 25:
		f.again(ctx)
	case 26:
		_ = f.c.admin.SetState(ctx, another, model.StateStopped)
		f.later(0, 500, func() { // whatever came of that
			f.c.within(time.Minute, func(ctx context.Context) error {
				if err := f.c.admin.Resume(ctx, another); !errors.Is(err, cdc.ErrNoFeed) {
					return err
				}
				return nil
			})
		})
	case 22:
		// The owner's lease is gone, and it does not know.
		if leader, err := coord.CurrentLeader(ctx, c.client, "/cdc/owner/"); err == nil {
			kv, ok, err := coord.ReadKey(ctx, c.client, leader.Key)
			if err == nil && ok {
				_ = c.client.Revoke(ctx, kv.Lease)
			}
		}
	}
}

func TestUnderFaults(t *testing.T) {
	first, seeds := uint64(0), uint64(40)
	if s := os.Getenv("CDC_SEEDS"); s != "" { // more of them, by hand
		var err error
		seeds, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	if s := os.Getenv("CDC_SEED"); s != "" {
		var err error
		first, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		seeds = 1
	}
	total := map[string]int{}
	for seed := first; seed < first+seeds; seed++ {
		_, sometimes := underFaults(t, seed)
		for name, n := range sometimes {
			total[name] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(total)) {
		t.Log(total[name], name)
	}
	if seeds < 40 {
		return
	}
	for _, name := range []string{
		"cdc: a capture lost its session",
		"cdc: a capture syncs again",
		"cdc: a checkpoint write of unknown outcome is settled",
		"cdc: a dispatch from before a sync is dropped",
		"cdc: a finished operation could not be told",
		"cdc: a key span has to catch up before it counts as added",
		"cdc: a sync tells of key spans being added",
		"cdc: an answer from before a sync is dropped",
		"cdc: an owner resigns",
		"cdc: scheduling ends with operations under way",
		"cdc/sink: some rows of a batch were there already",
	} {
		require.Positive(t, total[name], name)
	}
}
