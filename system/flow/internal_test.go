package flow

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

func TestPace(t *testing.T) {
	p := pace{batch: 1000, most: time.Second}
	require.Equal(t, time.Second, p.next(100, 100*time.Millisecond))
	require.Equal(t, 200*time.Millisecond, p.next(5000, time.Second), "the speed rises at once")
	require.Equal(t, 222*time.Millisecond, p.next(0, time.Second), "and falls by a tenth")
}

func TestRegions(t *testing.T) {
	r := NewRegionID(0xfffffffe, 7)
	require.Equal(t, catalog.TableID(0xfffffffe), r.Table())
}

func TestDiffRequests(t *testing.T) {
	row := func(k string, v int64) dataflow.Row { return dataflow.Pack(dataflow.String(k), dataflow.Int(v)) }
	require.Equal(t, []DiffRequest{
		{Delete: true, Rows: []dataflow.Row{row("a", 1), row("b", 1)}},
		{Rows: []dataflow.Row{row("a", 2), row("c", 1)}},
	}, diffRequests([]dataflow.Update{
		{Row: row("a", 1), Diff: -1}, {Row: row("a", 2), Diff: 1}, {Row: row("b", 1), Diff: -1}, {Row: row("c", 1), Diff: 1},
	}))
	require.Empty(t, diffRequests(nil))
}

// inWorld runs body as a task of a world.
func inWorld(t *testing.T, body func(w *sim.World)) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w)
	})
	require.NoError(t, w.Run())
}

// TestFlushesWaitForInsertsInProgress: also for those that another flush waits for already, and never
// for those that begin later.
func TestFlushesWaitForInsertsInProgress(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		l := newFlushLock(w.Host())
		first := l.read()
		var order []string
		flush := func(name string) {
			w.Go(name, func() {
				l.wait()
				order = append(order, name)
			})
			w.Sleep(time.Millisecond)
		}
		flush("one")
		second := l.read()
		flush("two")
		third := l.read()
		require.Empty(t, order)
		second()
		w.Sleep(time.Millisecond)
		require.Empty(t, order, "the first insert is older than both flushes")
		first()
		w.Sleep(time.Millisecond)
		require.ElementsMatch(t, []string{"one", "two"}, order)
		third()
		l.wait()
	})
}

func newTestSource(w *sim.World, cfg Config) *source {
	table := &catalog.Table{ID: 1, Name: catalog.Public("t"), TimeIndex: catalog.NoColumn, AppendMode: true, Columns: []catalog.Column{{Name: "v", Kind: dataflow.KindInt64}}}
	return newSource(w.Host(), cfg.withDefaults(), table, 1)
}

func numbered(seq uint64) Batch {
	return Batch{Seq: seq, Rows: []DiffRow{{Row: dataflow.Pack(dataflow.Int(int64(seq))), Diff: 1}}}
}

func received(sub *subscription) (seqs []uint64) {
	for {
		b, _, ready := sub.batches.TryRecv()
		if !ready {
			return seqs
		}
		seqs = append(seqs, b.Seq)
	}
}

func TestASourceTakesChangesOnceInOrder(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		s := newTestSource(w, Config{})
		sub := s.subscribe(7)
		ctx := context.Background()
		for _, seq := range []uint64{2, 1, 1, 4, 2, 5, 3, 4} {
			require.NoError(t, s.send(ctx, numbered(seq)))
		}
		s.tryFlush()
		require.Equal(t, []uint64{1, 2, 3, 4, 5}, received(sub))
	})
}

// TestAFullBufferLosesNothing: inserts wait, and go on as the buffer is emptied, as fast as the slowest
// flow reads.
func TestAFullBufferLosesNothing(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		s := newTestSource(w, Config{SendBufCap: 2, BroadcastCap: 2, SendBufRows: 3})
		sub := s.subscribe(7)
		ctx, cancel := host.WithCancel(w.Host(), context.Background())
		defer cancel()
		sent := 0
		for seq := uint64(1); seq <= 20; seq++ {
			w.Go("insert", func() {
				if s.send(ctx, numbered(seq)) == nil {
					sent++
				}
			})
			w.Sleep(time.Microsecond)
		}
		require.Less(t, sent, 5, "the buffer is full")
		var all []uint64
		for range 40 {
			s.tryFlush()
			require.LessOrEqual(t, sub.batches.Len(), 2)
			all = append(all, received(sub)...)
			w.Sleep(time.Millisecond)
		}
		require.Equal(t, 20, sent)
		require.Len(t, all, 20)
		require.IsIncreasing(t, all)
	})
}

func TestTicksNeverGoBack(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	var n *sim.Node
	var ticks []int64
	n = w.NewNode("node", func(h host.Host) {
		m := newTickManager(h)
		for range 6 {
			ticks = append(ticks, m.tick())
			h.Clock().Sleep(10 * time.Millisecond)
		}
	})
	w.Go("jump", func() {
		w.Sleep(25 * time.Millisecond)
		n.JumpClock(-time.Second)
		w.Sleep(time.Second)
	})
	require.NoError(t, w.Run())
	require.Len(t, ticks, 6)
	require.IsNonDecreasing(t, ticks)
}

func TestWorkersTakeTurns(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		m := NewFlowWorkerManager(w.Host(), "node", nil, nil, Config{})
		_, err := m.getWorkerHandleForCreateFlow()
		require.ErrorIs(t, err, ErrInternal, "there are none")
		m, workers := NewWithWorkers(w.Host(), "node", nil, nil, Config{Workers: 3})
		require.Len(t, workers, 3)
		for _, want := range []int{0, 1, 2, 0} {
			handle, err := m.getWorkerHandleForCreateFlow()
			require.NoError(t, err)
			require.Equal(t, want, handle.number)
		}
	})
}

func TestAWorkerThatIsShutDown(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		handle, worker := NewWorker(w.Host(), 0)
		w.Go("worker", worker.Run)
		there, err := handle.ContainsFlow(context.Background(), 1)
		require.NoError(t, err)
		require.False(t, there)
		require.NoError(t, handle.Shutdown())
		require.ErrorIs(t, handle.Shutdown(), ErrUnexpected)
		_, err = handle.ContainsFlow(context.Background(), 1)
		require.ErrorIs(t, err, ErrInternal)
		require.ErrorIs(t, handle.RunAvailable(context.Background(), 1, true), ErrInternal)
	})
}
