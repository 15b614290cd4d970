package dataflow_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// table drives a plan over one source of columns k (string?), v (int64?), f (float64?) and at
// (timestamp?), one batch a time.
type table struct {
	t    *testing.T
	flow *dataflow.Dataflow
	time uint64
}

var wide = dataflow.NewSchema(
	dataflow.Column{Name: "k", Type: dataflow.Type(dataflow.KindString).OrNull()},
	dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
	dataflow.Column{Name: "f", Type: dataflow.Type(dataflow.KindFloat64).OrNull()},
	dataflow.Column{Name: "at", Type: dataflow.Type(dataflow.KindTimestamp).OrNull()},
)

func newTable(t *testing.T, plan dataflow.Plan) *table {
	flow, err := dataflow.New(plan, dataflow.Config{Sources: dataflow.Catalog{"t": wide}})
	require.NoError(t, err)
	return &table{t: t, flow: flow}
}

// row builds a row of what is given: a string, an int, a float, a Timestamp; NULL for the rest.
func row(values ...any) dataflow.Row {
	data := make([]dataflow.Datum, 4)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			data[0] = dataflow.String(v)
		case int:
			data[1] = dataflow.Int(int64(v))
		case float64:
			data[2] = dataflow.Float(v)
		case dataflow.Datum:
			data[3] = v
		}
	}
	return dataflow.Pack(data...)
}

func plus(values ...any) dataflow.Update  { return dataflow.Update{Row: row(values...), Diff: 1} }
func minus(values ...any) dataflow.Update { return dataflow.Update{Row: row(values...), Diff: -1} }

// batch feeds a batch and expects these changes, printed as row:diff or error:diff.
func (tb *table) batch(updates []dataflow.Update, want ...string) {
	tb.t.Helper()
	for i := range updates {
		updates[i].Time = tb.time
	}
	require.NoError(tb.t, tb.flow.Push("t", updates))
	tb.time++
	require.NoError(tb.t, tb.flow.Advance("t", persist.At(tb.time)))
	var got []string
	out := tb.flow.Run()
	for _, u := range out.Updates {
		got = append(got, fmt.Sprintf("%v:%+d", u.Row, u.Diff))
	}
	for _, u := range out.Errors {
		got = append(got, fmt.Sprintf("%v:%+d", u.Err, u.Diff))
	}
	require.ElementsMatch(tb.t, want, got)
}

func byKey(aggregates ...dataflow.Aggregate) dataflow.Plan {
	return dataflow.Get("t").Reduce([]dataflow.Expr{dataflow.Col(0)}, aggregates...)
}

type batch = []dataflow.Update

func TestNullsInGroups(t *testing.T) {
	v := dataflow.Col(1)
	tb := newTable(t, byKey(dataflow.CountAll(), dataflow.Count(v), dataflow.Sum(v), dataflow.Min(v), dataflow.Max(v), dataflow.Avg(v)))
	tb.batch(batch{plus(), plus()}, "(NULL, 2, 0, NULL, NULL, NULL, NULL):+1")
	tb.batch(batch{plus(3), plus(4), plus("a", 3)},
		"(NULL, 2, 0, NULL, NULL, NULL, NULL):-1", "(NULL, 4, 2, 7, 3, 4, 3.5):+1",
		"('a', 1, 1, 3, 3, 3, 3.0):+1")
	tb.batch(batch{minus("a", 3)}, "('a', 1, 1, 3, 3, 3, 3.0):-1")
	tb.batch(nil)
}

func TestRetractionOfTheExtreme(t *testing.T) {
	tb := newTable(t, byKey(dataflow.Min(dataflow.Col(1)), dataflow.Max(dataflow.Col(1))))
	tb.batch(batch{plus("a", 1), plus("a", 1), plus("a", 5), plus("a", 9)}, "('a', 1, 9):+1")
	tb.batch(batch{minus("a", 1), minus("a", 9)}, "('a', 1, 9):-1", "('a', 1, 5):+1")
	tb.batch(batch{minus("a", 1)}, "('a', 1, 5):-1", "('a', 5, 5):+1")
	tb.batch(batch{minus("a", 5)}, "('a', 5, 5):-1")
	require.Equal(t, dataflow.Size{}, tb.flow.Size(), "an empty group leaves nothing")
}

