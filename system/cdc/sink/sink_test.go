package sink_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

var background = context.Background()

func inWorld(t testing.TB, seed uint64, body func(w *sim.World, h host.Host)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w, w.Host())
	})
	require.NoError(t, w.Run())
}

func TestEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, value := rapid.String().Draw(t, "key"), rapid.String().Draw(t, "value")
		k, v, err := sink.Decode(sink.Encode(key, value))
		require.NoError(t, err)
		require.Equal(t, []string{key, value}, []string{k, v})
	})
	for _, datum := range []string{"", "\x05four", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, _, err := sink.Decode(datum)
		require.Error(t, err, "%q", datum)
	}
}

// history is a key span's rows.
type history struct {
	rows []source.Row
	was  map[string]string
}

func (h *history) put(ts model.Ts, key, value string) {
	prev, existed := h.was[key]
	h.was[key] = value
	h.rows = append(h.rows, source.Row{Span: 1, Key: key, CommitTs: ts, Value: value, Prev: prev, Existed: existed})
}

func (h *history) delete(ts model.Ts, key string) {
	prev, existed := h.was[key]
	if existed {
		delete(h.was, key)
		h.rows = append(h.rows, source.Row{Span: 1, Key: key, CommitTs: ts, Deleted: true, Prev: prev, Existed: true})
	}
}

// between are the rows of after < ts <= upTo.
func (h *history) between(after, upTo model.Ts) []source.Row {
	return slices.DeleteFunc(slices.Clone(h.rows), func(r source.Row) bool { return r.CommitTs <= after || r.CommitTs > upTo })
}

// at is what is there at a ts.
func (h *history) at(ts model.Ts) map[string]string {
	m := map[string]string{}
	for _, r := range h.between(0, ts) {
		delete(m, r.Key)
		if !r.Deleted {
			m[r.Key] = r.Value
		}
	}
	return m
}

func requireShard(t require.TestingT, c *persist.Client, h *history, asOf model.Ts) {
	r, err := c.OpenReader(background, sink.ShardOf("feed", 1))
	require.NoError(t, err)
	defer r.Close()
	updates, err := r.SnapshotAndFetch(background, asOf)
	require.NoError(t, err)
	got := map[string]string{}
	for _, u := range updates {
		require.Equal(t, int64(1), u.Diff, "%v", u)
		key, value, err := sink.Decode(u.Data)
		require.NoError(t, err)
		got[key] = value
	}
	require.Equal(t, h.at(asOf), got, "as of %d", asOf)
}

// Several writers, who each know how far they are and not of each other, write what they have in any
// order: the shard comes out the same.
func TestShardWithSeveralWriters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inWorld(t, 1, func(_ *sim.World, h host.Host) {
			c := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
			defer c.Close()
			all := &history{was: map[string]string{}}
			const last = 40
			for ts := model.Ts(1); ts <= last; ts++ {
				for range rapid.IntRange(0, 2).Draw(rt, "changes") {
					key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")
					if n := len(all.rows); n > 0 && all.rows[n-1].CommitTs == ts {
						break
					}
					if rapid.Bool().Draw(rt, "delete") {
						all.delete(ts, key)
					} else {
						all.put(ts, key, fmt.Sprint(ts))
					}
				}
			}
			start := model.Ts(rapid.IntRange(0, 10).Draw(rt, "start"))
			type writer struct {
				span sink.Span
				at   model.Ts
				base bool
			}
			var writers []*writer
			written := 0
			durable := start
			rt.Repeat(map[string]func(*rapid.T){
				"open": func(rt *rapid.T) {
					at := model.Ts(rapid.Uint64Range(start, durable).Draw(rt, "at"))
					span, base, err := sink.NewShards(h, c, "feed").Open(background, 1, at)
					require.NoError(rt, err)
					require.Equal(rt, start > 0 && durable == start && written == 0 && base, base)
					writers = append(writers, &writer{span, at, base})
				},
				"write": func(rt *rapid.T) {
					if len(writers) == 0 {
						rt.Skip("no writers")
					}
					w := rapid.SampledFrom(writers).Draw(rt, "writer")
					upTo := model.Ts(rapid.Uint64Range(w.at, last).Draw(rt, "up to"))
					rows := all.between(w.at, upTo)
					if w.base {
						at := all.at(w.at)
						var base []source.Row
						for _, r := range all.between(0, w.at) {
							if !r.Deleted && at[r.Key] == r.Value {
								base = append(base, sink.Base(r))
							}
						}
						rows = append(base, rows...)
						w.base = false
					}
					n, err := w.span.Write(background, rows, upTo)
					require.NoError(rt, err)
					require.LessOrEqual(rt, n, len(rows))
					written += n
					w.at = upTo
					durable = max(durable, upTo)
				},
				"": func(rt *rapid.T) {
					if written > 0 {
						requireShard(rt, c, all, durable)
						requireShard(rt, c, all, model.Ts(rapid.Uint64Range(start, durable).Draw(rt, "as of")))
					}
				},
			})
		})
	})
}

