package persist_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

// fixture is a shard in memory, a scripted client on it and a rival with a cache of its own.
type fixture struct {
	t         *testing.T
	w         *sim.World
	stores    stores
	script    *script
	writer    *persist.WriteHandle
	rival     *persist.WriteHandle
	reader    *persist.ReadHandle
	consensus persist.Consensus
}

const shard persist.ShardID = "s"

func withFixture(t *testing.T, cfg persist.Config, body func(f *fixture)) {
	cfg.NoMaintenance = true // a script is for the commands of the test
	inWorld(t, 2, func(w *sim.World) {
		s := inMemory(w)
		f := &fixture{t: t, w: w, stores: s, consensus: s.consensus(w.Host())}
		f.script = &script{Consensus: f.consensus}
		mine := persist.NewClient(w.Host(), s.blob(w.Host()), f.script, cfg)
		others := s.client(w.Host(), cfg)
		var err error
		f.writer, err = mine.OpenWriter(background, shard)
		require.NoError(t, err)
		f.rival, err = others.OpenWriter(background, shard)
		require.NoError(t, err)
		f.reader, err = others.OpenReader(background, shard)
		require.NoError(t, err)
		_, err = f.writer.FetchRecentUpper(background) // of the version that the reader made
		require.NoError(t, err)
		body(f)
	})
}

// append appends one row named like the interval, as the rival.
func (f *fixture) rivalAppends(from, to uint64) {
	require.NoError(f.t, f.rival.CompareAndAppend(background, []persist.Update{update(fmt.Sprintf("rival %d", from), from, 1)}, at(from), at(to)))
}

// contents are the rows as of the time just before the upper.
func (f *fixture) contents() []string {
	upper, err := f.rival.FetchRecentUpper(background)
	require.NoError(f.t, err)
	asOf, ok := upper.Time()
	if !ok {
		asOf = 1 << 62
	} else {
		asOf--
	}
	updates, err := f.reader.SnapshotAndFetch(background, asOf)
	require.NoError(f.t, err)
	var rows []string
	for _, u := range updates {
		require.Equal(f.t, int64(1), u.Diff, "%v", u)
		rows = append(rows, u.Data)
	}
	return rows
}

// blobs are the keys in the blob store, once background work is done.
func (f *fixture) blobs() int {
	f.w.Sleep(time.Second)
	infos, err := f.stores.blob(f.w.Host()).List(background, "")
	require.NoError(f.t, err)
	return len(infos)
}

func (f *fixture) append(from, to uint64) error {
	return f.writer.CompareAndAppend(background, []persist.Update{update(fmt.Sprintf("mine %d", from), from, 1)}, at(from), at(to))
}

func TestAppendAndMismatch(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		require.NoError(t, f.append(0, 10))
		require.Equal(t, at(10), f.writer.Upper())
		f.rivalAppendsSeesMismatch(0, 5, at(10))
		f.rivalAppends(10, 20)

		err := f.append(10, 15)
		var mismatch *persist.UpperMismatch
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, &persist.UpperMismatch{Expected: at(10), Current: at(20)}, mismatch)
		require.Equal(t, at(20), f.writer.Upper())
		require.Equal(t, []string{"mine 0", "rival 10"}, f.contents())
		require.NoError(t, f.append(20, 30))

		err = f.writer.CompareAndAppend(background, nil, at(31), at(40))
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, at(30), mismatch.Current)

		require.NoError(t, f.writer.CompareAndAppend(background, nil, at(30), persist.Empty()), "close")
		err = f.rival.CompareAndAppend(background, nil, at(30), at(31))
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, persist.Empty(), mismatch.Current)
		require.ErrorContains(t, err, "closed")
		require.Equal(t, []string{"mine 0", "mine 20", "rival 10"}, f.contents())
	})
}

func (f *fixture) rivalAppendsSeesMismatch(from, to uint64, current persist.Frontier) {
	err := f.rival.CompareAndAppend(background, []persist.Update{update("never", from, 1)}, at(from), at(to))
	var mismatch *persist.UpperMismatch
	require.ErrorAs(f.t, err, &mismatch)
	require.Equal(f.t, current, mismatch.Current)
}