func TestDistinctAggregates(t *testing.T) {
	v := dataflow.Col(1)
	tb := newTable(t, byKey(dataflow.CountAll(), dataflow.Count(v).Of(true), dataflow.Sum(v).Of(true), dataflow.Avg(v).Of(true)))
	tb.batch(batch{plus("a", 4), plus("a", 4), plus("a", 1), plus("a")}, "('a', 4, 2, 5, 2.5):+1")
	tb.batch(batch{minus("a", 4)}, "('a', 4, 2, 5, 2.5):-1", "('a', 3, 2, 5, 2.5):+1")
	tb.batch(batch{minus("a", 4), plus("a", 1)}, "('a', 3, 2, 5, 2.5):-1", "('a', 3, 1, 1, 1.0):+1")
}

func TestFiltersInARow(t *testing.T) {
	plan := dataflow.Get("t").Filter(dataflow.Eq(dataflow.Col(0), dataflow.Lit(dataflow.String("a")))).
		Filter(dataflow.Gt(dataflow.Col(1), dataflow.Lit(dataflow.Int(1)))).
		Filter(dataflow.Eq(dataflow.Col(0), dataflow.Lit(dataflow.String("a"))))
	newTable(t, plan).batch(batch{plus("a", 1), plus("a", 2), plus("b", 2)}, fmt.Sprintf("%v:+1", row("a", 2)))
}

func TestOverflowComesAndGoes(t *testing.T) {
	tb := newTable(t, byKey(dataflow.Sum(dataflow.Col(1)), dataflow.Avg(dataflow.Col(1))))
	tb.batch(batch{plus("a", math.MaxInt64), plus("b", 1)}, "('a', 9223372036854775807, 9.223372036854776e+18):+1", "('b', 1, 1.0):+1")
	tb.batch(batch{plus("a", 1)}, "('a', 9223372036854775807, 9.223372036854776e+18):-1", "out of range in sum(v):+1")
	tb.batch(batch{minus("a", math.MaxInt64)}, "out of range in sum(v):-1", "('a', 1, 1.0):+1")
}

func TestFloatSumsForget(t *testing.T) {
	tb := newTable(t, byKey(dataflow.Sum(dataflow.Col(2))))
	tb.batch(batch{plus("a", 0.1), plus("a", 1e300), plus("a", math.Inf(1))}, "('a', +Inf):+1")
	tb.batch(batch{minus("a", math.Inf(1)), minus("a", 1e300)}, "('a', +Inf):-1", "('a', 0.1):+1")
	tb.batch(batch{plus("a", 0.2)}, "('a', 0.1):-1", "('a', 0.30000000000000004):+1")
	tb.batch(batch{plus("a", 0.1), plus("a", 0.2)}, "('a', 0.30000000000000004):-1", "('a', 0.6000000000000001):+1")
}

func TestNegativeMultiplicity(t *testing.T) {
	negative := "negative multiplicity in group ('a'):"
	for name, plan := range map[string]dataflow.Plan{
		"count":    byKey(dataflow.CountAll()),
		"distinct": dataflow.Get("t").Project(0).Distinct(),
		"top-k":    dataflow.Get("t").Project(0).TopK([]int{0}, nil, 1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, plan)
			tb.batch(batch{minus("a")}, negative+"+1")
			tb.batch(batch{plus("a")}, negative+"-1")
			require.Equal(t, dataflow.Size{}, tb.flow.Size())
		})
	}
	// What adds up to nothing may still be wrong, and only some aggregates can tell.
	tb := newTable(t, byKey(dataflow.Min(dataflow.Col(1))))
	tb.batch(batch{plus("a", 1), minus("a", 2)}, negative+"+1")
	tb.batch(batch{plus("a", 1)})
	tb.batch(batch{plus("a", 2)}, negative+"-1", "('a', 1):+1")
	tb = newTable(t, byKey(dataflow.CountAll()))
	tb.batch(batch{plus("a", 1), minus("a", 2)})
}

