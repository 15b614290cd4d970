package frontend_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
)

func TestResultsArePrintedAsTables(t *testing.T) {
	r := frontend.Result{Columns: []string{"é", "text\n", "span"}, Rows: []dataflow.Row{
		dataflow.Pack(dataflow.Int(-1), dataflow.String("a\tb\x1b[31m\x00"), dataflow.Interval(0)),
		dataflow.Pack(dataflow.Null(), dataflow.String("it's"), dataflow.Interval(86_400_000)),
		dataflow.Pack(dataflow.Bool(true), dataflow.String(""), dataflow.Interval(-2*86_400_000-3_723_004)),
		dataflow.Pack(dataflow.Timestamp(0), dataflow.Float(math.Inf(1)), dataflow.Interval(math.MinInt64)),
	}}
	require.Equal(t, `é                        | text\n           | span
-1                       | a\tb\x1b[31m\x00 | 00:00:00
NULL                     | it's             | 1 day
true                     |                  | -2 days 01:02:03.004
1970-01-01T00:00:00.000Z | +Inf             | -106751991167 days 07:12:55.808`, r.String())
	require.Equal(t, "done", frontend.Result{Text: "done\n"}.String())
	require.Equal(t, "a", frontend.Result{Columns: []string{"a"}}.String(), "no rows")
}