func TestInvalidUsageWritesNothing(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		for _, c := range []struct {
			updates        []persist.Update
			expected, next persist.Frontier
			cause          error
		}{
			{[]persist.Update{update("x", 4, 1)}, at(5), at(9), persist.ErrUpdateNotBeyondLower},
			{[]persist.Update{update("x", 9, 1)}, at(5), at(9), persist.ErrUpdateBeyondUpper},
			{nil, at(5), at(4), persist.ErrInvalidBounds},
			{[]persist.Update{update("x", 0, 1)}, at(0), at(0), persist.ErrEmptyInterval},
			{nil, persist.Empty(), persist.Empty(), persist.ErrClosedLower},
		} {
			err := f.writer.CompareAndAppend(background, c.updates, c.expected, c.next)
			var usage *persist.InvalidUsage
			require.ErrorAs(t, err, &usage)
			require.ErrorIs(t, err, c.cause)
		}
		upper, err := f.writer.FetchRecentUpper(background)
		require.NoError(t, err)
		require.Equal(t, at(0), upper)

		require.NoError(t, f.writer.Expire(background))
		err = f.append(0, 1)
		require.ErrorIs(t, err, persist.ErrHandleClosed)
		require.Zero(t, f.blobs())
	})
}

// A writer whose cache is stale, and whose caller knows better, is right.
func TestAppendOnAStaleCache(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		f.rivalAppends(0, 10)
		require.Equal(t, at(0), f.writer.Upper(), "not told")
		require.NoError(t, f.append(10, 20))
		require.Positive(t, f.w.Sometimes()["persist: a stale cache made an append look mismatched"])
	})
}

// The history of an append that needs several attempts is a script of what becomes of each.
func TestRetriedAppend(t *testing.T) {
	type step = func(func() (bool, error)) (bool, error)
	for _, c := range []struct {
		name     string
		script   func(f *fixture) []step
		mismatch persist.Frontier // zero: success
		contents []string
		hit      string // a Sometimes of the path taken
	}{
		{
			name:     "refused, then done",
			script:   func(*fixture) []step { return []step{refused, refused} },
			contents: []string{"mine 0"},
		}, {
			name:     "not done, then done",
			script:   func(*fixture) []step { return []step{lostRequest} },
			contents: []string{"mine 0"},
		}, {
			name:     "done, not told",
			script:   func(*fixture) []step { return []step{lostReply} },
			contents: []string{"mine 0"},
			hit:      "persist: a retried append had gone in",
		}, {
			name: "done, not told, and another wrote after it",
			script: func(f *fixture) []step {
				return []step{after(lostReply, func() { f.rivalAppends(10, 20) })}
			},
			contents: []string{"mine 0", "rival 10"},
			hit:      "persist: a retried append had gone in",
		}, {
			name: "not done, and another wrote instead",
			script: func(f *fixture) []step {
				return []step{during(func() { f.rivalAppends(0, 20) }, lostRequest)}
			},
			mismatch: at(20),
			contents: []string{"rival 0"},
			hit:      "persist: a retried append had not gone in",
		}, {
			name: "not done, and another wrote the same interval",
			script: func(f *fixture) []step {
				return []step{during(func() { f.rivalAppends(0, 10) }, lostRequest)}
			},
			mismatch: at(10),
			contents: []string{"rival 0"},
			hit:      "persist: a retried append had not gone in",
		}, {
			name: "lost the race, tried again, lost again",
			script: func(f *fixture) []step {
				return []step{during(func() { f.rivalAppends(0, 10) }, func(do func() (bool, error)) (bool, error) { return do() })}
			},
			mismatch: at(10),
			contents: []string{"rival 0"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			withFixture(t, persist.Config{}, func(f *fixture) {
				f.script.cas = c.script(f)
				err := f.append(0, 10)
				if c.mismatch == at(0) {
					require.NoError(t, err)
				} else {
					var mismatch *persist.UpperMismatch
					require.ErrorAs(t, err, &mismatch)
					require.Equal(t, c.mismatch, mismatch.Current)
				}
				require.Empty(t, f.script.cas, "the script was followed to its end")
				require.Equal(t, c.contents, f.contents())
				require.LessOrEqual(t, len(c.contents), f.blobs())
				if c.hit != "" {
					require.Positive(t, f.w.Sometimes()[c.hit])
				}
			})
		})
	}
}

