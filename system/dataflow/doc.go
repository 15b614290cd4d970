// Package dataflow turns query plans into incrementally maintained collections.
//
// A collection is a multiset of [Row] that changes over time: updates (row, time, diff). A
// [Plan] says how one collection follows from others. [New] makes a [Dataflow] of it:
//
//	flow, err := dataflow.New(plan, dataflow.Config{Sources: catalog, AsOf: 5})
//	err = flow.Push("orders", updates)                // in any order of times
//	err = flow.Advance("orders", persist.At(10))      // nothing before 10 will come any more
//	for flow.Step(1000) {                             // about 1000 rows of work at a time
//	}
//	out := flow.Take()                                // the output's updates before out.Upper
//
// The output is definite: at every time t it accumulates to what the plan says of the inputs as
// of t, whatever the batches, the budgets and the order in which sources advance. An
// [Arrangement] keeps an output for reading as of any time in [since, upper).
//
// A plan that is to run on several workers is cut into stages by [Partition]; [Router] and [Gather] take what one
// stage puts out to the next.
//
// Nothing here does I/O, knows a clock or starts a task, and a value of these types is for one
// task at a time.
//
// # How it works
//
// Times are totally ordered, so the operators hold the state of one time only. A time is
// complete when all sources have advanced beyond it. Complete times are worked off in order,
// each in two phases: the time's updates are pushed through the graph, where linear operators
// and joins pass their changes on at once, while operators on groups (reduce, top-k, threshold)
// note which groups were touched; then these operators, inputs first, compare each
// touched group's result with what they last said of it, and pass on the difference.
//
// # Values
//
// A [Datum] is NULL, a bool, int64, float64, timestamp, interval or string. A [Row] is the
// encoding of its data, which sorts as the data do. Int64, timestamps and intervals never wrap:
// overflow is an error. Floats follow IEEE 754, except that -0 is 0, and that there is one NaN,
// which equals itself and is greater than all else. Sums of floats are exact and rounded once,
// so that they don't depend on the order of additions, nor on values that were added and
// retracted.
//
// # Errors
//
// An expression that fails on a row takes that row away and puts a [RowError] into the output's
// second collection, where it has multiplicities and is retracted with its row. All operators
// pass their inputs' errors on as they are; [OpNegate] too.
//
// The model is that of differential dataflow and Materialize, from their public documentation.
package dataflow
