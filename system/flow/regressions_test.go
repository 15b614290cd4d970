package flow

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// TestASinkWhoseKeyIsWider than the query's holds each row of the result once, though a row's successor has
// another key there.
func TestASinkWhoseKeyIsWider(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		_, err := f.CreateTable(ctx, catalog.Table{
			Name: catalog.Public("out"), TimeIndex: catalog.NoColumn, PrimaryKey: []int{0, 1}, Columns: []catalog.Column{
				{Name: "k", Kind: dataflow.KindString, Nullable: true}, {Name: "s", Kind: dataflow.KindInt64, Nullable: true},
			},
		})
		require.NoError(t, err)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		for range 3 {
			insertAndFlush(t, m, f, source, "a")
			require.Equal(t, []string{"a"}, f.holds("out"))
		}
	})
}

// insertAndFlush inserts a row of k and flushes flow 1.
func insertAndFlush(t *testing.T, m *Manager, f *fakeFrontend, source catalog.TableID, k string) {
	t.Helper()
	_, err := m.HandleInserts(context.Background(), f.change(source, k, 1))
	require.NoError(t, err)
	_, err = m.FlushFlow(context.Background(), FlushFlow{ID: 1})
	require.NoError(t, err)
}

// TestAFlushHasWhatAnInsertGaveUp: a change is not taken in before it is in the buffer, so that a flush does not
// count on who gives up.
func TestAFlushHasWhatAnInsertGaveUp(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{SendBufRows: 1, SendBufCap: 2, InsertTimeout: 8 * time.Millisecond})
		create(t, w, m, totals(1, "out", source))
		_, err := m.HandleInserts(ctx, f.change(source, "a", 1))
		require.NoError(t, err)
		b := f.change(source, "b", 1) // acknowledged to its user
		gone := host.NewChan[error](w.Host(), "gone", 1)
		w.Go("mirror", func() {
			_, err := m.HandleInserts(ctx, b)
			gone.Send(err)
		})
		w.Sleep(time.Millisecond)
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		given, _ := gone.Recv()
		require.Error(t, given)
		require.Equal(t, []string{"a", "b"}, f.holds("out"))
	})
}

// TestARemovalSilencesWhatTheNodeRuns: the catalog may have given the flow another sink without the node having
// heard of it.
func TestARemovalSilencesWhatTheNodeRuns(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "x", source))
		insertAndFlush(t, m, f, source, "a")
		_, err := m.HandleInserts(ctx, f.change(source, "b", 1))
		require.NoError(t, err)
		_, err = m.RunAvailable(ctx, true) // in the queue of x
		require.NoError(t, err)
		require.NoError(t, m.RemoveFlow(ctx, DropFlow{ID: 1, Revision: 3, Sink: catalog.Public("y")}))
		_, err = m.SendWritebackRequests(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, f.holds("x"))
	})
}

// TestALaterLifeFencesEarlierSinks: what the first life has on its way into a sink that the flow does not have
// any more must not come after the replacement, or the removal.
func TestALaterLifeFencesEarlierSinks(t *testing.T) {
	for _, removed := range []bool{false, true} {
		t.Run(fmt.Sprint(removed), func(t *testing.T) {
			inWorld(t, func(w *sim.World) {
				ctx, f := context.Background(), newFakeFrontend()
				source := f.add("t", true)
				create(t, w, fakeNode(w, f, Config{}), totals(1, "x", source))
				m := fakeNode(w, f, Config{})
				fences := 0
				f.before = func(call, table string) error {
					if call == "write" && table == "x" {
						fences++
					}
					return nil
				}
				earlier := []catalog.Name{catalog.Public("x"), catalog.Public("gone")}
				if removed {
					require.NoError(t, m.RemoveFlow(ctx, DropFlow{ID: 1, Revision: 3, Sink: catalog.Public("y"), Earlier: earlier}))
				} else {
					args := replacement(2, "y", source)
					args.Earlier = earlier
					create(t, w, m, args)
				}
				require.Equal(t, 1, fences)
			})
		})
	}
}

