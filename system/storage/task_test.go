package storage_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

var background = context.Background()

// bench is a shard in memory, tasks that write to it, and a foreign writer.
type bench struct {
	t         *testing.T
	w         *sim.World
	h         host.Host
	blob      *persist.MemBlob
	consensus *gate
	foreign   *persist.WriteHandle
	reader    *persist.ReadHandle
	// ms is what tasks take for the present time; 0 for the host's clock.
	ms uint64
	// beforeWrite, if set, is called just before each append of a task: when it asks for the time.
	beforeWrite func()
	// beforeOpen and afterOpen, if set, are called before and after a task opens a reader.
	beforeOpen, afterOpen func()
}

const shard persist.ShardID = "s"

// gate is a Consensus whose compare-and-sets can be interfered with.
type gate struct {
	persist.Consensus
	before func()       // each compare-and-set
	after  func() error // each successful one, in place of its answer
	cas    int          // how many there were
}

func (g *gate) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	g.cas++
	if before := g.before; before != nil {
		g.before = nil
		before()
		if g.before == nil {
			g.before = before
		}
	}
	if ctx.Err() != nil {
		return false, &persist.StoreError{Kind: persist.ErrDeterminate, Err: ctx.Err()}
	}
	committed, err := g.Consensus.CompareAndSet(ctx, key, expected, next)
	if committed && g.after != nil {
		if err := g.after(); err != nil {
			return false, err
		}
	}
	return committed, err
}

func withBench(t *testing.T, body func(b *bench)) {
	for seed := range uint64(4) {
		w := sim.New(sim.Config{Seed: seed, Buggify: seed%2 == 1, MaxTime: time.Hour})
		w.Go("test", func() {
			defer w.Stop()
			b := &bench{t: t, w: w, h: w.Host(), blob: persist.NewMemBlob(w.Host()), ms: 60}
			memory := persist.NewMemConsensus(w.Host())
			b.consensus = &gate{Consensus: memory}
			outside := persist.NewClient(w.Host(), b.blob, memory, persist.Config{})
			var err error
			b.foreign, err = outside.OpenWriter(background, shard)
			require.NoError(t, err)
			b.reader, err = outside.OpenReader(background, shard)
			require.NoError(t, err)
			body(b)
		})
		err := w.Run()
		w.Close()
		require.NoError(t, err, "seed %d", seed)
	}
}

func (b *bench) now() uint64 {
	call(b.beforeWrite)
	if b.ms != 0 {
		return b.ms
	}
	return uint64(b.h.Clock().Now().UnixMilli())
}

// config is a task's, through a client of its own.
func (b *bench) config() storage.TaskConfig {
	client := persist.NewClient(b.h, b.blob, b.consensus, persist.Config{})
	writer, err := client.OpenWriter(background, shard)
	require.NoError(b.t, err)
	return storage.TaskConfig{
		ID: "u1", Writer: writer, Now: b.now,
		OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) {
			call(b.beforeOpen)
			defer call(b.afterOpen)
			return client.OpenReader(ctx, shard)
		},
	}
}

func call(f func()) {
	if f != nil {
		f()
	}
}

func (b *bench) spawn() *storage.Handle { return storage.Spawn(b.h, b.config()) }

// settle waits until the task has done what it is doing, short of the next tick.
func (b *bench) settle() { b.w.Sleep(100 * time.Millisecond) }

// foreignAppend appends rows as somebody else, from the upper on.
func (b *bench) foreignAppend(to uint64, rows ...storage.RowDiff) {
	for {
		upper, err := b.foreign.FetchRecentUpper(background)
		require.NoError(b.t, err)
		from, ok := upper.Time()
		require.True(b.t, ok)
		var updates []persist.Update
		for _, r := range rows {
			updates = append(updates, persist.Update{Data: r.Row, Time: from, Diff: r.Diff})
		}
		if b.foreign.CompareAndAppend(background, updates, upper, persist.At(max(to, from+1))) == nil {
			return
		}
	}
}