func TestTopKPositions(t *testing.T) {
	order := []dataflow.Order{{Column: 1, Desc: true, NullsLast: true}}
	tb := newTable(t, dataflow.Get("t").Project(0, 1).TopK([]int{0}, order, 2, 1))
	tb.batch(batch{plus("a", 5), plus("a", 7), plus("a", 3), plus("a"), plus("b")}, "('a', 5):+1", "('a', 3):+1")
	tb.batch(batch{minus("a", 7)}, "('a', 5):-1", "('a', NULL):+1")
	twice := plus("a", 4)
	twice.Diff = 3
	tb.batch(batch{twice}, "('a', 3):-1", "('a', NULL):-1", "('a', 4):+2")
	tb.batch(batch{minus("a", 5)}) // the first of the three takes its place before the offset
	tb.batch(batch{{Row: row("a", 4), Diff: -2}}, "('a', 4):-2", "('a', 3):+1", "('a', NULL):+1")
}

func TestLeftJoinOfNulls(t *testing.T) {
	right := dataflow.Get("t").Filter(dataflow.Gt(dataflow.Col(1), dataflow.Lit(dataflow.Int(0)))).Project(0, 1)
	tb := newTable(t, dataflow.Get("t").Project(0).LeftJoin(right, dataflow.On{Left: 0, Right: 0}))
	tb.batch(batch{plus("a", 0), plus(1)}, "('a', NULL, NULL):+1", "(NULL, NULL, NULL):+1")
	tb.batch(batch{plus("a", 1)}, "('a', NULL, NULL):-1", "('a', 'a', 1):+2")
	tb.batch(batch{minus("a", 1)}, "('a', NULL, NULL):+1", "('a', 'a', 1):-2")
}

func TestErrorsPerRow(t *testing.T) {
	tb := newTable(t, dataflow.Get("t").Map(dataflow.Div(dataflow.Lit(dataflow.Int(6)), dataflow.Col(1))).Project(0, 4))
	tb.batch(batch{plus("a", 2), plus("b", 0), plus("c", 0), plus("d")},
		"('a', 3):+1", "('d', NULL):+1", "division by zero in (6 / v):+2")
	tb.batch(batch{minus("b", 0)}, "division by zero in (6 / v):-1")
}

func TestProjectionsInARow(t *testing.T) {
	plan := dataflow.Get("t").Project(1, 0, 1).Map(dataflow.Add(dataflow.Col(0), dataflow.Col(2))).Project(3, 1).Project(1, 0, 1)
	newTable(t, plan).batch(batch{plus("a", 2)}, "('a', 4, 'a'):+1")
}

// TestDroppedBetweenProjections: memory used for a row that a filter dropped is used again.
func TestDroppedBetweenProjections(t *testing.T) {
	plan := dataflow.Get("t").Project(1, 0).Filter(dataflow.Gt(dataflow.Col(0), dataflow.Lit(dataflow.Int(0)))).Project(1, 0)
	newTable(t, plan).batch(batch{plus("a", 0), plus("b", 1), plus("c", 0), plus("d", 2)}, "('b', 1):+1", "('d', 2):+1")
}

func TestOrDefault(t *testing.T) {
	plan := dataflow.Get("t").Reduce(nil, dataflow.CountAll(), dataflow.Sum(dataflow.Col(1))).
		OrDefault(dataflow.Lit(dataflow.Int(0)), dataflow.NullOf(dataflow.KindInt64))
	tb := newTable(t, plan)
	tb.batch(nil, "(0, NULL):+1")
	tb.batch(batch{plus("a", 4)}, "(0, NULL):-1", "(1, 4):+1")
	tb.batch(batch{minus("a", 4)}, "(1, 4):-1", "(0, NULL):+1")
}

// TestOverflowIsNoEmptyInput: where an aggregate of all rows is an error, its defaults don't stand.
func TestOverflowIsNoEmptyInput(t *testing.T) {
	plan := dataflow.Get("t").Reduce(nil, dataflow.Sum(dataflow.Col(1)), dataflow.CountAll()).
		OrDefault(dataflow.NullOf(dataflow.KindInt64), dataflow.Lit(dataflow.Int(0)))
	tb := newTable(t, plan)
	tb.batch(nil, "(NULL, 0):+1")
	tb.batch(batch{plus("a", math.MaxInt64), plus("a", 1)}, "(NULL, 0):-1", "out of range in sum(v):+1")
	tb.batch(batch{minus("a", 1)}, "out of range in sum(v):-1", "(9223372036854775807, 1):+1")
	tb.batch(batch{minus("a", math.MaxInt64)}, "(9223372036854775807, 1):-1", "(NULL, 0):+1")
	tb.batch(batch{minus("a", 4)}, "(NULL, 0):-1", "negative multiplicity in group ():+1")
	tb.batch(batch{plus("a", 4)}, "negative multiplicity in group ():-1", "(NULL, 0):+1")

	sources := dataflow.Catalog{"t": wide}
	_, err := dataflow.Get("t").Reduce(nil, dataflow.CountAll()).OrDefault(dataflow.Lit(dataflow.String("none"))).Schema(sources)
	require.ErrorContains(t, err, "is of kind string")
	wrong := dataflow.Get("t").Reduce([]dataflow.Expr{dataflow.Col(0)}, dataflow.CountAll())
	wrong.Default = dataflow.Pack(dataflow.String("a"), dataflow.Int(0))
	_, err = wrong.Schema(sources)
	require.ErrorContains(t, err, "without a group key")
}

