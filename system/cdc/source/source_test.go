package source_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

var background = context.Background()

func inWorld(t testing.TB, seeds int, body func(w *sim.World)) {
	t.Helper()
	for seed := range uint64(seeds) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour, Buggify: seed%2 == 1})
		w.Go("test", func() {
			defer w.Stop()
			body(w)
		})
		err := w.Run()
		w.Close()
		require.NoError(t, err, "seed %d", seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// onStore runs body with a store on the world's own disk, and one with a served one.
func onStore(t *testing.T, cfg source.Config, body func(w *sim.World, s *source.Store, open func() *source.Store)) {
	inWorld(t, 2, func(w *sim.World) {
		open := func() *source.Store {
			s, err := source.Open(w.Host(), "", cfg)
			require.NoError(t, err)
			return s
		}
		body(w, open(), open)
	})
}

func commit(t testing.TB, s *source.Store, mutations ...source.Mutation) model.Ts {
	t.Helper()
	ts, err := s.Commit(background, "", mutations)
	require.NoError(t, err)
	return ts
}

func keysOf(rows []source.Row) map[string]string {
	m := map[string]string{}
	for _, r := range rows {
		m[r.Key] = r.Value
	}
	return m
}

func TestTransactionsAndTheirLogs(t *testing.T) {
	onStore(t, source.Config{}, func(w *sim.World, s *source.Store, open func() *source.Store) {
		add1, err := s.AddSpan(background, 1, "a", "m")
		require.NoError(t, err)
		add2, err := s.AddSpan(background, 2, "m", "")
		require.NoError(t, err)
		require.Greater(t, add2, add1)
		first := commit(t, s, source.Put("apple", "1"), source.Put("pear", "1"), source.Put("apple", "2"), source.Delete("none"))
		second := commit(t, s, source.Delete("apple"), source.Put("apple", "3"), source.Delete("pear"))
		third := commit(t, s, source.Delete("apple"))
		require.Less(t, add2, first)
		require.Less(t, first, second)
		_, err = s.Commit(background, "", []source.Mutation{source.Put("b", "x"), source.Put("A", "no span has it")})
		require.ErrorIs(t, err, source.ErrNoSpan)
		check := func() {
			changes, err := s.Changes(background, source.Cursor{Span: 1})
			require.NoError(t, err)
			slices.SortFunc(changes.Rows, source.Compare)
			changes.Rows = slices.CompactFunc(changes.Rows, func(a, b source.Row) bool { return source.Compare(a, b) == 0 })
			require.Equal(t, []source.Row{
				{Span: 1, Key: "apple", CommitTs: first, Value: "2"},
				{Span: 1, Key: "apple", CommitTs: second, Value: "3", Prev: "2", Existed: true},
				{Span: 1, Key: "apple", CommitTs: third, Deleted: true, Prev: "3", Existed: true},
			}, changes.Rows)
			require.Equal(t, changes.Resolved, changes.Next.After)
			require.GreaterOrEqual(t, changes.Resolved, third)
			for asOf, want := range map[model.Ts]map[string]string{add1: {}, first: {"apple": "2"}, second: {"apple": "3"}, third: {}} {
				rows, err := s.Snapshot(background, 1, asOf)
				require.NoError(t, err)
				require.Equal(t, want, keysOf(rows))
			}
		}
		check()
		require.NoError(t, s.Close())
		s = open()
		check()
		require.Greater(t, commit(t, s, source.Put("pear", "9")), third)
	})
}

func TestTransactionIDs(t *testing.T) {
	onStore(t, source.Config{}, func(_ *sim.World, s *source.Store, open func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		ts, err := s.Commit(background, "id", []source.Mutation{source.Put("k", "1")})
		require.NoError(t, err)
		commit(t, s, source.Put("k", "2"))
		require.NoError(t, s.Close())
		s = open()
		again, err := s.Commit(background, "id", []source.Mutation{source.Put("k", "1")})
		require.NoError(t, err)
		require.Equal(t, ts, again)
		rows, err := s.Snapshot(background, 1, again)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		now, err := s.Now(background)
		require.NoError(t, err)
		rows, err = s.Snapshot(background, 1, now)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "2"}, keysOf(rows), "it took effect once")
	})
}