func TestShardErrors(t *testing.T) {
	inWorld(t, 1, func(_ *sim.World, h host.Host) {
		c := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		defer c.Close()
		s := sink.NewShards(h, c, "feed")
		span, base, err := s.Open(background, 1, 5)
		require.NoError(t, err)
		require.True(t, base)
		_, err = span.Write(background, nil, 10)
		require.NoError(t, err)
		again, base, err := s.Open(background, 1, 10)
		require.NoError(t, err)
		require.False(t, base)
		again.Close()
		_, _, err = s.Open(background, 1, 11)
		require.ErrorIs(t, err, sink.ErrGap)
		ctx, cancel := host.WithCancel(h, background)
		cancel()
		_, err = span.Write(ctx, nil, 20)
		require.ErrorIs(t, err, context.Canceled)
		_, err = span.Write(background, nil, 20)
		require.NoError(t, err, "it may be tried again")

		w, err := c.OpenWriter(background, sink.ShardOf("feed", 1))
		require.NoError(t, err)
		require.NoError(t, w.CompareAndAppend(background, nil, persist.At(21), persist.Empty()))
		_, err = span.Write(background, nil, 30)
		require.ErrorIs(t, err, sink.ErrClosed)
		_, _, err = s.Open(background, 1, 11)
		require.ErrorIs(t, err, sink.ErrClosed)
		s.Close()
	})
}

// A shard does not keep the writers of key spans that have moved on.
func TestWritersThatAreLeftBehind(t *testing.T) {
	inWorld(t, 1, func(w *sim.World, h host.Host) {
		consensus := persist.NewMemConsensus(h)
		c := persist.NewClient(h, persist.NewMemBlob(h), consensus, persist.Config{WriterLease: time.Hour})
		defer c.Close()
		s := sink.NewShards(h, c, "feed")
		// versions are how many of the shard's state a call makes, and what it leaves behind after a while.
		versions := func(call func()) int {
			head := func() persist.SeqNo {
				v, err := consensus.Head(background, string(sink.ShardOf("feed", 1)))
				require.NoError(t, err)
				return v.SeqNo
			}
			before := head()
			call()
			w.Sleep(time.Second)
			return int(head() - before)
		}
		for upTo := model.Ts(10); upTo < 13; upTo++ {
			span, _, err := s.Open(background, 1, 5)
			require.NoError(t, err)
			_, err = span.Write(background, nil, upTo)
			require.NoError(t, err)
			require.Equal(t, 1, versions(span.Close), "the writer is taken out")
		}
		require.Zero(t, versions(func() {
			_, _, err := s.Open(background, 1, 13)
			require.ErrorIs(t, err, sink.ErrGap)
		}))
	})
}

func TestMap(t *testing.T) {
	inWorld(t, 1, func(_ *sim.World, h host.Host) {
		m := sink.NewMap(h)
		all := &history{was: map[string]string{}}
		all.put(1, "a", "1")
		all.put(2, "a", "2")
		all.put(3, "b", "3")
		all.delete(4, "b")
		for range 2 { // at least once
			span, base, err := m.Open(background, 1, 0)
			require.NoError(t, err)
			require.False(t, base)
			_, err = span.Write(background, all.between(0, 4), 4)
			require.NoError(t, err)
			span.Close()
		}
		require.Len(t, m.Rows(), 1)
		require.Equal(t, "2", m.Rows()[0].Value)
		require.True(t, m.Has("b", 4))
		require.False(t, m.Has("b", 5))
		require.Equal(t, 4, m.Repeated())
		_, base, err := m.Open(background, 2, 7)
		require.NoError(t, err)
		require.True(t, base)
		m.Close()
	})
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		h := w.Host()
		c := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		span, _, err := sink.NewShards(h, c, "feed").Open(background, 1, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		rows := []source.Row{
			{Key: "fruit", Value: "apple", CommitTs: 5},
			{Key: "fruit", Value: "pear", CommitTs: 8, Prev: "apple", Existed: true},
		}
		fresh, err := span.Write(background, rows, 10)
		fmt.Println(fresh, err)
		reader, _ := c.OpenReader(background, sink.ShardOf("feed", 1))
		for _, asOf := range []uint64{4, 7, 10} {
			updates, err := reader.SnapshotAndFetch(background, asOf)
			fmt.Println("as of", asOf, len(updates), err)
			for _, u := range updates {
				fmt.Println(sink.Decode(u.Data))
			}
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 <nil>
	// as of 4 0 <nil>
	// as of 7 1 <nil>
	// fruit apple <nil>
	// as of 10 1 <nil>
	// fruit pear <nil>
}

func BenchmarkWrite(b *testing.B) {
	inWorld(b, 1, func(_ *sim.World, h host.Host) {
		c := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		span, _, err := sink.NewShards(h, c, "feed").Open(background, 1, 0)
		require.NoError(b, err)
		b.ReportAllocs()
		for ts := model.Ts(1); b.Loop(); ts++ {
			_, err := span.Write(background, []source.Row{{Key: "k", Value: "v", CommitTs: ts, Prev: "v", Existed: ts > 1}}, ts)
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
