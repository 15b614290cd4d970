package dataflowtest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// Plan is any plan over the sources that makes sense, of operators nested up to depth.
func Plan(t *rapid.T, sources dataflow.Catalog, depth int) dataflow.Plan {
	g := plans{t, sources}
	return g.plan(depth)
}

// plans generates plans.
type plans struct {
	t       *rapid.T
	sources dataflow.Catalog
}

func (g plans) columns(p dataflow.Plan) []dataflow.Column {
	s, err := p.Schema(g.sources)
	if err != nil {
		g.t.Fatalf("the generated plan makes no sense: %v\n%v", err, p)
	}
	return s.Columns
}

func (g plans) plan(depth int) dataflow.Plan {
	if depth <= 0 || rapid.IntRange(0, 5).Draw(g.t, "leaf") == 0 {
		return g.leaf()
	}
	in := g.plan(depth - 1)
	columns := g.columns(in)
	if len(columns) > 8 {
		in = g.project(in, columns)
		columns = g.columns(in)
	}
	switch rapid.SampledFrom([]dataflow.Op{
		dataflow.OpMap, dataflow.OpFilter, dataflow.OpProject, dataflow.OpReduce, dataflow.OpReduce,
		dataflow.OpDistinct, dataflow.OpUnion, dataflow.OpNegate, dataflow.OpThreshold, dataflow.OpJoin,
		dataflow.OpJoin, dataflow.OpTopK, dataflow.OpExpire,
	}).Draw(g.t, "op") {
	case dataflow.OpMap:
		return g.mapped(in, columns)
	case dataflow.OpFilter:
		return in.Filter(g.exprs(columns, 2, dataflow.KindBool)...)
	case dataflow.OpProject:
		return g.project(in, columns)
	case dataflow.OpReduce:
		return g.reduce(in, columns)
	case dataflow.OpDistinct:
		return in.Distinct()
	case dataflow.OpUnion:
		return g.union(in, columns)
	case dataflow.OpNegate:
		return in.Negate()
	case dataflow.OpThreshold:
		return in.Threshold()
	case dataflow.OpJoin:
		return g.join(in, columns, depth)
	case dataflow.OpTopK:
		return g.topK(in, columns)
	default:
		return g.expire(in, columns)
	}
}

func (g plans) leaf() dataflow.Plan {
	if rapid.IntRange(0, 9).Draw(g.t, "constant") == 0 {
		s := Schema(g.t)
		var rows []dataflow.RowCount
		for range rapid.IntRange(0, 2).Draw(g.t, "rows") {
			rows = append(rows, dataflow.RowCount{Row: Row(g.t, s), Count: rapid.Int64Range(-1, 2).Draw(g.t, "count")})
		}
		return dataflow.Constant(s.Columns, rows...)
	}
	var ids []dataflow.SourceID
	for id := range g.sources {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	p := dataflow.Get(rapid.SampledFrom(ids).Draw(g.t, "source"))
	if rapid.IntRange(0, 2).Draw(g.t, "expiring source") == 0 {
		p = g.expire(p, g.columns(p))
	}
	return p
}

// exprs are up to n expressions of the kind, or of any kind each.
func (g plans) exprs(columns []dataflow.Column, n int, kind dataflow.Kind) []dataflow.Expr {
	var exprs []dataflow.Expr
	for range rapid.IntRange(0, n).Draw(g.t, "exprs") {
		k := kind
		if k == dataflow.KindNull {
			k = Kind(g.t)
		}
		exprs = append(exprs, Expr(g.t, columns, k, 2))
	}
	return exprs
}

func (g plans) mapped(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	return in.Map(g.exprs(columns, 2, dataflow.KindNull)...)
}

// some are positions of columns, up to n.
func (g plans) some(columns []dataflow.Column, n int) []int {
	if len(columns) == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.IntRange(0, len(columns)-1), 0, n).Draw(g.t, "columns")
}

func (g plans) project(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	return in.Project(g.some(columns, 4)...)
}