func TestSpansComeAndGo(t *testing.T) {
	onStore(t, source.Config{}, func(_ *sim.World, s *source.Store, _ func() *source.Store) {
		add, err := s.AddSpan(background, 1, "a", "c")
		require.NoError(t, err)
		again, err := s.AddSpan(background, 1, "a", "c")
		require.NoError(t, err)
		require.Equal(t, add, again)
		for _, span := range []source.KeySpan{{ID: 1, Start: "x", End: "y"}, {ID: 2, Start: "b", End: "d"}, {ID: 2}, {ID: 2, Start: "", End: "aa"}} {
			_, err := s.AddSpan(background, span.ID, span.Start, span.End)
			require.ErrorIs(t, err, source.ErrSpanExists)
		}
		commit(t, s, source.Put("a", "1"), source.Put("b", "1"))
		drop, err := s.DropSpan(background, 1)
		require.NoError(t, err)
		again, err = s.DropSpan(background, 1)
		require.NoError(t, err)
		require.Equal(t, drop, again)
		_, err = s.DropSpan(background, 7)
		require.ErrorIs(t, err, source.ErrNoSpan)
		_, err = s.AddSpan(background, 2, "b", "d")
		require.NoError(t, err, "what was dropped is in nobody's way")
		_, err = s.AddSpan(background, 1, "e", "f")
		require.ErrorIs(t, err, source.ErrSpanExists, "its id is not used again")
		spans, err := s.Spans(background)
		require.NoError(t, err)
		require.Len(t, spans.Spans, 2)
		dropped, _ := spans.Find(1)
		require.Equal(t, drop, dropped.DropTs)
		_, ok := spans.Find(3)
		require.False(t, ok)
		rows, err := s.Snapshot(background, 1, drop-1)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		rows, err = s.Snapshot(background, 1, drop)
		require.NoError(t, err)
		require.Empty(t, rows, "its keys are deleted at its end")
		require.Equal(t, []model.KeySpanID{2}, s.SpanIDs())
		_, err = s.Safepoint(background, "reader", drop, time.Hour)
		require.NoError(t, err)
		_, err = s.Changes(background, source.Cursor{Span: 1, After: drop})
		require.ErrorIs(t, err, source.ErrNoSpan, "given up")
	})
}

// The id of a span is not used again when nothing is left of the span, either: whoever knows it knows that one.
func TestIDsOfSpansThatAreGone(t *testing.T) {
	onStore(t, source.Config{RewriteAt: 1}, func(_ *sim.World, s *source.Store, open func() *source.Store) {
		_, err := s.AddSpan(background, 1, "a", "c")
		require.NoError(t, err)
		drop, err := s.DropSpan(background, 1)
		require.NoError(t, err)
		_, err = s.Safepoint(background, "reader", drop, time.Hour)
		require.NoError(t, err)
		for range 2 {
			spans, err := s.Spans(background)
			require.NoError(t, err)
			require.Empty(t, spans.Spans)
			_, err = s.AddSpan(background, 1, "a", "c")
			require.ErrorIs(t, err, source.ErrSpanExists)
			require.NoError(t, s.Close())
			s = open()
		}
	})
}

