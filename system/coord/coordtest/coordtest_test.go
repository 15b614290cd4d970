package coordtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/coord/coordtest"
)

// recorder is a test that may fail without the real one failing.
type recorder struct {
	testing.TB
	w      *sim.World
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Helper()               {}

// FailNow ends the world, and never returns.
func (r *recorder) FailNow() {
	r.failed = true
	r.w.Stop()
	r.w.Sleep(time.Hour)
}

// fails tells whether a case fails for what wrap makes of a store.
func fails(t testing.TB, c coordtest.Case, wrap func(coord.Client) coord.Client) bool {
	w := sim.New(sim.Config{Seed: 1, MaxTime: 10 * time.Minute})
	defer w.Close()
	r := &recorder{TB: t, w: w}
	w.Go("test", func() {
		defer w.Stop()
		s := wrap(coord.NewMemory(w.Host(), coord.StoreConfig{}))
		c.Run(coordtest.Env{T: r, Host: w.Host(), Open: func() coord.Client { return s }})
	})
	return w.Run() != nil || r.failed
}

// Each of these is a client that is wrong in one way.
type (
	ignoresCompares struct{ coord.Client }
	notAtomic       struct{ coord.Client }
	stale           struct{ coord.Client }
	keepsTheDead    struct{ coord.Client }
	leaksKeys       struct{ coord.Client }
	forgetsNothing  struct{ coord.Client }
	losesEvents     struct{ coord.Client }
	repeatsEvents   struct{ coord.Client }
	oneOff          struct{ coord.Client }
)

func (c ignoresCompares) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	t.If = nil
	return c.Client.Txn(ctx, t)
}

func (c notAtomic) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	if len(t.If) == 0 && len(t.Then) > 1 {
		if _, err := c.Client.Txn(ctx, coord.Txn{Then: t.Then[:1]}); err != nil {
			return coord.TxnResult{}, err
		}
		t.Then = t.Then[1:]
	}
	return c.Client.Txn(ctx, t)
}

func (c stale) Range(ctx context.Context, keys coord.Keys, at coord.Revision) (coord.Snapshot, error) {
	s, err := c.Client.Range(ctx, keys, at)
	if err == nil && at == 0 && s.Revision > 2 {
		return c.Client.Range(ctx, keys, s.Revision-1)
	}
	return s, err
}

func (c keepsTheDead) KeepAlive(context.Context, coord.LeaseID) error { return nil }

func (c leaksKeys) Revoke(context.Context, coord.LeaseID) error { return nil }

func (c forgetsNothing) Compact(context.Context, coord.Revision) error { return nil }

func (c losesEvents) Watch(keys coord.Keys, from coord.Revision) coord.Watcher {
	return watcher{c.Client.Watch(keys, from), func(e []coord.Event) []coord.Event { return e[:1] }}
}

func (c repeatsEvents) Watch(keys coord.Keys, from coord.Revision) coord.Watcher {
	return watcher{c.Client.Watch(keys, from), func(e []coord.Event) []coord.Event { return append(e, e...) }}
}

func (c oneOff) Watch(keys coord.Keys, from coord.Revision) coord.Watcher {
	return c.Client.Watch(keys, from+1)
}

type watcher struct {
	coord.Watcher
	change func([]coord.Event) []coord.Event
}

func (w watcher) Next(ctx context.Context) ([]coord.Event, error) {
	events, err := w.Watcher.Next(ctx)
	if len(events) > 0 {
		events = w.change(events)
	}
	return events, err
}

// The suite finds what is wrong with a client, and nothing wrong with one that is right.
func TestSuiteFindsPlantedErrors(t *testing.T) {
	for name, wrap := range map[string]func(coord.Client) coord.Client{
		"":                 func(c coord.Client) coord.Client { return c },
		"ignores compares": func(c coord.Client) coord.Client { return ignoresCompares{c} },
		"not atomic":       func(c coord.Client) coord.Client { return notAtomic{c} },
		"stale reads":      func(c coord.Client) coord.Client { return stale{c} },
		"keeps the dead":   func(c coord.Client) coord.Client { return keepsTheDead{c} },
		"leaks keys":       func(c coord.Client) coord.Client { return leaksKeys{c} },
		"forgets nothing":  func(c coord.Client) coord.Client { return forgetsNothing{c} },
		"loses events":     func(c coord.Client) coord.Client { return losesEvents{c} },
		"repeats events":   func(c coord.Client) coord.Client { return repeatsEvents{c} },
		"one off":          func(c coord.Client) coord.Client { return oneOff{c} },
	} {
		found := false
		for _, c := range coordtest.Cases() {
			found = found || !c.Restarts && fails(t, c, wrap)
		}
		require.Equal(t, name != "", found, "%q", name)
	}
}

func ExampleCases() {
	for _, c := range coordtest.Cases()[:3] {
		fmt.Println(c.Name, c.Restarts)
	}
	// Output:
	// revisions false
	// compares false
	// transactions false
}

// BenchmarkSuite is the whole suite on a store in memory.
func BenchmarkSuite(b *testing.B) {
	for b.Loop() {
		for _, c := range coordtest.Cases() {
			if !c.Restarts && fails(b, c, func(c coord.Client) coord.Client { return c }) {
				b.Fatal(c.Name)
			}
		}
	}
}