func (g plans) reduce(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	var key []dataflow.Expr
	for _, c := range g.some(columns, 2) {
		key = append(key, dataflow.Col(c))
	}
	if rapid.IntRange(0, 2).Draw(g.t, "expression in key") == 0 {
		key = append(key, Expr(g.t, columns, Kind(g.t), 1))
	}
	var aggregates []dataflow.Aggregate
	for range rapid.IntRange(0, 3).Draw(g.t, "aggregates") {
		aggregates = append(aggregates, g.aggregate(columns))
	}
	p := in.Reduce(key, aggregates...)
	if len(key) == 0 && rapid.Bool().Draw(g.t, "default") {
		p = p.OrDefault(g.defaults(p)...)
	}
	return p
}

// defaults are a literal for each of the plan's columns.
func (g plans) defaults(p dataflow.Plan) []dataflow.Expr {
	var literals []dataflow.Expr
	for _, c := range g.columns(p) {
		d := Datum(g.t, c.Type.OrNull())
		literal := dataflow.Lit(d)
		if d.IsNull() {
			literal = dataflow.NullOf(c.Type.Kind)
		}
		literals = append(literals, literal)
	}
	return literals
}

func (g plans) aggregate(columns []dataflow.Column) dataflow.Aggregate {
	f := rapid.SampledFrom([]dataflow.AggregateFunc{
		dataflow.AggCountAll, dataflow.AggSum, dataflow.AggMin, dataflow.AggMax, dataflow.AggCount,
		dataflow.AggAvg, dataflow.AggAny, dataflow.AggAll,
	}).Draw(g.t, "aggregate")
	kind := dataflow.KindBool
	switch f {
	case dataflow.AggCountAll:
		return dataflow.CountAll()
	case dataflow.AggSum:
		kind = rapid.SampledFrom([]dataflow.Kind{dataflow.KindInt64, dataflow.KindFloat64, dataflow.KindInterval}).Draw(g.t, "kind")
	case dataflow.AggAvg:
		kind = rapid.SampledFrom([]dataflow.Kind{dataflow.KindInt64, dataflow.KindFloat64}).Draw(g.t, "kind")
	case dataflow.AggCount, dataflow.AggMin, dataflow.AggMax:
		kind = Kind(g.t)
	}
	return dataflow.Aggregate{Func: f, Arg: Expr(g.t, columns, kind, 1)}.Of(rapid.IntRange(0, 3).Draw(g.t, "distinct") == 0)
}

// union adds the plan's own rows, changed: those of another plan would rarely have the columns.
func (g plans) union(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	other := in
	switch rapid.IntRange(0, 3).Draw(g.t, "other") {
	case 0:
		other = in.Negate()
	case 1:
		other = in.Filter(Expr(g.t, columns, dataflow.KindBool, 2)).Negate()
	case 2:
		other = in.Distinct().Negate()
	}
	return dataflow.Union(in, other)
}

func (g plans) join(in dataflow.Plan, columns []dataflow.Column, depth int) dataflow.Plan {
	right := in
	if rapid.IntRange(0, 3).Draw(g.t, "self join") > 0 {
		right = g.plan(depth - 2)
	}
	others := g.columns(right)
	var pairs []dataflow.On
	for i, c := range columns {
		for j, d := range others {
			if c.Type.Kind == d.Type.Kind {
				pairs = append(pairs, dataflow.On{Left: i, Right: j})
			}
		}
	}
	var on []dataflow.On
	if len(pairs) > 0 {
		on = rapid.SliceOfN(rapid.SampledFrom(pairs), 1, 2).Draw(g.t, "on")
	}
	if rapid.Bool().Draw(g.t, "outer") {
		return in.LeftJoin(right, on...)
	}
	return in.Join(right, on...)
}

func (g plans) topK(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	var order []dataflow.Order
	for _, c := range g.some(columns, 2) {
		order = append(order, dataflow.Order{
			Column: c, Desc: rapid.Bool().Draw(g.t, "desc"), NullsLast: rapid.Bool().Draw(g.t, "nulls last"),
		})
	}
	limit := rapid.Int64Range(dataflow.NoLimit, 3).Draw(g.t, "limit")
	return in.TopK(g.some(columns, 1), order, limit, rapid.Int64Range(0, 2).Draw(g.t, "offset"))
}

// expire is with an interval that some of the timestamps are within.
func (g plans) expire(in dataflow.Plan, columns []dataflow.Column) dataflow.Plan {
	for i, c := range columns {
		if c.Type.Kind == dataflow.KindTimestamp {
			return in.Expire(i, rapid.SampledFrom([]int64{0, 5, 20}).Draw(g.t, "after"))
		}
	}
	return in
}