// TestErrorsNameColumns: by name where there is one of that name, which a computed column takes from its expression.
func TestErrorsNameColumns(t *testing.T) {
	six, v := dataflow.Lit(dataflow.Int(6)), dataflow.Get("t").Project(1)
	for want, plan := range map[string]dataflow.Plan{
		"division by zero in (6 / v)":       v.Map(dataflow.Div(six, dataflow.Col(0))),
		"division by zero in (6 / (v + v))": v.Map(dataflow.Add(dataflow.Col(0), dataflow.Col(0))).Map(dataflow.Div(six, dataflow.Col(1))),
		"division by zero in (6 / amount)":  v.As("amount").Filter(dataflow.Eq(six, dataflow.Div(six, dataflow.Col(0)))),
		"division by zero in (6 / v#1)":     v.Join(v, dataflow.On{}).Reduce([]dataflow.Expr{dataflow.Div(six, dataflow.Col(1))}),
		"division by zero in (6 / #0)":      v.As("").Map(dataflow.Div(six, dataflow.Col(0))),
	} {
		newTable(t, plan).batch(batch{plus("a", 0)}, want+":+1")
	}
}

func TestExpiry(t *testing.T) {
	at := dataflow.Timestamp
	windows := dataflow.Get("t").
		Map(dataflow.DateBin(dataflow.Lit(dataflow.Interval(10)), dataflow.Col(3))).
		Expire(4, 60_000).
		Reduce([]dataflow.Expr{dataflow.Col(4)}, dataflow.CountAll())
	tb := newTable(t, windows)
	tb.flow.SetNow(1_000_000)
	tb.batch(batch{plus(at(940_009)), plus(at(939_999)), plus()},
		"('1970-01-01T00:15:40.000Z', 1):+1", "(NULL, 1):+1")
	require.EqualValues(t, 1, tb.flow.Dropped())
	require.Equal(t, 2, tb.flow.Size().Records)

	tb.flow.SetNow(999_000) // time does not go back
	tb.batch(batch{plus(at(939_999))})
	require.EqualValues(t, 2, tb.flow.Dropped())

	tb.flow.SetNow(1_000_001) // the window's start is too old now: it stays as it is
	tb.batch(batch{plus(at(940_009)), minus(at(940_000))})
	require.EqualValues(t, 4, tb.flow.Dropped())
	require.Equal(t, 1, tb.flow.Size().Records, "the state of the expired group is gone")
	tb.batch(batch{plus()}, "(NULL, 1):-1", "(NULL, 2):+1")
}

