package scenarios

import (
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

// The tables that flows read.
const (
	eventsTable = "events"
	stateTable  = "state"
)

var flowTables = map[string]struct {
	create string
	schema dataflow.Schema
}{
	eventsTable: {
		"CREATE TABLE IF NOT EXISTS events (id BIGINT NOT NULL, k STRING, v BIGINT DEFAULT 7, ts TIMESTAMP TIME INDEX) WITH (append_mode = true)",
		dataflow.NewSchema(
			dataflow.Column{Name: "id", Type: dataflow.Type(dataflow.KindInt64)},
			dataflow.Column{Name: "k", Type: dataflow.Type(dataflow.KindString).OrNull()},
			dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
			dataflow.Column{Name: "ts", Type: dataflow.Type(dataflow.KindTimestamp), TimeIndex: true}),
	},
	stateTable: {
		"CREATE TABLE IF NOT EXISTS state (k STRING, ts TIMESTAMP TIME INDEX, v BIGINT, id BIGINT, PRIMARY KEY (k))",
		dataflow.NewSchema(
			dataflow.Column{Name: "k", Type: dataflow.Type(dataflow.KindString).OrNull()},
			dataflow.Column{Name: "ts", Type: dataflow.Type(dataflow.KindTimestamp), TimeIndex: true},
			dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64).OrNull()},
			dataflow.Column{Name: "id", Type: dataflow.Type(dataflow.KindInt64).OrNull()}),
	},
}

// lonelyTable is a table that no flow reads, so that its source is nowhere.
const (
	lonelyTable  = "lonely"
	createLonely = "CREATE TABLE IF NOT EXISTS lonely (id BIGINT NOT NULL, k STRING, v BIGINT)"
)

// sharedSink is the sink of two flows, which have a row each.
const (
	sharedSink   = "shared"
	createShared = "CREATE TABLE IF NOT EXISTS shared (src STRING, n BIGINT, update_at TIMESTAMP, PRIMARY KEY (src))"
)

// flowTemplate is a query of which flows are made, for rows with v above a number. Beside the SQL stands
// the plan that it means, made by hand: what is wrong with the planner is not wrong with it too.
type flowTemplate struct {
	name    string
	table   string
	sql     string // with %d for the number
	plan    func(rows dataflow.Plan) dataflow.Plan
	columns []string
	key     []int // of columns
	count   int   // the column that counts rows, or -1
	expires bool  // by column 0
	// made is the statement that makes the sink, with %s for its name; "" if it is left to the system.
	made string
	// src is what the first column of the flow's rows is in the sink that it shares with others; "" if it
	// has one for itself.
	src string
}

// expireAfterMS is the time after which rows of flows that expire do so, and expireSlackMS how much the clock
// of a node may be off at worst, with faults of the clock upon each other.
const (
	expireAfterMS = 90_000
	expireSlackMS = 45_000
)

func col(i int) dataflow.Expr { return dataflow.Col(i) }

func span(ms int64) dataflow.Expr { return dataflow.Lit(dataflow.Interval(ms)) }

func number(n int64) dataflow.Expr { return dataflow.Lit(dataflow.Int(n)) }