// Longer than the writer lease goes by between an append that went in unknown and the retry, and
// the shard has forgotten the writer.
func TestForgottenWriter(t *testing.T) {
	cfg := persist.Config{WriterLease: time.Second, ReaderLease: time.Hour}
	forget := func(f *fixture) {
		f.w.Sleep(2 * time.Second)
		f.rivalAppends(10, 20)
	}
	t.Run("its blob tells", func(t *testing.T) {
		withFixture(t, cfg, func(f *fixture) {
			f.script.cas = append(f.script.cas, after(lostReply, func() { forget(f) }))
			require.NoError(t, f.append(0, 10))
			require.Equal(t, []string{"mine 0", "rival 10"}, f.contents())
		})
	})
	t.Run("nothing tells", func(t *testing.T) {
		withFixture(t, cfg, func(f *fixture) {
			f.script.cas = append(f.script.cas, after(lostReply, func() { forget(f) }))
			err := f.writer.CompareAndAppend(background, nil, at(0), at(10))
			require.ErrorIs(t, err, persist.ErrAmbiguous)
			require.ErrorIs(t, err, persist.ErrIndeterminate)
			require.NotErrorIs(t, err, persist.ErrDeterminate)
			require.NoError(t, f.append(20, 30), "the handle goes on")
		})
	})
	t.Run("the upper tells", func(t *testing.T) {
		withFixture(t, cfg, func(f *fixture) {
			f.script.cas = append(f.script.cas, during(func() {
				f.rivalAppends(0, 5)
				f.w.Sleep(2 * time.Second)
			}, lostRequest))
			err := f.writer.CompareAndAppend(background, nil, at(0), at(10))
			var mismatch *persist.UpperMismatch
			require.ErrorAs(t, err, &mismatch)
			require.Equal(t, at(5), mismatch.Current)
		})
	})
}

// A call that its caller gave up may still take effect, and a later call of the same handle is
// not mistaken for it.
func TestAbandonedAppendLandsLate(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		var late func() (bool, error)
		f.script.cas = append(f.script.cas, func(do func() (bool, error)) (bool, error) {
			late = do
			return lostRequest(do)
		}, lostRequest, lostRequest, lostRequest)
		ctx, cancel := f.w.Host().Clock().WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		err := f.writer.CompareAndAppend(ctx, []persist.Update{update("abandoned", 0, 1)}, at(0), at(20))
		require.ErrorIs(t, err, persist.ErrIndeterminate)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, persist.ErrDeterminate)

		f.script.cas = append(f.script.cas[:0], func(do func() (bool, error)) (bool, error) {
			f.script.Consensus = stripContext{f.consensus}
			committed, err := late()
			require.NoError(t, err)
			require.True(t, committed)
			return lostRequest(do)
		})
		err = f.append(0, 10)
		var mismatch *persist.UpperMismatch
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, at(20), mismatch.Current)
		require.Equal(t, []string{"abandoned"}, f.contents(), "its blob was not deleted")
	})
}

// stripContext executes operations whose callers have given up.
type stripContext struct{ persist.Consensus }

func (s stripContext) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	return s.Consensus.CompareAndSet(context.WithoutCancel(ctx), key, expected, next)
}

func TestContextEndsBeforeAnythingIsDone(t *testing.T) {
	withFixture(t, persist.Config{}, func(f *fixture) {
		ctx, cancel := host.WithCancel(f.w.Host(), background)
		cancel()
		err := f.writer.CompareAndAppend(ctx, []persist.Update{update("x", 0, 1)}, at(0), at(1))
		require.ErrorIs(t, err, persist.ErrDeterminate)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, f.blobs())
	})
}