func TestSafepoints(t *testing.T) {
	onStore(t, source.Config{}, func(w *sim.World, s *source.Store, open func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		var at []model.Ts
		for i := range 5 {
			at = append(at, commit(t, s, source.Put("k", fmt.Sprint(i)), source.Put(fmt.Sprint("k", i), "x")))
		}
		hold := func(service string, ts model.Ts, ttl time.Duration) model.Ts {
			kept, err := s.Safepoint(background, service, ts, ttl)
			require.NoError(t, err)
			return kept
		}
		require.Equal(t, at[1], hold("a", at[1], time.Hour))
		require.Equal(t, at[1], hold("b", at[3], time.Hour), "the least counts")
		require.Equal(t, at[1], hold("c", at[0], time.Hour), "too late, and without effect")
		require.Equal(t, at[2], hold("a", at[2], 5*time.Second))
		check := func() {
			_, err := s.Changes(background, source.Cursor{Span: 1, After: at[1]})
			require.ErrorIs(t, err, source.ErrGC)
			var gc *source.GCError
			require.ErrorAs(t, err, &gc)
			require.Equal(t, &source.GCError{Asked: at[1], Safepoint: at[2]}, gc)
			_, err = s.Snapshot(background, 1, at[1])
			require.ErrorIs(t, err, source.ErrGC)
			rows, err := s.Snapshot(background, 1, at[2])
			require.NoError(t, err)
			require.Equal(t, map[string]string{"k": "2", "k0": "x", "k1": "x", "k2": "x"}, keysOf(rows))
			changes, err := s.Changes(background, source.Cursor{Span: 1, After: at[2]})
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(changes.Rows), 4)
		}
		check()
		require.NoError(t, s.Close())
		s = open()
		check()
		require.Equal(t, at[2], hold("b", at[3], time.Hour))
		w.Sleep(10 * time.Second) // the hold of a ends
		require.Equal(t, at[3], hold("b", at[3], time.Hour))
		require.Positive(t, w.Sometimes()["cdc/source: a reader's safepoint expired"])
		require.NoError(t, s.Release(background, "b"))
		require.NoError(t, s.Release(background, "nobody"))
		require.Equal(t, at[4], hold("a", at[4], time.Hour))
	})
}

// What everybody has read may be given up: that must not cut off the reader of a key span in which nothing
// happens, who has no rows to move on with.
// A reader that renews its hold just when its time is over has it, as it was told, or was told that it came too
// late.
func TestHoldThatIsRenewedAtTheLastMoment(t *testing.T) {
	const ttl = 500 * time.Millisecond // about as often as the store looks for what is over
	just := 0
	inWorld(t, 40, func(w *sim.World) {
		var s *source.Store
		var err error
		n := w.NewNode("n", func(h host.Host) { s, err = source.Open(h, "", source.Config{}) })
		n.AddDiskRule(sim.DiskRule{Delay: sim.Between(0, 50*time.Millisecond)})
		for s == nil {
			w.Sleep(10 * time.Millisecond)
			require.NoError(t, err)
		}
		random := w.NewStream("test", "renewal")
		for range 10 {
			at := commit(t, s)
			kept, err := s.Safepoint(background, "reader", at, ttl)
			require.NoError(t, err)
			require.LessOrEqual(t, kept, at)
			w.Sleep(time.Duration(random.Between(int64(ttl-20*time.Millisecond), int64(ttl+600*time.Millisecond))))
			kept, err = s.Safepoint(background, "reader", at, ttl)
			require.NoError(t, err)
			if kept > at {
				continue
			}
			beyond := commit(t, s)
			kept, err = s.Safepoint(background, "other", beyond, time.Millisecond)
			require.NoError(t, err)
			require.LessOrEqual(t, kept, at, "it was told that it holds history from there on")
		}
		just += w.Sometimes()["cdc/source: a reader was heard of just before it was forgotten"]
	})
	require.Positive(t, just)
}

func TestReaderOfAnIdleKeySpanKeepsUpWithTheSafepoint(t *testing.T) {
	onStore(t, source.Config{}, func(w *sim.World, s *source.Store, _ func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		at := source.Cursor{Span: 1}
		for range 20 {
			changes, err := s.Changes(background, at)
			require.NoError(t, err)
			require.Empty(t, changes.Rows)
			at = changes.Next
			_, err = s.Safepoint(background, "the reader", changes.Resolved-1, time.Hour)
			require.NoError(t, err)
			w.Sleep(time.Second)
		}
		ts := commit(t, s, source.Put("k", "v"))
		changes, err := s.Changes(background, at)
		require.NoError(t, err)
		require.Equal(t, ts, changes.Rows[0].CommitTs)
	})
}