// TestOldGroupsThatStillChange: a group is not forgotten where rows of its old timestamp can still
// come, from another input, or because a join brings them up.
func TestOldGroupsThatStillChange(t *testing.T) {
	all, ones := dataflow.Get("t"), dataflow.Get("t").Filter(dataflow.Eq(dataflow.Col(1), dataflow.Lit(dataflow.Int(1))))
	zeros := dataflow.Get("t").Filter(dataflow.Eq(dataflow.Col(1), dataflow.Lit(dataflow.Int(0))))
	groups := func(rows dataflow.Plan, value int) dataflow.Plan {
		return rows.Reduce([]dataflow.Expr{dataflow.Col(3)}, dataflow.Max(dataflow.Col(value)))
	}
	for name, plan := range map[string]dataflow.Plan{
		"a union with what does not expire": groups(dataflow.Union(zeros.Expire(3, 0), all), 1),
		"the other way round":               groups(dataflow.Union(all, zeros.Expire(3, 0)), 1),
		"a union with what expires later":   groups(dataflow.Union(zeros.Expire(3, 0), all.Expire(3, 100)), 1),
		"a join":                            groups(zeros.Expire(3, 0).Join(ones, dataflow.On{Left: 0, Right: 0}), 5),
		"the best of all":                   groups(dataflow.Union(zeros.Expire(3, 0), all).TopK(nil, nil, 5, 0), 1),
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, plan)
			tb.flow.SetNow(3)
			require.NoError(t, tb.flow.Push("t", batch{plus("a", 0, dataflow.Timestamp(3)), plus("a", 1, dataflow.Timestamp(3))}))
			require.NoError(t, tb.flow.Advance("t", persist.At(1)))
			require.Len(t, tb.flow.Run().Updates, 1)

			tb.flow.SetNow(50)
			require.NoError(t, tb.flow.Push("t", batch{{Row: row("a", 1, dataflow.Timestamp(3)), Time: 1, Diff: 1}}))
			require.NoError(t, tb.flow.Advance("t", persist.At(2)))
			require.Empty(t, tb.flow.Run().Updates, "the group is known, and its maximum is the same")
		})
	}
}

// TestExpiredStateIsBounded: windows come and go.
func TestExpiredStateIsBounded(t *testing.T) {
	for name, plan := range map[string]dataflow.Plan{
		"reduce":    dataflow.Get("t").Expire(3, 100).Reduce([]dataflow.Expr{dataflow.Col(3)}, dataflow.Max(dataflow.Col(1))),
		"distinct":  dataflow.Get("t").Expire(3, 100).Distinct(),
		"threshold": dataflow.Get("t").Expire(3, 100).Threshold(),
		"top-k":     dataflow.Get("t").Expire(3, 100).TopK([]int{1, 3}, nil, 1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t, plan)
			most := 0
			for now := range int64(3000) {
				tb.flow.SetNow(now)
				r := row(int(now%7), dataflow.Timestamp(now))
				require.NoError(t, tb.flow.Push("t", batch{{Row: r, Time: uint64(now), Diff: 1}}))
				if now%3 == 0 { // gone before its time
					require.NoError(t, tb.flow.Push("t", batch{{Row: r, Time: uint64(now) + 1, Diff: -1}}))
				}
				require.NoError(t, tb.flow.Advance("t", persist.At(uint64(now)+1)))
				tb.flow.Run()
				most = max(most, tb.flow.Size().Bytes)
			}
			require.NotZero(t, tb.flow.Size().Records)
			require.Less(t, most, 100*600)
		})
	}
}

func TestGroupsThatComeAndGoStayBounded(t *testing.T) {
	tb := newTable(t, dataflow.Get("t").Expire(3, 100).Distinct())
	tb.batch(batch{plus(dataflow.Timestamp(7))}, fmt.Sprintf("%v:+1", row(dataflow.Timestamp(7))))
	for range 2000 {
		tb.batch(batch{plus(dataflow.Timestamp(0))}, fmt.Sprintf("%v:+1", row(dataflow.Timestamp(0))))
		tb.batch(batch{minus(dataflow.Timestamp(0))}, fmt.Sprintf("%v:-1", row(dataflow.Timestamp(0))))
	}
	require.Less(t, tb.flow.Size().Bytes, 5000)

	require.Equal(t, 1, tb.flow.Size().Records)
	tb.flow.SetNow(1000)
	tb.batch(nil)
	require.Zero(t, tb.flow.Size().Records, "what is left was not lost sight of")
}

// TestNowIsOfTheCompletion: what SetNow says after a time was completed does not concern it, even if
// it has not been worked off.
func TestNowIsOfTheCompletion(t *testing.T) {
	tb := newTable(t, dataflow.Get("t").Expire(3, 0).Project(3))
	tb.flow.SetNow(5)
	require.NoError(t, tb.flow.Push("t", batch{plus(dataflow.Timestamp(5))}))
	require.NoError(t, tb.flow.Advance("t", persist.At(1)))
	tb.flow.SetNow(6)
	tb.time = 1
	tb.batch(batch{plus(dataflow.Timestamp(5))}, "('1970-01-01T00:00:00.005Z'):+1")
}