func (b *bench) upper() persist.Frontier {
	upper, err := b.foreign.FetchRecentUpper(background)
	require.NoError(b.t, err)
	return upper
}

// contents are what the shard holds as of a time, as "row:multiplicity".
func (b *bench) contents(asOf uint64) []string {
	updates, err := b.reader.SnapshotAndFetch(background, asOf)
	require.NoError(b.t, err)
	got := []string{}
	for _, u := range updates {
		got = append(got, fmt.Sprint(u.Data, ":", u.Diff))
	}
	return got
}

// latest is what the shard holds just before its upper.
func (b *bench) latest() []string {
	t, ok := b.upper().Time()
	require.True(b.t, ok)
	return b.contents(t - 1)
}

func rows(names ...string) []storage.RowDiff {
	var rows []storage.RowDiff
	for _, name := range names {
		rows = append(rows, storage.RowDiff{Row: name, Diff: 1})
	}
	return rows
}

func add(names ...string) storage.WriteOp { return storage.Append{Updates: rows(names...)} }

func remove(name string) storage.WriteOp {
	return storage.Delete{Filter: func(r storage.Row) bool { return r == name }}
}

// A shard that a former incarnation left, commands, and a foreign writer, step by step.
func TestWorkedExample(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("p")...) // left by an old incarnation

		task := b.spawn() // its first tick, at once, finds the upper 50 in place of 0
		b.settle()
		require.Equal(t, persist.At(50), b.upper())

		b.ms = 61
		b.w.Sleep(time.Second) // the next tick writes what differs: p is not desired
		require.Equal(t, persist.At(61), b.upper())
		require.Equal(t, []string{}, b.contents(60))
		require.Equal(t, []string{"p:1"}, b.contents(49))

		require.NoError(t, task.Write(background, add("q"))) // at 61, and the clock says 61: the upper is the next
		require.Equal(t, persist.At(62), b.upper())
		require.Equal(t, []string{"q:1"}, b.contents(61))

		b.foreignAppend(70, rows("r")...) // behind the task's back, at 62

		b.ms = 65
		require.NoError(t, task.Write(background, remove("q")))
		require.Equal(t, persist.At(71), b.upper())
		require.Equal(t, []string{}, b.contents(70))
		for asOf := uint64(62); asOf < 70; asOf++ {
			require.Equal(t, []string{"q:1", "r:1"}, b.contents(asOf))
		}
	})
}

func TestTicks(t *testing.T) {
	withBench(t, func(b *bench) {
		b.ms = 0
		task := b.spawn()
		b.settle()
		first, _ := b.upper().Time()
		require.Positive(t, first, "the first tick is immediate")
		for i := range uint64(5) {
			b.w.Sleep(time.Second)
			upper, _ := b.upper().Time()
			require.Equal(t, first+1000*(i+1), upper)
		}
		require.Equal(t, []string{}, b.latest())

		// Time that stands still moves nothing, nor does time that goes back.
		upper, _ := b.upper().Time()
		b.ms = upper
		b.w.Sleep(5 * time.Second)
		b.ms = 1
		b.w.Sleep(5 * time.Second)
		require.Equal(t, persist.At(upper), b.upper())

		// A command moves it by one.
		require.NoError(t, task.Write(background, add("x")))
		require.Equal(t, persist.At(upper+1), b.upper())
		require.Equal(t, []string{"x:1"}, b.latest())
	})
}

// While the task could not tick, ticks were missed. They are not made up for.
func TestMissedTicksDoNotPileUp(t *testing.T) {
	withBench(t, func(b *bench) {
		b.ms = 0
		b.spawn()
		b.settle()
		blocked := true
		b.consensus.before = func() {
			for blocked {
				b.w.Sleep(time.Millisecond)
			}
		}
		b.w.Sleep(10 * time.Second)
		before := b.consensus.cas
		blocked = false
		b.w.Sleep(500 * time.Millisecond)
		require.LessOrEqual(t, b.consensus.cas-before, 2)
	})
}

