package storage

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestConsolidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) RowDiff {
			return RowDiff{
				Row:  rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "row"),
				Diff: rapid.Int64Range(-2, 2).Draw(t, "diff"),
			}
		})).Draw(t, "rows")
		want := map[Row]int64{}
		for _, r := range rows {
			want[r.Row] += r.Diff
		}
		maps.DeleteFunc(want, func(_ Row, diff int64) bool { return diff == 0 })
		got := map[Row]int64{}
		consolidated := Consolidate(rows)
		for i, r := range consolidated {
			got[r.Row] = r.Diff
			require.True(t, i == 0 || consolidated[i-1].Row < r.Row)
		}
		require.Equal(t, want, got)
	})
}

func TestApplyWriteOp(t *testing.T) {
	task := &DifferentialWriteTask{}
	appendRows := func(rows ...RowDiff) { task.applyWriteOp(Append{Updates: rows}) }
	remove := func(row Row) { task.applyWriteOp(Delete{Filter: func(r Row) bool { return r == row }}) }
	consolidated := func() ([]RowDiff, []RowDiff) {
		task.desired, task.toWrite = Consolidate(task.desired), Consolidate(task.toWrite)
		return task.desired, task.toWrite
	}

	appendRows(RowDiff{"a", 2}, RowDiff{"b", 1}, RowDiff{"c", -1})
	remove("b") // of the same batch
	appendRows(RowDiff{"a", -1})
	desired, toWrite := consolidated()
	require.Equal(t, []RowDiff{{"a", 1}, {"c", -1}}, desired)
	require.Equal(t, []RowDiff{{"a", 1}, {"c", -1}}, toWrite)

	task.toWrite = nil // as if written
	appendRows(RowDiff{"a", 3})
	remove("a") // whatever its multiplicity, consolidated or not
	remove("c") // negative
	remove("d") // not there
	desired, toWrite = consolidated()
	require.Empty(t, desired)
	require.Equal(t, []RowDiff{{"a", -1}, {"c", 1}}, toWrite)

	rows := []RowDiff{{"x", 1}}
	appendRows(rows...)
	remove("x")
	require.Equal(t, []RowDiff{{"x", 1}}, rows, "the caller's slice is its own")
}
