package dataflow_test

import (
	"encoding/hex"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
)

var (
	orders = dataflow.NewSchema(
		dataflow.Column{Name: "customer", Type: dataflow.Type(dataflow.KindString)},
		dataflow.Column{Name: "price", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
		dataflow.Column{Name: "at", Type: dataflow.Type(dataflow.KindTimestamp), TimeIndex: true},
	)
	catalog = dataflow.Catalog{"orders": orders}
)

// window is the beginning of the order's ten milliseconds.
var window = dataflow.DateBin(dataflow.Lit(dataflow.Interval(10)), dataflow.Col(2))

func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := dataflowtest.Catalog(t)
		plan := dataflowtest.Plan(t, sources, 4)
		decoded, err := dataflow.DecodePlan(plan.Encode())
		require.NoError(t, err)
		require.True(t, plan.Equal(decoded))
		require.Equal(t, plan.String(), decoded.String())
		want, err := plan.Schema(sources)
		require.NoError(t, err)
		got, err := decoded.Schema(sources)
		require.NoError(t, err)
		require.Equal(t, want, got)

		// As a part of a message.
		message, err := cbor.Marshal(struct{ Plan dataflow.Plan }{plan})
		require.NoError(t, err)
		var received struct{ Plan dataflow.Plan }
		require.NoError(t, cbor.Unmarshal(message, &received))
		require.True(t, plan.Equal(received.Plan))

		other := dataflowtest.Plan(t, sources, 4)
		require.Equal(t, plan.String() == other.String(), plan.Equal(other), "%v\n%v", plan, other)
	})
}

func TestDeepPlans(t *testing.T) {
	plan, e := dataflow.Get("orders"), dataflow.Col(1)
	for range 60 {
		plan = plan.Distinct().Negate().Negate()
		e = dataflow.Neg(e)
	}
	plan = plan.Map(e)
	message, err := cbor.Marshal(struct{ Plans []dataflow.Plan }{[]dataflow.Plan{plan}})
	require.NoError(t, err)
	var received struct{ Plans []dataflow.Plan }
	require.NoError(t, cbor.Unmarshal(message, &received))
	require.True(t, plan.Equal(received.Plans[0]))
	_, err = dataflow.New(plan, dataflow.Config{Sources: catalog})
	require.NoError(t, err)

	_, err = dataflow.DecodePlan(plan.Encode()[1:])
	require.Error(t, err)
	require.Error(t, cbor.Unmarshal([]byte{0x41, 0xff}, &plan))
}

// TestPlanEncodingIsStable: replicas of different versions compare plans.
func TestPlanEncodingIsStable(t *testing.T) {
	plan := dataflow.Get("orders").
		Filter(dataflow.Gt(dataflow.Col(1), dataflow.Lit(dataflow.Int(10)))).
		TopK([]int{0}, []dataflow.Order{{Column: 1, Desc: true}}, 3, 0)
	require.Equal(t,
		"a501"+"64746f706b"+"0281"+"583d"+"a301"+"6666696c746572"+"0281"+"4e"+"a2016367657404666f7264657273"+
			"0781a2"+"01613e"+"0582"+"a20166636f6c756d6e0201"+"a301676c69746572616c03"+"42190a"+"0402"+
			"088100"+"0c81"+"8301f5f4"+"0d03",
		reencode(t, plan))
}

// reencode is the plan's encoding in hexadecimal, after a round trip.
func reencode(t *testing.T, plan dataflow.Plan) string {
	decoded, err := dataflow.DecodePlan(plan.Encode())
	require.NoError(t, err)
	return hex.EncodeToString(decoded.Encode())
}

