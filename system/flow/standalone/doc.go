// Package standalone runs a frontend and a flow node in one process, over stores of its choice: the
// smallest system that executes SQL.
//
//	s, err := standalone.Start(h, client, flow.Config{})
//	results, err := s.Execute(ctx, "CREATE FLOW totals SINK TO out AS SELECT k, sum(v) FROM t GROUP BY k")
package standalone