// Commands that arrive together are written together; those that follow wait a second.
func TestBatching(t *testing.T) {
	withBench(t, func(b *bench) {
		task := b.spawn()
		b.settle()
		answers := map[string]time.Duration{}
		send := func(name string) {
			task.Send(add(name), func(err error) {
				require.NoError(t, err)
				answers[name] = b.w.Now()
			})
		}
		upper, _ := b.upper().Time()
		for _, name := range []string{"a", "b", "c"} {
			send(name)
		}
		b.settle()
		require.Len(t, answers, 3)
		require.Equal(t, persist.At(upper+1), b.upper(), "one write")
		require.Equal(t, []string{"a:1", "b:1", "c:1"}, b.latest())
		send("d")
		send("e")
		b.settle()
		require.Len(t, answers, 3)
		b.w.Sleep(time.Second)
		require.Len(t, answers, 5)
		require.Equal(t, answers["d"], answers["e"])
		require.GreaterOrEqual(t, answers["d"]-answers["a"], time.Second-b.slack())
		require.Equal(t, persist.At(upper+2), b.upper(), "the tick was put off: it does not write as well")
	})
}

// slack is what Buggify may make the first write last, which is part of the second.
func (b *bench) slack() time.Duration { return 50 * time.Millisecond }

func TestBatchSize(t *testing.T) {
	withBench(t, func(b *bench) {
		cfg := b.config()
		cfg.BatchSize = 2
		task := storage.Spawn(b.h, cfg)
		b.settle()
		answered := 0
		for range 5 {
			task.Send(add("x"), func(err error) { answered++ })
		}
		for _, want := range []int{2, 4, 5} {
			b.settle()
			require.Equal(t, want, answered)
			b.w.Sleep(950 * time.Millisecond)
		}
		require.Equal(t, []string{"x:5"}, b.latest())
	})
}

// A tick that finds foreign rows does not write at once; the next one does.
func TestTickConverges(t *testing.T) {
	withBench(t, func(b *bench) {
		b.ms = 0
		task := b.spawn()
		require.NoError(t, task.Write(background, add("mine")))
		for i := range uint64(3) {
			b.foreignAppend(b.now()+100+i, rows("theirs")...)
			require.Equal(t, []string{"mine:1", "theirs:1"}, b.latest())
			b.w.Sleep(2500 * time.Millisecond)
			require.Equal(t, []string{"mine:1"}, b.latest())
		}
		require.Positive(t, b.w.Sometimes()["storage: a tick found that somebody else wrote"])
		require.Positive(t, b.w.Sometimes()["storage: a tick writes what differs"])
	})
}

// The foreign writer also gives up history as soon as it can, between the moment that the task
// notices and the moment that it reads.
func TestSyncWhileSinceAdvances(t *testing.T) {
	withBench(t, func(b *bench) {
		task := b.spawn()
		require.NoError(t, task.Write(background, add("mine")))
		advance := func() {
			b.foreignAppend(0, rows("theirs")...)
			upper, _ := b.upper().Time()
			b.foreignAppend(upper+10, rows("theirs")...)
			_, err := b.reader.DowngradeSince(background, persist.At(upper+9))
			require.NoError(t, err)
		}
		b.beforeOpen, b.afterOpen = advance, advance
		for i := range 5 {
			b.foreignAppend(0, rows("theirs")...)
			require.NoError(t, task.Write(background, add(fmt.Sprint("mine", i))))
			require.Len(t, b.latest(), i+2)
		}
	})
}

func TestReadingBelowTheSinceIsABug(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("test", func() {
		client := persist.NewClient(w.Host(), persist.NewMemBlob(w.Host()), persist.NewMemConsensus(w.Host()), persist.Config{})
		writer, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		reader, err := client.OpenReader(background, shard)
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(background, nil, persist.At(0), persist.At(10)))
		_, err = reader.DowngradeSince(background, persist.At(1000)) // of times not written yet
		require.NoError(t, err)
		storage.Spawn(w.Host(), storage.TaskConfig{
			ID: "u1", Writer: writer,
			OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, shard) },
		})
		w.Sleep(time.Second)
	})
	require.ErrorContains(t, w.Run(), "storage: collection u1: persist: cannot read as of 9, the since is [1000]")
}