func TestExplain(t *testing.T) {
	plan := dataflow.Get("orders").
		Map(window).
		Expire(3, 60_000).
		Filter(dataflow.Or(dataflow.IsNull(dataflow.Col(1)), dataflow.Ge(dataflow.Col(1), dataflow.Lit(dataflow.Int(0))))).
		Reduce([]dataflow.Expr{dataflow.Col(0), dataflow.Col(3)}, dataflow.CountAll(), dataflow.Sum(dataflow.Col(1)).Of(true)).
		As("customer", "window", "n", "total").
		LeftJoin(dataflow.Get("orders").Project(0).Distinct(), dataflow.On{Left: 0, Right: 0}).
		TopK([]int{1}, []dataflow.Order{{Column: 3, Desc: true, NullsLast: true}}, 3, 1)
	require.Equal(t, `TopK by [1] order [#3 desc nulls last] limit 3 offset 1
  LeftJoin on #0 = right #0
    Reduce by [#0, #3] [count(*), sum(DISTINCT #1)] as (customer, window, n, total)
      Filter ((#1) IS NULL OR (#1 >= 0))
        Expire [3] after INTERVAL '60000 ms'
          Map date_bin(INTERVAL '10 ms', #2)
            Get orders
    Distinct
      Project [0]
        Get orders
`, plan.String())

	schema, err := plan.Schema(catalog)
	require.NoError(t, err)
	require.Equal(t, "(customer string, window timestamp, n int64, total int64?, customer string?)", schema.String())
	at, ok := schema.TimeIndex()
	require.True(t, ok)
	require.Equal(t, 1, at)
}

func TestKeys(t *testing.T) {
	reduced := dataflow.Get("orders").Reduce([]dataflow.Expr{dataflow.Col(0), window}, dataflow.CountAll())
	for _, c := range []struct {
		plan dataflow.Plan
		want [][]int
	}{
		{dataflow.Get("orders"), nil},
		{reduced, [][]int{{0, 1}}},
		{reduced.Project(2, 1, 0), [][]int{{2, 1}}},
		{reduced.Project(2, 1), nil},
		{dataflow.Get("orders").Project(0, 2).Distinct(), [][]int{{0, 1}}},
		{dataflow.Get("orders").Reduce(nil, dataflow.CountAll()), [][]int{{}}},
	} {
		schema, err := c.plan.Schema(catalog)
		require.NoError(t, err)
		require.Equal(t, c.want, schema.Keys, "%v", c.plan)
	}
}

func TestPlanErrors(t *testing.T) {
	get := dataflow.Get("orders")
	for want, plan := range map[string]dataflow.Plan{
		`dataflow: invalid get at the root of the plan: unknown source "payments"`:                                              dataflow.Get("payments"),
		"dataflow: invalid project at inputs [0] of the plan: there is no column 3, the input has 3":                            get.Project(3).Distinct(),
		"dataflow: invalid filter at the root of the plan: dataflow: #1: a predicate of kind int64, not bool":                   get.Filter(dataflow.Col(1)),
		"dataflow: invalid reduce at the root of the plan: dataflow: sum(#0): there is no sum of kind string":                   get.Reduce(nil, dataflow.Sum(dataflow.Col(0))),
		"dataflow: invalid union at the root of the plan: inputs of 3 and of 1 columns":                                         dataflow.Union(get, get.Project(0)),
		"dataflow: invalid union at the root of the plan: column 0 is of kind string and of kind int64":                         dataflow.Union(get.Project(0), get.Project(1)),
		"dataflow: invalid join at the root of the plan: column 0 is of kind string, column 1 of the right input of kind int64": get.Join(get, dataflow.On{Left: 0, Right: 1}),
		"dataflow: invalid topk at the root of the plan: limit -2, offset 0":                                                    get.TopK(nil, nil, -2, 0),
		"dataflow: invalid expire at the root of the plan: column 1 is of kind int64, not timestamp":                            get.Expire(1, 0),
		"dataflow: invalid distinct at the root of the plan: 2 names for 3 columns":                                             get.Distinct().As("a", "b"),
		"dataflow: invalid distinct at the root of the plan: it has 0 inputs, not 1":                                            {Op: dataflow.OpDistinct},
		`dataflow: invalid sort at the root of the plan: there is no operator "sort"`:                                           {Op: "sort", Inputs: []dataflow.Plan{get}},
	} {
		_, err := dataflow.New(plan, dataflow.Config{Sources: catalog})
		var planError *dataflow.PlanError
		require.ErrorAs(t, err, &planError)
		require.EqualError(t, err, want)
	}
	_, err := dataflow.Get("payments").Schema(catalog)
	require.ErrorIs(t, err, dataflow.ErrUnknownSource)
}
