package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

// The oracle agrees with the numbers of a worked example, which nobody computed with code.
func TestWorkedExample(t *testing.T) {
	schema := dataflow.NewSchema(
		dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
		dataflow.Column{Name: "at", Type: dataflow.Type(dataflow.KindTimestamp)},
	)
	inputs := func(updates ...dataflow.Update) naive.Inputs {
		return naive.Inputs{
			Catalog: dataflow.Catalog{"t": schema},
			Updates: map[dataflow.SourceID][]dataflow.Update{"t": updates},
			Now:     func(time uint64) int64 { return int64(time) },
		}
	}
	insert := func(v dataflow.Datum, at int64, time uint64) dataflow.Update {
		return dataflow.Update{Row: dataflow.Pack(v, dataflow.Timestamp(at)), Time: time, Diff: 1}
	}
	null := dataflow.Null()
	contents := func(plan dataflow.Plan, in naive.Inputs, at uint64) string {
		c, err := naive.Evaluate(plan, in, at)
		require.NoError(t, err)
		return c.String()
	}

	v := dataflow.Col(0)
	all := dataflow.Get("t").Reduce(nil, dataflow.Count(v), dataflow.Sum(v), dataflow.Min(v), dataflow.Max(v), dataflow.Avg(v))
	in := inputs(insert(null, 0, 0), insert(dataflow.Int(3), 0, 0), insert(null, 0, 0), insert(dataflow.Int(4), 0, 0))
	require.Equal(t, "(2, 7, 3, 4, 3.5):+1\n", contents(all, in, 0))
	require.Equal(t, "(0, NULL, NULL, NULL, NULL):+1\n", contents(all, inputs(insert(null, 0, 0)), 0))
	require.Empty(t, contents(all, inputs(), 0))

	// Equal to the horizon is young enough; one less is not, once and for all.
	young := dataflow.Get("t").Expire(1, 60_000).Project(1)
	in = inputs(insert(null, 940_000, 1_000_000), insert(null, 939_999, 1_000_000), insert(null, 940_000, 1_000_001))
	require.Equal(t, "('1970-01-01T00:15:40.000Z'):+1\n", contents(young, in, 1_000_000))
	require.Equal(t, "('1970-01-01T00:15:40.000Z'):+1\n", contents(young, in, 2_000_000))

	_, err := naive.Evaluate(dataflow.Get("u"), inputs(), 0)
	require.ErrorIs(t, err, dataflow.ErrUnknownSource)
}