// TestStaleRowsOfOthersStay: another flow has come to share the sink between the look at it and the write that
// clears it.
func TestStaleRowsOfOthersStay(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		one, two := f.add("t", true), f.add("u", true)
		first := fakeNode(w, f, Config{})
		create(t, w, first, totals(1, "out", one))
		f.change(two, "x", 1)
		_, err := first.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		sink, err := f.Table(ctx, catalog.Public("out"))
		require.NoError(t, err)
		for _, k := range []string{"x", "y"} { // of an earlier definition
			row := dataflow.Pack(dataflow.String(k), dataflow.Int(9), dataflow.Null(), dataflow.Timestamp(0))
			data, err := row.Unpack()
			require.NoError(t, err)
			f.contents[sink.ID][sink.KeyOf(data)] = row
		}
		f.flows = []*catalog.Flow{{ID: 1, Node: "node", Sink: sink.Name}}
		create(t, w, first, replacement(2, "out", one))
		writes := 0
		f.before = func(call, table string) error {
			if call == "write" {
				if writes++; writes == 2 { // after the fence
					return rpc.ErrUnknown
				}
			}
			return nil
		}
		_, err = first.SendWritebackRequests(ctx)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		f.before = nil
		f.flows = append(f.flows, &catalog.Flow{ID: 2, Node: "other", Sink: sink.Name})
		other := fakeNode(w, f, Config{})
		args := totals(2, "out", two)
		args.SQL = "SELECT k, sum(v) AS s FROM u GROUP BY k"
		create(t, w, other, args)
		_, err = other.FlushFlow(ctx, FlushFlow{ID: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"x", "y"}, f.holds("out"))
		_, err = first.SendWritebackRequests(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"x"}, f.holds("out"), "the other flow's row, and not the one that nobody has written since")
	})
}

// TestASinkThatComesBackIsFilled, with nothing new in the source: if it had all, if it was gone before it had anything,
// and if the write met that it is gone.
func TestASinkThatComesBackIsFilled(t *testing.T) {
	for _, gone := range []string{"once all is written", "before the write", "at the write"} {
		t.Run(gone, func(t *testing.T) {
			inWorld(t, func(w *sim.World) {
				ctx, f := context.Background(), newFakeFrontend()
				source := f.add("t", true)
				f.change(source, "a", 1)
				m := fakeNode(w, f, Config{})
				create(t, w, m, totals(1, "out", source))
				sink, err := f.Table(ctx, catalog.Public("out"))
				require.NoError(t, err)
				writes := 0
				f.before = func(call, table string) error {
					if call == "write" {
						writes++
					}
					if gone == "at the write" && call == "write" && writes == 2 {
						f.drop(sink.ID)
					}
					return nil
				}
				if gone == "before the write" {
					f.drop(sink.ID)
				}
				_, err = m.SendWritebackRequests(ctx)
				require.NoError(t, err)
				if gone == "once all is written" {
					f.drop(sink.ID)
				}
				_, err = f.CreateTable(ctx, *sink)
				require.NoError(t, err)
				down := host.NewChan[struct{}](w.Host(), "down", 0)
				ended := m.RunBackground(down)
				w.Sleep(time.Minute)
				down.Close()
				ended.Recv()
				require.Equal(t, []string{"a"}, f.holds("out"))
			})
		})
	}
}