// The columns of events are id 0, k 1, v 2, ts 3; those of state k 0, ts 1, v 2, id 3.
var flowTemplates = []flowTemplate{
	{
		name: "sums", table: eventsTable, columns: []string{"k", "n", "s"}, key: []int{0}, count: 1,
		sql: "SELECT k, count(*) AS n, sum(v) AS s FROM events WHERE v > %d GROUP BY k",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce([]dataflow.Expr{col(1)}, dataflow.CountAll(), dataflow.Sum(col(2)))
		},
	},
	{
		name: "extremes", table: eventsTable, columns: []string{"k", "lo", "hi", "a"}, key: []int{0}, count: -1,
		sql: "SELECT k, min(v) AS lo, max(v) AS hi, avg(v) AS a FROM events WHERE v > %d GROUP BY k",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce([]dataflow.Expr{col(1)}, dataflow.Min(col(2)), dataflow.Max(col(2)), dataflow.Avg(col(2)))
		},
	},
	{
		name: "total", table: eventsTable, columns: []string{"n", "d"}, key: []int{}, count: 0,
		sql: "SELECT count(*) AS n, count(DISTINCT v) AS d FROM events WHERE v > %d",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce(nil, dataflow.CountAll(), dataflow.Count(col(2)).Of(true)).OrDefault(number(0), number(0))
		},
	},
	{
		// The sink's key has more columns than the query's.
		name: "counts", table: eventsTable, columns: []string{"k", "n"}, key: []int{0}, count: 1,
		sql:  "SELECT k, count(*) AS n FROM events WHERE v > %d GROUP BY k",
		made: "CREATE TABLE IF NOT EXISTS %s (k STRING, n BIGINT, PRIMARY KEY (k, n))",
		plan: func(p dataflow.Plan) dataflow.Plan { return p.Reduce([]dataflow.Expr{col(1)}, dataflow.CountAll()) },
	},
	{
		name: "frequent", table: eventsTable, columns: []string{"k", "n"}, key: []int{0}, count: 1,
		sql: "SELECT k, count(*) AS n FROM events WHERE v > %d GROUP BY k HAVING count(*) > 6",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce([]dataflow.Expr{col(1)}, dataflow.CountAll()).Filter(dataflow.Gt(col(1), number(6)))
		},
	},
	{
		// Rows that can't be evaluated are told of and left out.
		name: "quotients", table: eventsTable, columns: []string{"id", "q"}, key: []int{0, 1}, count: -1,
		sql: "SELECT id, 60 / v AS q FROM events WHERE v > %d",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Map(dataflow.Div(number(60), col(2))).Project(0, 4)
		},
	},
	{
		name: "halves", table: eventsTable, columns: []string{"k", "h"}, key: []int{0}, count: -1,
		sql: "SELECT k, sum(v * 0.5) AS h FROM events WHERE v > %d GROUP BY k",
		plan: func(p dataflow.Plan) dataflow.Plan {
			half := dataflow.Mul(dataflow.Cast(col(2), dataflow.KindFloat64), dataflow.Lit(dataflow.Float(0.5)))
			return p.Map(half).Reduce([]dataflow.Expr{col(1)}, dataflow.Sum(col(4)))
		},
	},
	{
		name: "recent", table: eventsTable, columns: []string{"w", "k", "n"}, key: []int{0, 1}, count: 2, expires: true,
		sql: "SELECT date_bin('4 seconds', ts) AS w, k, count(*) AS n FROM events WHERE v > %d GROUP BY w, k",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce([]dataflow.Expr{dataflow.DateBin(span(4000), col(3)), col(1)}, dataflow.CountAll())
		},
	},
	{
		name: "windows", table: eventsTable, columns: []string{"s", "window_start", "window_end"}, key: []int{1, 2}, count: -1,
		sql: "SELECT sum(v) AS s FROM events WHERE v > %d GROUP BY tumble(ts, '5 seconds')",
		plan: func(p dataflow.Plan) dataflow.Plan {
			start := dataflow.DateBin(span(5000), col(3))
			return p.Reduce([]dataflow.Expr{start, dataflow.Add(start, span(5000))}, dataflow.Sum(col(2))).Project(2, 0, 1)
		},
	},
	{
		name: "thirds", table: eventsTable, columns: []string{"id", "k", "x"}, key: []int{0, 1, 2}, count: -1,
		sql: "SELECT id, k, v * 2 + 1 AS x FROM events WHERE v > %d AND (v %% 3 = 0 OR k IS NULL)",
		plan: func(p dataflow.Plan) dataflow.Plan {
			third := dataflow.Eq(dataflow.Mod(col(2), number(3)), number(0))
			return p.Filter(dataflow.Or(third, dataflow.IsNull(col(1)))).
				Map(dataflow.Add(dataflow.Mul(col(2), number(2)), number(1))).Project(0, 1, 4)
		},
	},
	{
		name: "levels", table: stateTable, columns: []string{"v", "n", "m"}, key: []int{0}, count: 1,
		sql: "SELECT v, count(*) AS n, max(id) AS m FROM state WHERE v > %d GROUP BY v",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce([]dataflow.Expr{col(2)}, dataflow.CountAll(), dataflow.Max(col(3)))
		},
	},
	{
		name: "values", table: stateTable, columns: []string{"v"}, key: []int{0}, count: -1,
		sql:  "SELECT DISTINCT v FROM state WHERE v > %d",
		plan: func(p dataflow.Plan) dataflow.Plan { return p.Project(2).Distinct() },
	},
	{
		name: "copies", table: stateTable, columns: []string{"k", "v", "ts"}, key: []int{0, 2}, count: -1,
		sql:  "SELECT k, v, ts FROM state WHERE v > %d",
		plan: func(p dataflow.Plan) dataflow.Plan { return p.Project(0, 2, 1) },
	},
}

