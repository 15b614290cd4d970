package planner_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/sql"
)

func Example() {
	requests := &catalog.Table{ID: 1, Name: catalog.Public("requests"), TimeIndex: 2, AppendMode: true, Columns: []catalog.Column{
		{Name: "host", Kind: dataflow.KindString, Nullable: true},
		{Name: "ms", Kind: dataflow.KindInt64, Nullable: true},
		{Name: "ts", Kind: dataflow.KindTimestamp},
	}}
	tables := func(name catalog.Name) (*catalog.Table, error) {
		if name != requests.Name {
			return nil, &catalog.NotFoundError{What: "table", Name: name}
		}
		return requests, nil
	}
	for _, text := range []string{
		"SELECT host, date_bin('1 minute', ts) AS minute, max(ms) AS worst FROM requests GROUP BY host, minute",
		"SELECT r.host FROM requests r JOIN hosts h ON r.host = h.name",
	} {
		s, _ := sql.ParseStatement(text)
		q, err := planner.Flow(s.(sql.Query), tables, 3600)
		if err != nil {
			fmt.Println(err)
			continue
		}
		sink, _ := q.SinkTable(catalog.Public("worst"))
		fmt.Print(q.Plan, sink.String(), "\n")
	}
	// Output:
	// Project [3 4 5] as (host, minute, worst)
	//   Map #0, #1, #2
	//     Reduce by [#3, #4] [max(#1)]
	//       Expire [4] after INTERVAL '3600000 ms'
	//         Map #0, date_bin(INTERVAL '60000 ms', #2)
	//           Get table-1
	// CREATE TABLE worst (host STRING, minute TIMESTAMP NOT NULL TIME INDEX, worst INT64, update_at TIMESTAMP, PRIMARY KEY (host))
	// sql: JOIN is not supported at 1:31
}
