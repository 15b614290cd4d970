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
	"github.com/simrun-dev/simrun/system/rpc"
)

// TestAFlushWaitsForAFlowThatIsBegunAnewMeanwhile: what the flow had before does not count any more, since
// the new one has taken over what was inserted.
func TestAFlushWaitsForAFlowThatIsBegunAnewMeanwhile(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		_, err := m.HandleInserts(ctx, f.change(source, "a", 1))
		require.NoError(t, err)

		done := m.flush.read() // an insert in progress, for which the flush waits
		flushed := host.NewChan[[]string](w.Host(), "flushed", 1)
		w.Go("flush", func() {
			_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
			require.NoError(t, err)
			flushed.Send(f.holds("out"))
		})
		w.Sleep(time.Millisecond)
		f.before = func(call, table string) error {
			if call == "snapshot" && table == "t" {
				w.Sleep(100 * time.Millisecond)
			}
			return nil
		}
		again := totals(1, "out", source)
		again.Revision, again.SQL = 2, "SELECT k, count(*) AS n FROM t GROUP BY k"
		_, err = m.CreateFlow(ctx, again)
		require.NoError(t, err)
		done()
		rows, _ := flushed.Recv()
		require.Equal(t, []string{"a"}, rows)
	})
}

// TestAFlowThatCantBeginAnewDoesNotHoldUpOthers of its table, whose changes are forgotten.
func TestAFlowThatCantBeginAnewDoesNotHoldUpOthers(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "broken", source))
		create(t, w, m, totals(2, "out", source))
		// The first flow's sink becomes one into which it can't write.
		broken, err := f.Table(ctx, catalog.Public("broken"))
		require.NoError(t, err)
		f.drop(broken.ID)
		f.add("broken", true)

		f.change(source, "a", 1) // never mirrored
		f.forgotten = true
		_, _ = m.FlushFlow(ctx, FlushFlow{ID: 2}) // notices
		awaitRefills(w, m)
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, f.holds("out"))
		require.Equal(t, []catalog.FlowID{2}, m.Status().Flows, "the first one does not run any more, until it can")
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.ErrorIs(t, err, ErrFlowNotFound)
	})
}

// TestAWholeResultLeavesAloneWhatIsAnotherNodes: two flows may share a sink, also those of two nodes.
func TestAWholeResultLeavesAloneWhatIsAnotherNodes(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		_, err := m.HandleInserts(ctx, f.change(source, "mine", 1))
		require.NoError(t, err)
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		sink, err := f.Table(ctx, catalog.Public("out"))
		require.NoError(t, err)
		row := dataflow.Pack(dataflow.String("theirs"), dataflow.Int(1), dataflow.Null(), dataflow.Timestamp(0))
		data, err := row.Unpack()
		require.NoError(t, err)
		f.contents[sink.ID][sink.KeyOf(data)] = row

		f.flows = []*catalog.Flow{{ID: 1, Node: "node", Sink: sink.Name}, {ID: 2, Node: "another", Sink: sink.Name}}
		next := fakeNode(w, f, Config{}) // the node's next life
		create(t, w, next, totals(1, "out", source))
		_, err = next.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"mine", "theirs"}, f.holds("out"))

		f.flows = f.flows[:1]
		last := fakeNode(w, f, Config{})
		create(t, w, last, totals(1, "out", source))
		_, err = last.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"mine"}, f.holds("out"), "a flow owns a sink that it has for itself")
	})
}

// TestASinkMadeAnewGetsTheWholeResult: what was written into the one before is not there.
func TestASinkMadeAnewGetsTheWholeResult(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		insert := func(k string) {
			_, err := m.HandleInserts(ctx, f.change(source, k, 1))
			require.NoError(t, err)
		}
		flush := func() {
			for {
				awaitRefills(w, m)
				if _, err := m.FlushFlow(ctx, FlushFlow{ID: 1}); err == nil {
					return
				}
				w.Sleep(time.Millisecond)
			}
		}
		insert("a")
		flush()
		sink, err := f.Table(ctx, catalog.Public("out"))
		require.NoError(t, err)
		f.drop(sink.ID)
		insert("b")
		flush() // it is gone, and does not come back by itself
		require.Nil(t, f.holds("out"))
		_, err = f.CreateTable(ctx, *sink)
		require.NoError(t, err)
		flush() // without anything new
		require.Equal(t, []string{"a", "b"}, f.holds("out"))
		again, err := f.Table(ctx, catalog.Public("out"))
		require.NoError(t, err)
		f.drop(again.ID)
		_, err = f.CreateTable(ctx, *sink)
		require.NoError(t, err)
		insert("c")
		flush()
		require.Equal(t, []string{"a", "b", "c"}, f.holds("out"))
	})
}