func TestStepIsBounded(t *testing.T) {
	const rows, budget = 50_000, 100
	tb := newTable(t, dataflow.Get("t").Filter(dataflow.Ge(dataflow.Col(1), dataflow.Lit(dataflow.Int(0)))).
		Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll()))
	var snapshot batch
	for i := range rows {
		snapshot = append(snapshot, plus(i))
	}
	require.NoError(t, tb.flow.Push("t", snapshot))
	require.NoError(t, tb.flow.Advance("t", persist.At(1)))
	steps := 1
	for tb.flow.Step(budget) {
		require.Equal(t, persist.At(0), tb.flow.Frontier(), "not before all is done")
		steps++
	}
	// Read, filtered, grouped, passed on.
	require.InDelta(t, 4*rows/budget, steps, 2*rows/budget)
	require.Len(t, tb.flow.Take().Updates, rows)
}

func TestFrontiers(t *testing.T) {
	both := dataflow.Union(dataflow.Get("t"), dataflow.Get("u"))
	until := persist.At(8)
	flow, err := dataflow.New(both, dataflow.Config{Sources: dataflow.Catalog{"t": wide, "u": wide}, AsOf: 3, Until: &until})
	require.NoError(t, err)
	require.Equal(t, []dataflow.SourceID{"t", "u"}, flow.Sources())
	require.Equal(t, persist.At(3), flow.Frontier())

	at := func(time uint64) batch { return batch{{Row: row("a"), Time: time, Diff: 1}} }
	require.NoError(t, flow.Push("t", at(7)))
	require.NoError(t, flow.Push("t", at(1)))
	require.NoError(t, flow.Advance("t", persist.At(6)))
	require.False(t, flow.Pending())
	require.NoError(t, flow.Push("u", at(2)))
	require.NoError(t, flow.Push("u", at(8)), "beyond the end, dropped")
	require.NoError(t, flow.Advance("u", persist.At(3)))
	require.False(t, flow.Pending(), "3 is not complete")
	require.NoError(t, flow.Advance("u", persist.At(5)))

	out := flow.Run()
	require.Equal(t, "[3]", out.Lower.String())
	require.Equal(t, "[5]", out.Upper.String())
	require.Equal(t, batch{{Row: row("a"), Time: 3, Diff: 2}}, out.Updates)

	var input *dataflow.InputError
	require.ErrorIs(t, flow.Push("t", at(5)), dataflow.ErrBehindFrontier)
	require.ErrorIs(t, flow.PushErrors("t", []dataflow.ErrorUpdate{{Time: 5}}), dataflow.ErrBehindFrontier)
	require.ErrorIs(t, flow.Advance("t", persist.At(5)), dataflow.ErrFrontierRegressed)
	require.ErrorIs(t, flow.Push("v", nil), dataflow.ErrUnknownSource)
	require.ErrorIs(t, flow.PushErrors("v", nil), dataflow.ErrUnknownSource)
	require.ErrorIs(t, flow.Advance("v", persist.At(5)), dataflow.ErrUnknownSource)
	require.ErrorAs(t, flow.Push("t", batch{{Row: row("b"), Time: 6, Diff: 1}, {Row: dataflow.Pack(), Time: 6, Diff: 1}}), &input)
	require.ErrorContains(t, input, "dataflow: source t: dataflow: row () does not fit")

	require.NoError(t, flow.Advance("t", persist.At(8)))
	require.NoError(t, flow.Advance("u", persist.At(9)))
	out = flow.Run()
	require.True(t, out.Upper.IsEmpty())
	require.Equal(t, batch{{Row: row("a"), Time: 7, Diff: 1}}, out.Updates, "nothing of a refused batch was taken")
}

// TestSharedErrors: a plan that occurs twice is computed once, but fails twice.
func TestSharedErrors(t *testing.T) {
	failing := dataflow.Get("t").Map(dataflow.Div(dataflow.Col(1), dataflow.Col(1)))
	tb := newTable(t, dataflow.Union(failing, failing.Filter(dataflow.IsNull(dataflow.Col(0))), failing).Project())
	require.NoError(t, tb.flow.PushErrors("t", []dataflow.ErrorUpdate{
		{Err: dataflow.NewRowError(dataflow.ErrInvalidCast, "there"), Diff: 2},
	}))
	tb.batch(batch{plus("a", 0), plus("b", 1)}, "():+2", "division by zero in (v / v):+3", "invalid cast in there:+6")
}