// TestManyFlowsBeginAnew: each has its own time, and need not do it again because another one could not.
func TestManyFlowsBeginAnew(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		const n = 15
		m := fakeNode(w, f, Config{})
		for i := 1; i <= n; i++ {
			create(t, w, m, totals(i, fmt.Sprintf("out%d", i), source))
		}
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		f.change(source, "a", 1) // never mirrored
		f.forgotten = true
		slow := slowMeta{f, w, new(int)}
		m.meta = slow
		m.SetFrontendInvoker(slow)
		f.before = func(call, table string) error {
			if call == "table" && table == "out15" {
				return rpc.ErrUnknown
			}
			return nil
		}
		src := m.context.source(source)
		require.ErrorIs(t, m.catchUp(ctx, src), rpc.ErrUnknown, "the last one can't yet")
		asked := *slow.asked
		f.before = nil
		require.NoError(t, m.catchUp(ctx, src))
		require.Less(t, *slow.asked-asked, 4, "only the last one begins anew")
		awaitRefills(w, m)
		for i := 1; i <= n; i++ {
			_, err := m.FlushFlow(ctx, FlushFlow{ID: catalog.FlowID(i)})
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, f.holds(fmt.Sprintf("out%d", i)))
		}
	})
}

// slowMeta is a backend that takes its time to tell what tables there are, and counts how often it was asked.
type slowMeta struct {
	*fakeFrontend
	w     *sim.World
	asked *int
}

func (s slowMeta) wait(ctx context.Context) error {
	*s.asked++
	s.w.Sleep(100 * time.Millisecond)
	return ctx.Err()
}

func (s slowMeta) Table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.fakeFrontend.Table(ctx, name)
}

func (s slowMeta) TableByID(ctx context.Context, id catalog.TableID) (*catalog.Table, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.fakeFrontend.TableByID(ctx, id)
}

// TestAFlushIsOfTheDefinitionThatIsMeant, and not of the one before, which the node may run yet.
func TestAFlushIsOfTheDefinitionThatIsMeant(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, replacement(5, "out", source))
		_, err := m.Handle(ctx, FlowRequest{Flush: &FlushFlow{ID: 1, Revision: 7}})
		require.ErrorIs(t, err, ErrNotCaughtUp)
		create(t, w, m, replacement(7, "out", source))
		_, err = m.Handle(ctx, FlowRequest{Flush: &FlushFlow{ID: 1, Revision: 7}})
		require.NoError(t, err)
		_, err = m.Handle(ctx, FlowRequest{Flush: &FlushFlow{ID: 1, Revision: 6}})
		require.NoError(t, err, "a later one is as good")
	})
}

// TestAFlushDuringAReplacement: the results of the definition before are discarded, one sink after the other, and
// a flush must not take that for their having been written.
func TestAFlushDuringAReplacement(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "x", source))
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		_, err = m.HandleInserts(ctx, f.change(source, "a", 1))
		require.NoError(t, err)
		_, err = m.RunAvailable(ctx, true)
		require.NoError(t, err)
		f.add("z", false)
		f.before = func(call, table string) error {
			if call == "write" && table == "z" {
				w.Sleep(time.Second)
			}
			return nil
		}
		args := replacement(2, "y", source)
		args.Earlier = []catalog.Name{catalog.Public("z")} // is silenced after x, and slowly
		replaced := host.NewChan[error](w.Host(), "replaced", 1)
		w.Go("replace", func() {
			_, err := m.CreateFlow(ctx, args)
			replaced.Send(err)
		})
		w.Sleep(time.Millisecond)
		_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		require.Contains(t, append(f.holds("x"), f.holds("y")...), "a")
		given, _ := replaced.Recv()
		require.NoError(t, given)
	})
}

// TestAFlushOfADroppedSource can't tell whether all that was acknowledged has come.
func TestAFlushOfADroppedSource(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		f.change(source, "a", 1) // acknowledged, and its mirror is lost
		f.before = func(call, table string) error {
			if call == "upper" {
				return ErrTableNotFound
			}
			return nil
		}
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.ErrorIs(t, err, ErrTableNotFound)
	})
}