// TestASinkThatCouldNotBeSilencedIsSilencedLater: by the next replacement, by the same one asked for again,
// and by the removal.
func TestASinkThatCouldNotBeSilencedIsSilencedLater(t *testing.T) {
	again := func(m *Manager, source catalog.TableID) error {
		_, err := m.CreateFlow(context.Background(), replacement(2, "second", source))
		return err
	}
	for name, then := range map[string]func(*Manager, catalog.TableID) error{
		"the same request": again,
		"another replacement": func(m *Manager, source catalog.TableID) error {
			_, err := m.CreateFlow(context.Background(), replacement(3, "third", source))
			return err
		},
		"a removal": func(m *Manager, _ catalog.TableID) error {
			return m.RemoveFlow(context.Background(), DropFlow{ID: 1, Revision: 3, Sink: catalog.Public("second")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *sim.World) {
				ctx, f := context.Background(), newFakeFrontend()
				source := f.add("t", true)
				m := fakeNode(w, f, Config{})
				create(t, w, m, totals(1, "first", source))
				_, err := m.HandleInserts(ctx, f.change(source, "a", 1))
				require.NoError(t, err)
				f.before = func(call, table string) error {
					if call == "write" || call == "table" && table == "first" {
						return rpc.ErrUnknown
					}
					return nil
				}
				_, err = m.RunAvailable(ctx, true)
				require.NoError(t, err)
				_, err = m.SendWritebackRequests(ctx)
				require.ErrorIs(t, err, rpc.ErrUnknown)
				require.ErrorIs(t, again(m, source), rpc.ErrUnknown)
				require.ErrorIs(t, then(m, source), rpc.ErrUnknown, "it can't be silenced yet")
				f.before = nil
				require.NoError(t, then(m, source))
				_, err = m.SendWritebackRequests(ctx)
				require.NoError(t, err)
				require.Empty(t, f.holds("first"))
			})
		})
	}
}

func replacement(revision uint64, sink string, source catalog.TableID) CreateFlowArgs {
	args := totals(1, sink, source)
	args.Revision = revision
	return args
}

// TestHandleInsertsRefusesRowsThatDoNotFit, with what is wrong.
func TestHandleInsertsRefusesRowsThatDoNotFit(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		a, one := dataflow.String("a"), dataflow.Int(1)
		for _, c := range []struct {
			columns []string
			row     dataflow.Row
			want    string
		}{
			{[]string{"k", "v"}, dataflow.Pack(a), "a row of 1 values for 2 columns"},
			{[]string{"k"}, dataflow.Pack(a, one), "a row of 2 values for 1 columns"},
			{[]string{"k", "k"}, dataflow.Pack(a, a), `column "k" twice`},
			{[]string{"k", "x"}, dataflow.Pack(a, one), `no column "x"`},
			{[]string{"v", "k"}, dataflow.Pack(a, one), "table t"},
		} {
			_, err := m.HandleInserts(ctx, InsertRequests{Requests: []InsertRequest{
				{Region: NewRegionID(source, 0), Seq: 1, Columns: c.columns, Rows: []dataflow.Row{c.row}},
			}})
			require.ErrorIs(t, err, ErrInvalidInsert, "%v", c)
			require.ErrorContains(t, err, c.want)
		}
		_, err := m.HandleInserts(ctx, f.change(source, "a", 1))
		require.NoError(t, err, "a refused change was not taken in")
		_, err = m.HandleInserts(ctx, InsertRequests{Requests: []InsertRequest{{Region: NewRegionID(99, 0), Seq: 1}}})
		require.ErrorIs(t, err, ErrTableNotFound)
	})
}

// TestWhatIsHeldBackIsBounded: a flow whose refill does not come forgets changes that a later snapshot has.
func TestWhatIsHeldBackIsBounded(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{HoldCap: 8, RefillBackoff: time.Millisecond})
		broken := true
		f.before = func(call, _ string) error {
			if call == "snapshot" && broken {
				return rpc.ErrUnknown
			}
			return nil
		}
		_, err := m.CreateFlow(ctx, totals(1, "out", source))
		require.NoError(t, err)
		for range 100 {
			_, err := m.HandleInserts(ctx, f.change(source, "a", 1))
			require.NoError(t, err)
			_, err = m.RunAvailable(ctx, true)
			require.NoError(t, err)
		}
		s, err := m.GenStateReport(ctx)
		require.NoError(t, err)
		require.Less(t, s.StateBytes[1], 9*len(dataflow.Pack(dataflow.String("a"), dataflow.Int(1))))
		broken = false
		awaitFill := func() {
			tasks, err := m.CreateRefillFlowTasks(ctx, fakeFlows{1})
			require.NoError(t, err)
			require.NoError(t, m.StartingRefillFlows(tasks))
			awaitRefills(w, m)
		}
		w.Sleep(time.Second)
		awaitFill()
		_, err = m.HandleInserts(ctx, f.change(source, "b", 1))
		require.NoError(t, err)
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, f.holds("out"))
	})
}

// fakeFlows are flows of the node.
type fakeFlows []catalog.FlowID

func (l fakeFlows) Flows(context.Context) (all []*catalog.Flow, revision uint64, err error) {
	for _, id := range l {
		all = append(all, &catalog.Flow{ID: id, Node: "node"})
	}
	return all, 1, nil
}

func (l fakeFlows) Enlist(context.Context, string) (uint64, error) { return 1, nil }

// TestAFlushDoesNotMindOtherFlows, whose tables can't be asked and whose sinks can't be written.
func TestAFlushDoesNotMindOtherFlows(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source, other := f.add("t", true), f.add("u", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		args := totals(2, "another", other)
		args.SQL = "SELECT k, sum(v) AS s FROM u GROUP BY k"
		create(t, w, m, args)
		for _, id := range []catalog.TableID{source, other} {
			_, err := m.HandleInserts(ctx, f.change(id, "a", 1))
			require.NoError(t, err)
		}
		f.before = func(call, table string) error {
			if call == "upper" && table == "u" || call == "write" && table == "another" {
				return rpc.ErrUnknown
			}
			return nil
		}
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, f.holds("out"))
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 2})
		require.ErrorIs(t, err, ErrNotCaughtUp)
		f.before = func(call, table string) error {
			if call == "write" && table == "another" {
				return rpc.ErrUnknown
			}
			return nil
		}
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 2})
		require.ErrorIs(t, err, ErrUndelivered)
		f.before = nil
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, f.holds("another"))
	})
}
