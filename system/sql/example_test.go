package sql_test

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/sql"
)

func Example() {
	statements, err := sql.Parse(`
		CREATE TABLE requests (host STRING PRIMARY KEY, ms DOUBLE, ts TIMESTAMP TIME INDEX);
		CREATE FLOW slow SINK TO slow_requests EXPIRE AFTER '1 day'::INTERVAL AS
			SELECT host, count(*) AS n, date_bin(INTERVAL '1 minute', ts) AS minute
			FROM requests WHERE ms > 1e3 GROUP BY host, minute`)
	if err != nil {
		fmt.Println(err)
		return
	}
	flow := statements[1].(*sql.CreateFlow)
	fmt.Println(flow.Name, flow.Sink, flow.ExpireAfter.Seconds)
	fmt.Println(flow.Query.(*sql.Select).Where)
	// Output:
	// slow slow_requests 86400
	// ms > 1000.0
}

func ExampleError_Caret() {
	const text = "SELECT host, sum(bytes) FROM requests GROUP host"
	_, err := sql.Parse(text)
	var e *sql.Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Caret(text))
	}
	// Output:
	// sql: syntax error at 1:45: expected BY, found "host"
	// SELECT host, sum(bytes) FROM requests GROUP host
	//                                             ^
}

func ExampleUnsupported() {
	s, _ := sql.ParseStatement("SELECT a, sum(b) AS total FROM t JOIN u ON t.id = u.id")
	for _, table := range s.(*sql.Select).From {
		if join, ok := table.(*sql.Join); ok {
			fmt.Println(sql.Unsupported(join))
		}
	}
	// Output: sql: JOIN is not supported at 1:34
}