// TestAWriteWithoutStampIsNotKept: what could not be stamped is prepared again.
func TestAWriteWithoutStampIsNotKept(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		insertAndFlush(t, m, f, source, "a")
		m.epoch = 0 // as if it had not enlisted yet
		f.before = func(call, _ string) error {
			if call == "enlist" {
				return rpc.ErrUnknown
			}
			return nil
		}
		_, err := m.HandleInserts(ctx, f.change(source, "b", 1))
		require.NoError(t, err)
		_, err = m.RunAvailable(ctx, true)
		require.NoError(t, err)
		_, err = m.SendWritebackRequests(ctx)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		f.before = nil
		recorder := &recorder{fakeFrontend: f}
		m.SetFrontendInvoker(recorder)
		_, err = m.SendWritebackRequests(ctx)
		require.NoError(t, err)
		require.Len(t, recorder.writes, 1)
		require.NotZero(t, recorder.writes[0].Stamp)
		require.Equal(t, []string{"a", "b"}, f.holds("out"))
	})
}

// TestARefusedResultIsItsFlowsTrouble: a sink that two flows share refuses what one of them has put out. The other
// one's is written, and a flush of the first says what is wrong.
func TestARefusedResultIsItsFlowsTrouble(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		one, two := f.add("t", true), f.add("u", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", one))
		args := totals(2, "out", two)
		args.SQL = "SELECT k, sum(v) AS s FROM u GROUP BY k"
		create(t, w, m, args)
		m.SetFrontendInvoker(picky{f})
		for _, c := range []InsertRequests{f.change(one, "bad", 1), f.change(two, "good", 1)} {
			_, err := m.HandleInserts(ctx, c)
			require.NoError(t, err)
		}
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"good"}, f.holds("out"))
		for range 2 {
			_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
			require.ErrorIs(t, err, ErrInvalidInsert)
		}
	})
}

// picky is a frontend that refuses rows that are bad.
type picky struct{ *fakeFrontend }

func (p picky) Write(ctx context.Context, w WriteRequest) error {
	for _, row := range inserted(w.Requests) {
		if data, err := row.Unpack(); err != nil || data[0].Text() == "bad" {
			return errors.Join(ErrInvalidInsert, err)
		}
	}
	return p.fakeFrontend.Write(ctx, w)
}

// TestSlowSinksDoNotAddUp: results go into all sinks at once, and a flush does not wait for other flows' sinks.
func TestSlowSinksDoNotAddUp(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		for i := 1; i <= 8; i++ {
			create(t, w, m, totals(i, fmt.Sprintf("out%d", i), source))
		}
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		_, err = m.HandleInserts(ctx, f.change(source, "a", 1))
		require.NoError(t, err)
		_, err = m.RunAvailable(ctx, true)
		require.NoError(t, err)
		writing, most := 0, 0
		f.before = func(call, table string) error {
			if call == "write" && table != "out1" {
				writing++
				most = max(most, writing)
				w.Sleep(time.Second)
				writing--
			}
			return nil
		}
		w.Go("write-back", func() { _, _ = m.SendWritebackRequests(ctx) })
		w.Sleep(time.Millisecond)
		insertAndFlush(t, m, f, source, "b")
		require.Equal(t, []string{"a", "b"}, f.holds("out1"))
		require.Equal(t, 7, most)
		require.Equal(t, 7, writing, "the other sinks are not done yet")
	})
}

// TestTroubleWithTheCatalogIsNotAskedForAllTheTime: a flow that can't run is tried again ever more seldom.
func TestTroubleWithTheCatalogIsNotAskedForAllTheTime(t *testing.T) {
	f := newFakeFrontend()
	f.flows = []*catalog.Flow{{ID: 1, Node: "node", Name: catalog.Public("f"), Sink: catalog.Public("out"), Sources: []catalog.TableID{f.add("t", true)}, Query: "SELECT k FROM nowhere"}}
	asked := 0
	f.before = func(call, _ string) error {
		if call == "table by id" {
			asked++
		}
		return nil
	}
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	var problem error
	w.NewNode("node", func(h host.Host) { _, problem = StartNode(h, f, Config{}, nil) })
	w.Go("wait", func() {
		w.Sleep(time.Minute)
		w.Stop()
	})
	require.NoError(t, w.Run())
	require.NoError(t, problem)
	require.Greater(t, asked, 10)
	require.Less(t, asked, 30)
}