func TestResolvedTs(t *testing.T) {
	onStore(t, source.Config{}, func(w *sim.World, s *source.Store, _ func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		last := model.Ts(0)
		for range 20 {
			before, err := s.Now(background)
			require.NoError(t, err)
			require.GreaterOrEqual(t, before, last)
			changes, err := s.Changes(background, source.Cursor{Span: 1, After: last})
			require.NoError(t, err)
			require.Empty(t, changes.Rows)
			require.Greater(t, changes.Resolved, before, "it grows with the time")
			last = commit(t, s, source.Put("k", "v"))
			require.Greater(t, last, changes.Resolved)
		}
		s.Stall(1, true)
		ts := commit(t, s, source.Put("k", "w"))
		changes, err := s.Changes(background, source.Cursor{Span: 1, After: last})
		require.NoError(t, err)
		require.NotEmpty(t, changes.Rows, "rows come all the same")
		require.Less(t, changes.Resolved, ts)
		ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
		_, err = s.Snapshot(ctx, 1, ts)
		cancel()
		require.ErrorIs(t, err, source.ErrNotDone)
		s.Stall(1, false)
		rows, err := s.Snapshot(background, 1, ts)
		require.NoError(t, err)
		require.Len(t, rows, 1)
	})
}

func TestManyRowsComeInParts(t *testing.T) {
	onStore(t, source.Config{}, func(_ *sim.World, s *source.Store, _ func() *source.Store) {
		_, err := s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		want := map[string]string{}
		for i := range 100 {
			var mutations []source.Mutation
			for k := range 20 {
				key := fmt.Sprint(i, "/", k)
				mutations = append(mutations, source.Put(key, "v"))
				want[key] = "v"
			}
			commit(t, s, mutations...)
		}
		got := map[string]string{}
		at := source.Cursor{Span: 1}
		parts := 0
		for len(got) < len(want) {
			changes, err := s.Changes(background, at)
			require.NoError(t, err)
			maps.Copy(got, keysOf(changes.Rows))
			at = changes.Next
			if parts++; len(got) < len(want) {
				require.Equal(t, at.After, changes.Resolved, "resolved only as far as it was returned")
			}
		}
		require.Greater(t, parts, 2)
		require.Equal(t, want, got)
	})
}

