// Package planner turns SQL into plans of package dataflow: the SELECT of a flow with [Flow], one that is
// evaluated once with [Select].
//
//	q, err := planner.Flow(statement.Query, tables, catalog.NoExpiry)
//	graph, err := dataflow.New(q.Plan, dataflow.Config{Sources: q.Catalog()})
//
// A [Query] also says what package flow needs to keep a table equal to the result: which columns tell its
// rows apart, which is the time index, when groups expire; [Query.SinkTable] is the table that is made for
// it, [Query.FitSink] finds how its rows go into one that exists.
//
// Planned are SELECTs from one table with expressions, WHERE, GROUP BY (expressions, aliases, positions,
// tumble), aggregates, HAVING and DISTINCT. All else is refused: what is SQL and can't be done with a
// [*sql.Error] that names the construct, what makes no sense with an [*InvalidQuery]; both know the place.
// Types are those of package dataflow: all integers are of 64 bits, timestamps are in milliseconds.
//
//	rows -> filter -> keys of groups -> expiry -> groups with aggregates -> having -> columns -> distinct
package planner
