package flow

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// TestCreateTruthTable: what becomes of a request, by whether the flow is there and what is asked for. Two
// requests of one revision are the same.
func TestCreateTruthTable(t *testing.T) {
	for _, c := range []struct {
		name                 string
		revision             uint64
		ifNotExists, replace bool
		created              bool
		want                 error
	}{
		{"again", 1, true, false, false, nil},
		{"again, replacing", 1, false, true, false, nil},
		{"plain", 2, false, false, false, ErrFlowExists},
		{"if not exists", 2, true, false, false, nil},
		{"or replace", 2, false, true, true, nil},
		{"both, as the catalog has it", 2, true, true, true, nil},
		{"an old one", 0, false, true, true, nil}, // of somebody who does not number them
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *sim.World) {
				ctx, f := context.Background(), newFakeFrontend()
				source := f.add("t", true)
				m := fakeNode(w, f, Config{Workers: 3})
				create(t, w, m, totals(1, "first", source))
				args := replacement(c.revision, "second", source)
				args.CreateIfNotExists, args.OrReplace = c.ifNotExists, c.replace
				id, err := m.CreateFlow(ctx, args)
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.created, id != nil)
				awaitRefills(w, m)
				instances := 0
				for _, worker := range m.workers {
					there, err := worker.ContainsFlow(ctx, 1)
					require.NoError(t, err)
					if there {
						instances++
					}
				}
				require.Equal(t, 1, instances, "a flow runs once")
				sink := "first"
				if c.created {
					sink = "second"
				}
				_, err = m.HandleInserts(ctx, f.change(source, "a", 1))
				require.NoError(t, err)
				_, err = m.FlushFlow(ctx, FlushFlow{ID: 1})
				require.NoError(t, err)
				require.Equal(t, []string{"a"}, f.holds(sink))
			})
		})
	}
}

// TestOldRequestsComeTooLate: those from before the flow was replaced or dropped.
func TestOldRequestsComeTooLate(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, replacement(7, "out", source))
		_, err := m.CreateFlow(ctx, replacement(6, "before", source))
		require.ErrorIs(t, err, ErrSuperseded)
		drop := DropFlow{ID: 1, Revision: 8, Sink: catalog.Public("out")}
		require.NoError(t, m.RemoveFlow(ctx, drop))
		require.NoError(t, m.RemoveFlow(ctx, drop), "it is gone already")
		require.Empty(t, m.Status().Sources)
		_, err = m.CreateFlow(ctx, replacement(7, "out", source))
		require.ErrorIs(t, err, ErrSuperseded)
		create(t, w, m, replacement(9, "out", source))
		require.Equal(t, []catalog.FlowID{1}, m.Status().Flows)
	})
}

// TestACreateThatFailsLeavesNothing, whatever it is that fails.
func TestACreateThatFailsLeavesNothing(t *testing.T) {
	for _, call := range []string{"table by id", "table", "upper", "create table"} {
		t.Run(call, func(t *testing.T) {
			inWorld(t, func(w *sim.World) {
				ctx, f := context.Background(), newFakeFrontend()
				source := f.add("t", true)
				m := fakeNode(w, f, Config{})
				f.before = func(made, _ string) error {
					if made == call {
						return rpc.ErrUnknown
					}
					return nil
				}
				_, err := m.CreateFlow(ctx, totals(1, "out", source))
				require.ErrorIs(t, err, rpc.ErrUnknown)
				require.False(t, IsRefused(err))
				require.Equal(t, Status{}, m.Status())
				f.before = nil
				require.Nil(t, f.holds("out"))
				_, err = m.HandleInserts(ctx, f.change(source, "a", 1))
				require.ErrorIs(t, err, ErrTableNotFound)
				create(t, w, m, totals(1, "out", source))
			})
		})
	}
}