// A store that crashes, on a disk that fails, read by somebody else over a network: what readers get is
// what was committed, and no resolved ts is ever broken.
func TestClusterUnderFaults(t *testing.T) {
	sometimes := map[string]int{}
	inWorld(t, 14, func(w *sim.World) {
		commits := map[model.Ts]source.Commit{}
		told := model.Ts(0) // the largest resolved ts that a reader has
		var due []model.Ts  // committed, and not read
		record := func(c source.Commit) {
			if old, ok := commits[c.Ts]; ok {
				require.Equal(t, old, c)
				return
			}
			require.Greater(t, c.Ts, told, "a commit at or below a resolved ts")
			commits[c.Ts] = c
			if len(c.Rows) > 0 {
				due = append(due, c.Ts)
			}
		}
		n := w.NewNode("source", func(h host.Host) {
			for {
				_, _, err := source.Serve(h, "source", source.Config{OnCommit: record, RewriteAt: 4000})
				if err == nil {
					return
				}
				require.NotErrorIs(t, err, source.ErrCorrupt)
				h.Clock().Sleep(10 * time.Millisecond)
			}
		})
		w.Sleep(10 * time.Millisecond)
		c := source.Dial(w.Host(), "source:source")
		call := func(fn func(ctx context.Context) error) error {
			ctx, cancel := w.Host().Clock().WithTimeout(background, time.Second)
			defer cancel()
			return fn(ctx)
		}
		for call(func(ctx context.Context) error { _, err := c.AddSpan(ctx, 1, "", ""); return err }) != nil {
			w.Sleep(10 * time.Millisecond)
		}
		stopped := false
		acked := map[model.Ts]string{}
		w.Go("write", func() {
			for i := 0; !stopped; i++ {
				value := fmt.Sprint(i)
				err := call(func(ctx context.Context) error {
					ts, err := c.Commit(ctx, value, []source.Mutation{source.Put(fmt.Sprint("k", i%5), value)})
					if err == nil {
						acked[ts] = value
					}
					return err
				})
				if err != nil {
					require.True(t, errors.Is(err, source.ErrUnknown) || errors.Is(err, source.ErrNotDone), "%v", err)
				}
				w.Sleep(5 * time.Millisecond)
			}
		})
		read := map[model.Ts]string{}
		w.Go("read", func() {
			at := source.Cursor{Span: 1}
			for {
				err := call(func(ctx context.Context) error {
					changes, err := c.Changes(ctx, at)
					if err != nil {
						return err
					}
					for _, r := range changes.Rows {
						read[r.CommitTs] = r.Value
					}
					at, told = changes.Next, max(told, changes.Resolved)
					due = slices.DeleteFunc(due, func(ts model.Ts) bool {
						_, returned := read[ts]
						if !returned && ts <= changes.Resolved {
							require.Fail(t, "resolved, and not returned", "%d", ts)
						}
						return returned
					})
					return nil
				})
				if err != nil {
					w.Sleep(10 * time.Millisecond)
				}
			}
		})
		failing := n.AddDiskRule(sim.DiskRule{Fail: 30_000})
		random := w.NewStream("test", "faults")
		for range 15 {
			w.Sleep(time.Duration(random.Between(20, 400)) * time.Millisecond)
			n.PowerOff()
			w.Sleep(time.Duration(random.Between(0, 50)) * time.Millisecond)
			n.Restart()
		}
		failing()
		w.Sleep(2 * time.Second)
		stopped = true
		w.Sleep(2 * time.Second)
		require.Greater(t, len(acked), 50)
		for ts, value := range acked {
			require.Equal(t, value, commits[ts].Rows[0].Value)
		}
		for ts, value := range read {
			require.Equal(t, value, commits[ts].Rows[0].Value)
		}
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
	})
	for _, name := range []string{"cdc/source: resolved ts wait for a write of unknown outcome", "cdc/source: the log was rewritten"} {
		require.Positive(t, sometimes[name], name)
	}
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		ctx := context.Background()
		store, err := source.Open(w.Host(), "", source.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		start, _ := store.AddSpan(ctx, 1, "a", "z")
		ts, _ := store.Commit(ctx, "", []source.Mutation{source.Put("fruit", "apple")})
		_, _ = store.Commit(ctx, "", []source.Mutation{source.Put("fruit", "pear"), source.Put("drink", "tea")})
		changes, err := store.Changes(ctx, source.Cursor{Span: 1, After: start})
		for _, r := range changes.Rows {
			fmt.Printf("%s=%s, was %q\n", r.Key, r.Value, r.Prev)
		}
		fmt.Println(changes.Resolved >= changes.Next.After, err)
		contents, err := store.Snapshot(ctx, 1, ts)
		fmt.Println(len(contents), contents[0].Value, err)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// fruit=apple, was ""
	// drink=tea, was ""
	// fruit=pear, was "apple"
	// true <nil>
	// 1 apple <nil>
}

func BenchmarkCommit(b *testing.B) {
	inWorld(b, 1, func(w *sim.World) {
		s, err := source.Open(w.Host(), "", source.Config{})
		require.NoError(b, err)
		_, err = s.AddSpan(background, 1, "", "")
		require.NoError(b, err)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			commit(b, s, source.Put(fmt.Sprint("k", i%100), "value"), source.Put(fmt.Sprint("l", i%100), "value"))
		}
	})
}
