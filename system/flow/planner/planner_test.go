package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/sql"
)

var table = &catalog.Table{ID: 7, Name: catalog.Public("t"), TimeIndex: 2, PrimaryKey: []int{0}, Columns: []catalog.Column{
	{Name: "k", Kind: dataflow.KindString, Nullable: true},
	{Name: "v", Kind: dataflow.KindInt64, Nullable: true},
	{Name: "ts", Kind: dataflow.KindTimestamp},
	{Name: "f", Kind: dataflow.KindFloat64, Nullable: true},
	{Name: "b", Kind: dataflow.KindBool, Nullable: true},
}}

func tables(name catalog.Name) (*catalog.Table, error) {
	if name != table.Name {
		return nil, &catalog.NotFoundError{What: "table", Name: name}
	}
	return table, nil
}

func flowOf(t require.TestingT, text string) (*planner.Query, error) {
	s, err := sql.ParseStatement(text)
	require.NoError(t, err, text)
	return planner.Flow(s.(sql.Query), tables, catalog.NoExpiry)
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		text      string
		key       []int
		timeIndex int
	}{
		{"SELECT v, k, ts FROM t", []int{1, 2}, 2},                                               // the table's
		{"SELECT v, k FROM t", []int{0, 1}, catalog.NoColumn},                                    // the row, once
		{"SELECT DISTINCT ts, v FROM t", []int{0, 1}, 0},                                         // the row
		{"SELECT count(*) AS n FROM t", nil, catalog.NoColumn},                                   // one row
		{"SELECT count(*) AS n, k FROM t GROUP BY k", []int{1}, catalog.NoColumn},                // the group
		{"SELECT max(v) AS m, date_bin('1 s', ts) AS w, k FROM t GROUP BY k, w", []int{1, 2}, 1}, // with time
		{"SELECT sum(v) AS s FROM t GROUP BY tumble(ts, '1 s')", []int{1, 2}, 1},                 // both ends
	} {
		q, err := flowOf(t, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.key, q.Key, c.text)
		require.Equal(t, c.timeIndex, q.TimeIndex, c.text)
		sink, err := q.SinkTable(catalog.Public("sink"))
		require.NoError(t, err, c.text)
		_, err = q.FitSink(&sink)
		require.NoError(t, err, "the table made for a query fits it: %s", c.text)
	}
}

// TestAnythingIsPlannedOrRefused: whatever expression stands in a query, it is planned, or refused with a
// place within the text.
func TestAnythingIsPlannedOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "SELECT " + expression(t, 3) + " AS x FROM t"
		if rapid.Bool().Draw(t, "filtered") {
			text += " WHERE " + expression(t, 2)
		}
		if rapid.Bool().Draw(t, "grouped") {
			text += " GROUP BY " + expression(t, 1)
		}
		s, err := sql.ParseStatement(text)
		require.NoError(t, err, text)
		q, err := planner.Flow(s.(sql.Query), tables, 60)
		if err == nil {
			_, err = dataflow.New(q.Plan, dataflow.Config{Sources: q.Catalog()})
			require.NoError(t, err, text)
			return
		}
		at, ok := planner.Position(err)
		require.True(t, ok, "%s: %v", text, err)
		require.Equal(t, 1, at.Line, text)
		require.LessOrEqual(t, at.Offset, len(text))
	})
}

// TestErrorsAreOneLine, whatever is in the names and values that they tell.
func TestErrorsAreOneLine(t *testing.T) {
	const odd = "a\nb\x1b[31m"
	for _, text := range []string{
		"SELECT * FROM `" + odd + "`",
		"SELECT `" + odd + "` FROM t",
		"SELECT `" + odd + "`(k) FROM t",
		"SELECT `" + odd + "`.k FROM t",
		"SELECT CAST(k AS `" + odd + "`) FROM t",
		"SELECT k + '" + odd + "' FROM t",
		"SELECT k AS `" + odd + "`, v AS `" + odd + "` FROM t",
		"SELECT date_trunc('" + odd + "', ts) FROM t",
		"SELECT k FROM t GROUP BY `" + odd + "`",
		"SELECT sum(v) AS s FROM t GROUP BY k || '" + odd + "'",
		"SELECT date_bin('" + odd + "', ts) FROM t",
	} {
		s, err := sql.ParseStatement(text)
		if err == nil {
			_, err = planner.Flow(s.(sql.Query), tables, catalog.NoExpiry)
		}
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "\x1b")
		_, ok := planner.Position(err)
		require.True(t, ok, text)
	}
}

// TestIntervalsAreReadOneWay, whether they stand as a string or as an INTERVAL.
func TestIntervalsAreReadOneWay(t *testing.T) {
	for text, ok := range map[string]bool{
		"1 hour": true, "1.5 hours": true, "1 day 02:00:00": true, "1h30m": true, "90 minutes": true,
		"1 month": false, "1 microsecond": false, "": false, "soon": false,
	} {
		var plans []string
		for _, literal := range []string{"'" + text + "'", "INTERVAL '" + text + "'"} {
			s, err := sql.ParseStatement("SELECT date_bin(" + literal + ", ts) AS w, count(*) AS n FROM t GROUP BY w")
			var q *planner.Query
			if err == nil {
				q, err = planner.Flow(s.(sql.Query), tables, catalog.NoExpiry)
			}
			require.Equal(t, ok, err == nil, "%s: %v", literal, err)
			if ok {
				plans = append(plans, q.Plan.String())
			}
		}
		if ok {
			require.Equal(t, plans[0], plans[1], text)
		}
	}
}

// expression draws an expression, of any sense.
func expression(t *rapid.T, depth int) string {
	leaves := []string{"k", "v", "ts", "f", "b", "1", "2.5", "'a'", "'1 hour'", "'2026-01-01'", "true", "NULL", "INTERVAL '1 minute'", "nope"}
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	sub := func() string { return expression(t, depth-1) }
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return "(" + sub() + rapid.SampledFrom([]string{" + ", " - ", " * ", " / ", " % ", " || ", " = ", " < ", " AND ", " OR ", " IS DISTINCT FROM "}).Draw(t, "op") + sub() + ")"
	case 1:
		return "(NOT " + sub() + ")"
	case 2:
		return rapid.SampledFrom([]string{"abs", "sum", "count", "min", "avg", "lower", "coalesce", "length", "tumble_start"}).Draw(t, "function") + "(" + sub() + ")"
	case 3:
		return "CASE WHEN " + sub() + " THEN " + sub() + " ELSE " + sub() + " END"
	case 4:
		return "date_bin(" + sub() + ", " + sub() + ")"
	case 5:
		return "(" + sub() + " IN (" + sub() + ", " + sub() + "))"
	case 6:
		return "CAST(" + sub() + " AS " + rapid.SampledFrom([]string{"BIGINT", "STRING", "DOUBLE", "TIMESTAMP", "BOOLEAN"}).Draw(t, "type") + ")"
	default:
		return "(" + sub() + " IS NULL)"
	}
}

func BenchmarkFlow(b *testing.B) {
	s, err := sql.ParseStatement("SELECT k, date_bin('1 minute', ts) AS w, sum(v) AS s, count(*) AS n FROM t WHERE v > 3 AND k <> 'x' GROUP BY k, w HAVING count(*) > 1")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planner.Flow(s.(sql.Query), tables, 3600); err != nil {
			b.Fatal(err)
		}
	}
}