// Whatever commands are sent, what is acknowledged is what they add up to.
func TestContentsFollowCommands(t *testing.T) {
	withBench(t, func(b *bench) {
		random := b.w.NewStream("test", "commands")
		name := func() string { return string(rune('a' + random.N(6))) }
		task, want := b.spawn(), map[string]int64{}
		for range 60 {
			for range random.Between(0, 3) {
				var op storage.WriteOp
				switch random.N(3) {
				case 0:
					below := name()
					op = storage.Delete{Filter: func(r storage.Row) bool { return r < below }}
					for r := range want {
						if r < below {
							delete(want, r)
						}
					}
				default:
					r := storage.RowDiff{Row: name(), Diff: random.Between(-2, 3)}
					op = storage.Append{Updates: []storage.RowDiff{r}}
					want[r.Row] += r.Diff
				}
				task.Send(op, nil)
			}
			if random.N(4) == 0 {
				b.foreignAppend(0, rows(name(), "theirs")...)
			}
			require.NoError(t, task.Write(background, storage.Append{}))
			expected := []string{}
			for _, r := range slices.Sorted(maps.Keys(want)) {
				if want[r] != 0 {
					expected = append(expected, fmt.Sprint(r, ":", want[r]))
				}
			}
			require.Equal(t, expected, b.latest())
		}
	})
}

// Two tasks, each with its own idea of the collection: whoever writes last has its way, all of it.
func TestTwoTasks(t *testing.T) {
	withBench(t, func(b *bench) {
		b.ms = 0
		x, y := b.spawn(), b.spawn()
		for i := range 5 {
			require.NoError(t, x.Write(background, add(fmt.Sprint("x", i))))
			require.NoError(t, y.Write(background, add(fmt.Sprint("y", i))))
		}
		x.Shutdown()
		require.ErrorIs(t, x.Wait(background), storage.ErrShutdown)
		b.w.Sleep(3 * time.Second)
		require.Equal(t, []string{"y0:1", "y1:1", "y2:1", "y3:1", "y4:1"}, b.latest())
	})
}

func TestPrepare(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("p", "p", "q")...)
		var seeded []storage.RowDiff
		cfg := b.config()
		cfg.Introspection.Seed = func(_ context.Context, contents []storage.RowDiff) error {
			b.w.Sleep(3 * time.Second)
			require.Equal(t, persist.At(50), b.upper(), "nothing is written before")
			seeded = contents
			return nil
		}
		task := storage.Spawn(b.h, cfg)
		require.NoError(t, task.Write(background, add("q"))) // queues up meanwhile
		require.Equal(t, []storage.RowDiff{{Row: "p", Diff: 2}, {Row: "q", Diff: 1}}, seeded)
		require.Equal(t, []string{"q:1"}, b.latest())

		cfg = b.config()
		broken := fmt.Errorf("broken")
		cfg.Introspection.Seed = func(context.Context, []storage.RowDiff) error { return broken }
		task = storage.Spawn(b.h, cfg)
		require.ErrorIs(t, task.Wait(background), broken)
		require.ErrorIs(t, task.Write(background, add("q")), broken)
	})
}

func TestSpawnNeedsItsHandles(t *testing.T) {
	require.Panics(t, func() { storage.Spawn(nil, storage.TaskConfig{}) })
}

// casFunc is a Consensus whose compare-and-sets go through a function.
type casFunc struct {
	persist.Consensus
	cas func(do func() (bool, error)) (bool, error)
}

func (c casFunc) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	return c.cas(func() (bool, error) { return c.Consensus.CompareAndSet(ctx, key, expected, next) })
}