func TestFailedAppendDeletesItsBlob(t *testing.T) {
	inWorld(t, 5, func(w *sim.World) {
		s := inMemory(w)
		a, err := s.client(w.Host(), persist.Config{}).OpenWriter(background, shard)
		require.NoError(t, err)
		for i := range 10 {
			err := a.CompareAndAppend(background, []persist.Update{update("x", 100, 1)}, at(100), at(101))
			var mismatch *persist.UpperMismatch
			require.ErrorAs(t, err, &mismatch, "%d", i)
		}
		w.Sleep(time.Second)
		infos, err := s.blob(w.Host()).List(background, "")
		require.NoError(t, err)
		if w.Seed()%2 == 0 { // without Buggify
			require.Empty(t, infos)
		}
	})
}

// attempt is one append of the random test below.
type attempt struct {
	tag             string
	from, to        uint64
	invoked, ended  uint64 // events
	outcome         string // "ok", "mismatch", "unknown", "not done"
	current         uint64 // of a mismatch
	indexInTheChain int
}

// Several writers, each with a cache of its own, append over stores that fail in every way.
// What the callers were told is then held against what is in the shard.
func TestWritersUnderFailures(t *testing.T) {
	const writers, each = 4, 25
	retried := map[string]int{}
	inWorld(t, 60, func(w *sim.World) {
		s := inMemory(w)
		var attempts []*attempt
		told := uint64(0) // the latest upper that any of them knows of
		group := host.NewWaitGroup(w.Host(), "writers")
		for i := range writers {
			group.Go(w.Host(), "writer", func() {
				u := newUnreliable(w, int64(w.Seed()%4)*20, fmt.Sprint(i))
				random := w.NewStream("test", "writer", fmt.Sprint(i))
				c := persist.NewClient(w.Host(), unreliableBlob{u, s.blob(w.Host())}, unreliableConsensus{u, s.consensus(w.Host())}, persist.Config{})
				writer, err := c.OpenWriter(background, shard)
				require.NoError(t, err)
				for n := range each {
					from := upperOf(writer.Upper())
					if random.N(2) == 0 {
						from = told // out of band, so that the writer's own cache may be behind
					}
					a := &attempt{tag: fmt.Sprint(i, "/", n), from: from, to: from + 1 + random.N(5), invoked: w.Events()}
					attempts = append(attempts, a)
					ctx, cancel := w.Host().Clock().WithTimeout(background, time.Duration(random.Between(1, 400))*time.Millisecond)
					err := writer.CompareAndAppend(ctx, []persist.Update{update(a.tag, from, 1)}, at(from), at(a.to))
					cancel()
					a.ended = w.Events()
					var mismatch *persist.UpperMismatch
					switch {
					case err == nil:
						a.outcome = "ok"
						told = max(told, a.to)
					case errors.As(err, &mismatch):
						require.NotEqual(t, from, upperOf(mismatch.Current))
						a.outcome, a.current = "mismatch", upperOf(mismatch.Current)
					case errors.Is(err, persist.ErrIndeterminate):
						require.ErrorIs(t, err, context.DeadlineExceeded)
						a.outcome = "unknown"
						_, err := writer.FetchRecentUpper(background)
						require.NoError(t, err)
					default:
						require.ErrorIs(t, err, persist.ErrDeterminate)
						a.outcome = "not done"
					}
				}
			})
		}
		group.Wait()
		w.Sleep(time.Second) // for what is on its way
		reader, err := s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		judge(t, attempts, func(asOf uint64) []persist.Update {
			updates, err := reader.SnapshotAndFetch(background, asOf)
			require.NoError(t, err)
			return updates
		})
		for name, n := range w.Sometimes() {
			retried[name] += n
		}
	})
	for _, name := range []string{
		"persist: a retried append had gone in",
		"persist: a retried append had not gone in",
		"persist: an append was left open",
		"persist: a command lost a race and was tried again",
		"persist: a stale cache made an append look mismatched",
	} {
		require.Positive(t, retried[name], name)
	}
}