// TestAShutDownManagerRunsNothing: neither its loops nor a refill, its reports or its workers.
func TestAShutDownManagerRunsNothing(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		h, f := w.Host(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{RefillAttempts: 1 << 20})
		reports := host.NewChan[StateRequest](h, "reports", 1)
		m.WithStateReportHandler(reports)
		create(t, w, m, totals(1, "out", source))
		broken := totals(2, "other", source)
		f.before = func(call, table string) error {
			if call == "snapshot" && table == "t" {
				return rpc.ErrUnknown
			}
			return nil
		}
		_, err := m.CreateFlow(context.Background(), broken)
		require.NoError(t, err)
		shutdown := host.NewChan[struct{}](h, "shutdown", 0)
		ended := m.RunBackground(shutdown)
		ask := StateRequest{host.NewChan[FlowStat](h, "report", 1)}
		reports.Send(ask)
		stat, _ := ask.Answer.Recv()
		require.Contains(t, stat.StateBytes, catalog.FlowID(1))
		require.Contains(t, stat.StateBytes, catalog.FlowID(2))
		require.Equal(t, []catalog.FlowID{2}, m.Status().Refilling)

		shutdown.Close()
		ended.Recv()
		w.Sleep(time.Minute) // the longest wait between two refills is shorter, as yet
		calls := 0
		f.before = func(string, string) error { calls++; return nil }
		reports.Send(ask)
		w.Sleep(time.Hour / 2)
		require.Zero(t, calls)
		require.Equal(t, 1, reports.Len(), "nobody takes it any more")
		require.False(t, ask.Answer.Closed())
		_, err = m.RunAvailable(context.Background(), true)
		require.ErrorIs(t, err, ErrInternal)
		_, err = m.CreateFlow(context.Background(), replacement(9, "out", source))
		require.ErrorIs(t, err, ErrInternal)
		_, err = m.SendWritebackRequests(context.Background())
		require.NoError(t, err, "nothing waits")
	})
}

// TestErrorsOfAFlowAreBounded: the first ones are kept, the others counted.
func TestErrorsOfAFlowAreBounded(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		c := newErrCollector(w.Host(), 2)
		one, two := errors.New("one"), errors.New("two")
		for _, err := range []error{one, two, errors.New("three"), errors.New("four")} {
			c.push(err)
		}
		errs, more := c.drain()
		require.Equal(t, []error{one, two}, errs)
		require.Equal(t, 2, more)
		errs, more = c.drain()
		require.Empty(t, errs)
		require.Zero(t, more)
	})
}

// TestAWriteIsRepeatedAsItWas until its outcome is known, and what waits comes after it.
func TestAWriteIsRepeatedAsItWas(t *testing.T) {
	inWorld(t, func(w *sim.World) {
		ctx, f := context.Background(), newFakeFrontend()
		source := f.add("t", true)
		m := fakeNode(w, f, Config{})
		create(t, w, m, totals(1, "out", source))
		_, err := m.FlushFlow(ctx, FlushFlow{ID: 1})
		require.NoError(t, err)
		recorder := &recorder{fakeFrontend: f, fail: 3}
		m.SetFrontendInvoker(recorder)
		for _, k := range []string{"a", "b", "c", "d"} {
			_, err := m.HandleInserts(ctx, f.change(source, k, 1))
			require.NoError(t, err)
			_, err = m.RunAvailable(ctx, true)
			require.NoError(t, err)
			if _, err = m.SendWritebackRequests(ctx); k < "d" {
				require.ErrorIs(t, err, rpc.ErrUnknown)
			} else {
				require.NoError(t, err)
			}
		}
		require.Len(t, recorder.writes, 5)
		for _, repeated := range recorder.writes[1:4] {
			require.Equal(t, recorder.writes[0], repeated)
		}
		require.True(t, recorder.writes[4].Stamp.After(recorder.writes[3].Stamp))
		require.Len(t, recorder.writes[4].Requests, 3, "of three runs")
		require.Equal(t, []string{"a", "b", "c", "d"}, f.holds("out"))
	})
}

// recorder is a frontend that keeps what it is asked to write, and does not tell that it has done the first
// ones.
type recorder struct {
	*fakeFrontend
	writes []WriteRequest
	fail   int
}

func (r *recorder) Write(ctx context.Context, w WriteRequest) error {
	r.writes = append(r.writes, w)
	if err := r.fakeFrontend.Write(ctx, w); err != nil || len(r.writes) > r.fail {
		return err
	}
	return rpc.ErrUnknown
}
