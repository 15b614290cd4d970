package dataflow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

func TestArrangementReads(t *testing.T) {
	a, err := dataflow.NewArrangement(wide, []int{1}, 2)
	require.NoError(t, err)
	failed := dataflow.NewRowError(dataflow.ErrOverflow, "x")
	require.NoError(t, a.Apply(dataflow.Output{
		Lower: persist.At(2), Upper: persist.At(6),
		Updates: batch{{Row: row("a", 1), Time: 2, Diff: 1}, {Row: row("b", 2), Time: 3, Diff: 2}, {Row: row("a", 1), Time: 5, Diff: -1}},
		Errors:  []dataflow.ErrorUpdate{{Err: failed, Time: 3, Diff: 1}, {Err: failed, Time: 4, Diff: -1}},
	}))
	snapshot := func(at uint64) string {
		rows, errs, err := a.Snapshot(at)
		return fmt.Sprint(rows, errs, err)
	}
	ra, rb := fmt.Sprintf("%v:+1", row("a", 1)), fmt.Sprintf("%v:+2", row("b", 2))
	require.Equal(t, "["+ra+"] [] <nil>", snapshot(2))
	rows, errs, err := a.Snapshot(3)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, []dataflow.ErrorCount{{Err: failed, Count: 1}}, errs)
	require.Equal(t, "["+ra+" "+rb+"] [] <nil>", snapshot(4))
	require.Equal(t, "["+rb+"] [] <nil>", snapshot(5))

	_, _, err = a.Snapshot(1)
	require.ErrorIs(t, err, dataflow.ErrCompacted)
	_, _, err = a.Lookup("", 6)
	require.ErrorIs(t, err, dataflow.ErrNotSealed)
	require.EqualError(t, err, "dataflow: cannot read as of 6, since [2], upper [6]: the time is not before the upper yet")
	rows, _, err = a.Lookup(dataflow.Pack(dataflow.Int(2)), 5)
	require.NoError(t, err)
	require.Len(t, rows, 1)

	require.ErrorIs(t, a.Apply(dataflow.Output{Lower: persist.At(5), Upper: persist.At(9)}), dataflow.ErrGap)

	a.AllowCompaction(persist.At(9)) // beyond the upper
	a.AllowCompaction(persist.At(3)) // does not bring back what is gone
	require.Equal(t, persist.At(9), a.Since())
	_, _, err = a.Snapshot(9)
	require.ErrorIs(t, err, dataflow.ErrNotSealed)
	require.NoError(t, a.Apply(dataflow.Output{Lower: persist.At(6), Upper: persist.At(10), Updates: batch{{Row: row("c", 3), Time: 7, Diff: 1}}}))
	rows, _, err = a.Snapshot(9)
	require.NoError(t, err)
	require.Len(t, rows, 2)

	a.AllowCompaction(persist.Empty())
	require.Zero(t, a.Len())
	require.NoError(t, a.Apply(dataflow.Output{Lower: persist.At(10), Upper: persist.At(11), Updates: batch{{Row: row("c", 3), Time: 10, Diff: 1}}}))
	require.Zero(t, a.Len())

	_, err = dataflow.NewArrangement(wide, []int{4}, 0)
	require.Error(t, err)
}

// TestArrangementForgets: what is kept is in proportion to what can be told apart.
func TestArrangementForgets(t *testing.T) {
	a, err := dataflow.NewArrangement(wide, nil, 0)
	require.NoError(t, err)
	for time := range uint64(5000) {
		updates := batch{{Row: row(int(time % 10)), Time: time, Diff: 1}}
		if time >= 10 {
			updates = append(updates, dataflow.Update{Row: row(int(time % 10)), Time: time, Diff: -1})
		}
		require.NoError(t, a.Apply(dataflow.Output{
			Lower: persist.At(time), Upper: persist.At(time + 1), Updates: updates,
			Errors: []dataflow.ErrorUpdate{{Time: time, Diff: int64(time%2)*2 - 1}},
		}))
		a.AllowCompaction(persist.At(time))
		require.Less(t, a.Len(), 200)
	}
	rows, _, err := a.Snapshot(4999)
	require.NoError(t, err)
	require.Len(t, rows, 10)
}

// TestArrangementForgetsAtLast: history that was held for long goes when it is let go.
func TestArrangementForgetsAtLast(t *testing.T) {
	a, err := dataflow.NewArrangement(wide, nil, 0)
	require.NoError(t, err)
	const last = 5000
	for time := range uint64(last) {
		require.NoError(t, a.Apply(dataflow.Output{
			Lower: persist.At(time), Upper: persist.At(time + 1),
			Updates: batch{{Row: row("a"), Time: time, Diff: 1 - 2*int64(time%2)}},
		}))
	}
	require.Equal(t, last, a.Len())
	for time := range uint64(last) {
		a.AllowCompaction(persist.At(time))
	}
	require.Less(t, a.Len(), 1500)
	a.AllowCompaction(persist.At(last))
	require.Less(t, a.Len(), 1500)
}

// TestImport: a dataflow that reads another's arrangement goes on from where it is.
func TestImport(t *testing.T) {
	tb := newTable(t, dataflow.Get("t").Project(0, 1))
	a, err := dataflow.NewArrangement(tb.flow.Schema(), []int{0}, 0)
	require.NoError(t, err)
	feed := func(updates batch) dataflow.Output {
		for i := range updates {
			updates[i].Time = tb.time
		}
		require.NoError(t, tb.flow.Push("t", updates))
		tb.time++
		require.NoError(t, tb.flow.Advance("t", persist.At(tb.time)))
		out := tb.flow.Run()
		require.NoError(t, a.Apply(out))
		return out
	}
	feed(batch{plus("a", 1), plus("b", 2)})
	feed(batch{minus("a", 1)})
	feed(batch{plus("b", 3)})

	for asOf := range uint64(5) {
		reader, err := dataflow.New(
			dataflow.Get("i").Reduce([]dataflow.Expr{dataflow.Col(0)}, dataflow.Sum(dataflow.Col(1))),
			dataflow.Config{Sources: dataflow.Catalog{"i": tb.flow.Schema()}, AsOf: asOf})
		require.NoError(t, err)
		give := func(out dataflow.Output) {
			require.NoError(t, reader.Push("i", out.Updates))
			require.NoError(t, reader.PushErrors("i", out.Errors))
			require.NoError(t, reader.Advance("i", out.Upper))
		}
		all, err := a.From(asOf)
		require.NoError(t, err)
		give(all)
		for reader.Frontier().LessEqual(asOf) {
			give(feed(nil))
			for reader.Step(10) {
			}
		}
		out := reader.Take()
		sum := map[string]int64{}
		for _, u := range out.Updates {
			require.GreaterOrEqual(t, u.Time, asOf)
			sum[u.Row.String()] += u.Diff
		}
		require.EqualValues(t, 1, sum["('b', 5)"], "%v", out)
	}
	a.AllowCompaction(persist.At(2))
	_, err = a.From(1)
	require.ErrorIs(t, err, dataflow.ErrCompacted)
}