func upperOf(f persist.Frontier) uint64 {
	t, ok := f.Time()
	if !ok {
		panic("the shard was closed")
	}
	return t
}

// judge holds what callers were told against the shard. The rows tell which appends are in;
// as each covers its own interval, that gives their order without a search.
func judge(t *testing.T, attempts []*attempt, snapshot func(uint64) []persist.Update) {
	byTag := map[string]*attempt{}
	last := uint64(0)
	for _, a := range attempts {
		byTag[a.tag] = a
		if a.outcome == "ok" {
			last = max(last, a.to)
		}
	}
	require.Positive(t, last, "nothing was appended")
	var chain []*attempt
	for _, u := range snapshot(last - 1) {
		a := byTag[u.Data]
		require.Equal(t, int64(1), u.Diff, "%s is in more than once", a.tag)
		require.Contains(t, []string{"ok", "unknown"}, a.outcome, "%s is in", a.tag)
		chain = append(chain, a)
	}
	slices.SortFunc(chain, func(a, b *attempt) int { return int(int64(a.from) - int64(b.from)) })
	upper, points := uint64(0), map[uint64][2]*attempt{} // upper: who made it, who moved it on
	for i, a := range chain {
		require.Equal(t, upper, a.from, "%s leaves a gap, or overlaps", a.tag)
		if i > 0 {
			points[a.from] = [2]*attempt{chain[i-1], a}
		} else {
			points[a.from] = [2]*attempt{nil, a}
		}
		upper = a.to
		a.indexInTheChain = i + 1
	}
	points[upper] = [2]*attempt{chain[len(chain)-1], nil}
	require.GreaterOrEqual(t, upper, last)
	for _, a := range attempts {
		if a.outcome == "ok" {
			require.NotZero(t, a.indexInTheChain, "%s was acknowledged and is not in", a.tag)
		}
		if a.outcome != "mismatch" || a.current > upper {
			continue
		}
		point, ok := points[a.current]
		require.True(t, ok, "%s was told the upper %d, which never was", a.tag, a.current)
		if made := point[0]; made != nil {
			require.Less(t, made.invoked, a.ended, "%s was told an upper that was not made yet", a.tag)
		}
		if moved := point[1]; moved != nil && moved.outcome == "ok" {
			require.GreaterOrEqual(t, moved.ended, a.invoked, "%s was told an upper that was gone", a.tag)
		}
	}
	for i, a := range chain {
		for _, b := range chain[i+1:] {
			require.GreaterOrEqual(t, b.ended, a.invoked, "%s ended before %s began, and is after it", b.tag, a.tag)
		}
	}
}

// crammed is a Consensus that can hold no more while it is full.
type crammed struct {
	persist.Consensus
	full bool
}

func (c *crammed) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	if c.full {
		return false, fmt.Errorf("%w: %d bytes", persist.ErrTooLarge, len(next.Data))
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

// What the store can't hold was surely not appended, so that the batch is still the caller's; also where
// the store is elsewhere.
func TestAppendTooLarge(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		s := inMemory(w)
		store := &crammed{Consensus: s.consensus(w.Host())}
		w.NewNode("consensus", func(h host.Host) {
			service := rpc.NewService()
			persist.HandleConsensus(service, store)
			_, err := rpc.Serve(h, "consensus", service, rpc.ServerOptions{})
			require.NoError(t, err)
		})
		w.Sleep(time.Second)
		client := persist.NewClient(w.Host(), s.blob(w.Host()), persist.NewConsensusClient(w.Host(), "consensus:consensus"), persist.Config{})
		writer, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		builder := writer.NewBatch(at(0))
		require.NoError(t, builder.Add(background, update("x", 1, 1)))
		b, err := builder.Finish(background, at(5))
		require.NoError(t, err)
		store.full = true
		err = writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(0), at(5), true)
		require.ErrorIs(t, err, persist.ErrTooLarge)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
		store.full = false
		require.NoError(t, writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(0), at(5), true))
		require.Zero(t, w.Sometimes()["persist: an append was left open"])
	})
}