// sharedTemplates are those of the flows that share a sink: without groups, since rows of groups that went
// while a node was down stay in a sink that is shared.
var sharedTemplates = []flowTemplate{sharing(eventsTable), sharing(stateTable)}

func sharing(table string) flowTemplate {
	return flowTemplate{
		name: "shared", table: table, src: table, columns: []string{"src", "n"}, key: []int{0}, count: 1,
		sql: "SELECT '" + table + "' AS src, count(*) AS n FROM " + table + " WHERE v > %d",
		plan: func(p dataflow.Plan) dataflow.Plan {
			return p.Reduce(nil, dataflow.CountAll()).OrDefault(number(0)).Map(dataflow.Lit(dataflow.String(table))).Project(1, 0)
		},
	}
}

// definition is a flow as it is defined at some time.
type definition struct {
	*flowTemplate
	above int64
	sink  string
	query *models.FlowQuery
}

func (d *definition) text() string { return fmt.Sprintf(d.sql, d.above) }

// create is the statement that makes the flow; how is "CREATE FLOW" or the like.
func (d *definition) create(how, name string) string {
	expire := ""
	if d.expires {
		expire = fmt.Sprintf(" EXPIRE AFTER '%d seconds'", expireAfterMS/1000)
	}
	return fmt.Sprintf("%s %s SINK TO %s%s AS %s", how, name, d.sink, expire, d.text())
}

// read is the statement that reads the sink.
func (d *definition) read() string {
	text := fmt.Sprintf("SELECT %s FROM %s", strings.Join(d.columns, ", "), d.sink)
	if d.src != "" {
		text += " WHERE src = '" + d.src + "'"
	}
	return text
}

// define makes a definition; group is nil unless the flow expires.
func define(t *flowTemplate, name string, above int64, group func(key string) models.FlowGroup) *definition {
	d := &definition{flowTemplate: t, above: above, sink: "out_" + name + "_" + t.name}
	if t.src != "" {
		d.sink = sharedSink
	}
	source := dataflow.SourceID(t.table)
	v := 2 // in both tables
	plan := t.plan(dataflow.Get(source).Filter(dataflow.Gt(col(v), number(above))))
	schemas := dataflow.Catalog{source: flowTables[t.table].schema}
	d.query = &models.FlowQuery{
		Flow: name + " (" + d.text() + ")", Source: t.table,
		Eval: func(contents []models.Row) []string {
			in := naive.Inputs{Catalog: schemas, Updates: map[dataflow.SourceID][]dataflow.Update{source: nil}}
			for _, r := range contents {
				in.Updates[source] = append(in.Updates[source], dataflow.Update{Row: dataflow.Row(r.Data), Diff: r.Diff})
			}
			out, err := naive.Evaluate(plan, in, 0)
			if err != nil {
				panic(err) // the templates make sense
			}
			rows := make([]string, len(out.Rows))
			for i, r := range out.Rows {
				rows[i] = string(r.Row)
			}
			return rows
		},
		Key: func(row string) string { return pickColumns(row, t.key) },
	}
	if t.expires {
		d.query.Group = group
	}
	if t.count >= 0 {
		d.query.Count = func(row string) (int64, bool) {
			data, err := dataflow.Row(row).Unpack()
			if err != nil || len(data) <= t.count {
				return 0, false
			}
			return data[t.count].Int(), true
		}
	}
	return d
}

// pickColumns is a row of some of a row's columns; a row that is none is its own key.
func pickColumns(row string, columns []int) string {
	data, err := dataflow.Row(row).Unpack()
	if err != nil {
		return row
	}
	picked := make([]dataflow.Datum, len(columns))
	for i, c := range columns {
		if c >= len(data) {
			return row
		}
		picked[i] = data[c]
	}
	return string(dataflow.Pack(picked...))
}
