package naive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// Inputs are the collections that a plan reads, with their history.
type Inputs struct {
	Catalog dataflow.Catalog
	Updates map[dataflow.SourceID][]dataflow.Update
	Errors  map[dataflow.SourceID][]dataflow.ErrorUpdate
	// AsOf is the first time there is: what came earlier came then.
	AsOf uint64
	// Now is the time of day, in milliseconds, when a time was completed, which
	// [dataflow.Plan.Expire] goes by. It may be nil for plans without it.
	Now func(time uint64) int64
}

// Collection is a multiset of rows, and one of errors, both sorted.
type Collection struct {
	Rows   []dataflow.RowCount
	Errors []dataflow.ErrorCount
}

// String prints one element a line.
func (c Collection) String() string {
	var b strings.Builder
	for _, r := range c.Rows {
		fmt.Fprintln(&b, r)
	}
	for _, e := range c.Errors {
		fmt.Fprintf(&b, "%v:%+d\n", e.Err, e.Count)
	}
	return b.String()
}

// Accumulate is the contents as of a time of a collection with these updates.
func Accumulate(updates []dataflow.Update, errors []dataflow.ErrorUpdate, at uint64) Collection {
	var c contents
	for _, u := range updates {
		if u.Time <= at {
			c.add(u.Row, u.Diff)
		}
	}
	for _, u := range errors {
		if u.Time <= at {
			c.fail(u.Err, u.Diff)
		}
	}
	return c.collection()
}

// Evaluate is the plan's output as of a time. The error says that the plan makes no sense.
func Evaluate(plan dataflow.Plan, in Inputs, at uint64) (Collection, error) {
	if _, err := plan.Schema(in.Catalog); err != nil {
		return Collection{}, err
	}
	c := in.evaluate(plan, at)
	return c.collection(), nil
}

// contents is a collection on the way: counts by row and by error.
type contents struct {
	rows map[dataflow.Row]int64
	errs map[dataflow.RowError]int64
}

func (c *contents) add(row dataflow.Row, count int64) {
	if c.rows == nil {
		c.rows = map[dataflow.Row]int64{}
	}
	if c.rows[row] += count; c.rows[row] == 0 {
		delete(c.rows, row)
	}
}

func (c *contents) fail(err dataflow.RowError, count int64) {
	if c.errs == nil {
		c.errs = map[dataflow.RowError]int64{}
	}
	if c.errs[err] += count; c.errs[err] == 0 {
		delete(c.errs, err)
	}
}

func (c *contents) collection() Collection {
	var out Collection
	for row, n := range c.rows {
		out.Rows = append(out.Rows, dataflow.RowCount{Row: row, Count: n})
	}
	for err, n := range c.errs {
		out.Errors = append(out.Errors, dataflow.ErrorCount{Err: err, Count: n})
	}
	slices.SortFunc(out.Rows, func(a, b dataflow.RowCount) int { return strings.Compare(string(a.Row), string(b.Row)) })
	slices.SortFunc(out.Errors, func(a, b dataflow.ErrorCount) int { return a.Err.Compare(b.Err) })
	return out
}

// include adds another collection, its rows factor times, its errors once.
func (c *contents) include(other contents, factor int64) {
	for _, r := range other.collection().Rows {
		c.add(r.Row, factor*r.Count)
	}
	for _, e := range other.collection().Errors {
		c.fail(e.Err, e.Count)
	}
}

// tuple is a row, decoded.
type tuple struct {
	data  []dataflow.Datum
	count int64
}

func (c *contents) tuples() []tuple {
	var tuples []tuple
	for _, r := range c.collection().Rows {
		tuples = append(tuples, tuple{unpack(r.Row), r.Count})
	}
	return tuples
}

func unpack(row dataflow.Row) []dataflow.Datum {
	data, err := row.Unpack()
	if err != nil {
		panic(err)
	}
	return data
}

// evaluate is the output of a plan that makes sense.
func (in Inputs) evaluate(p dataflow.Plan, at uint64) (out contents) {
	switch p.Op {
	case dataflow.OpGet:
		if in.AsOf > at {
			return out
		}
		for _, u := range in.Updates[p.Source] {
			if u.Time <= at {
				out.add(u.Row, u.Diff)
			}
		}
		for _, u := range in.Errors[p.Source] {
			if u.Time <= at {
				out.fail(u.Err, u.Diff)
			}
		}
		return out
	case dataflow.OpConstant:
		for _, r := range p.Rows {
			if in.AsOf <= at {
				out.add(r.Row, r.Count)
			}
		}
		return out
	case dataflow.OpExpire:
		return in.expire(p, at)
	}
	inputs := make([]contents, len(p.Inputs))
	for i, input := range p.Inputs {
		inputs[i] = in.evaluate(input, at)
	}
	switch p.Op {
	case dataflow.OpUnion:
		for _, input := range inputs {
			out.include(input, 1)
		}
		return out
	case dataflow.OpNegate:
		out.include(inputs[0], -1)
		return out
	}
	for _, input := range inputs {
		for _, e := range input.collection().Errors {
			out.fail(e.Err, e.Count)
		}
	}
	switch p.Op {
	case dataflow.OpMap:
		in.mapped(p, &out, inputs[0].tuples())
	case dataflow.OpFilter:
		in.filter(p, &out, inputs[0].tuples())
	case dataflow.OpProject:
		for _, t := range inputs[0].tuples() {
			out.add(pick(t.data, p.Columns), t.count)
		}
	case dataflow.OpReduce:
		if in.AsOf > at {
			p.Default = ""
		}
		in.reduce(p, &out, inputs[0].tuples())
	case dataflow.OpDistinct:
		for _, r := range inputs[0].collection().Rows {
			if r.Count < 0 {
				out.fail(negative(unpack(r.Row)), 1)
			} else {
				out.add(r.Row, 1)
			}
		}
	case dataflow.OpThreshold:
		for _, r := range inputs[0].collection().Rows {
			out.add(r.Row, max(0, r.Count))
		}
	case dataflow.OpJoin:
		in.join(p, &out, inputs[0].tuples(), inputs[1].tuples())
	case dataflow.OpTopK:
		topK(p, &out, inputs[0].tuples())
	default:
		panic("naive: no operator " + string(p.Op))
	}
	return out
}

// expire goes through the input's history and drops what was too old when it came.
func (in Inputs) expire(p dataflow.Plan, at uint64) (out contents) {
	var before contents
	for _, time := range in.times(at) {
		after := in.evaluate(p.Inputs[0], time)
		var change contents
		change.include(after, 1)
		change.include(before, -1)
		for _, t := range change.tuples() {
			ts := t.data[p.Columns[0]]
			if ts.IsNull() || toBig(ts).Cmp(sub(bigInt(in.Now(time)), bigInt(p.After))) >= 0 {
				out.add(dataflow.Pack(t.data...), t.count)
			}
		}
		before = after
	}
	for _, e := range before.collection().Errors {
		out.fail(e.Err, e.Count)
	}
	return out
}

// times are those at which anything changes, up to at.
func (in Inputs) times(at uint64) []uint64 {
	times := []uint64{in.AsOf}
	for _, updates := range in.Updates {
		for _, u := range updates {
			times = append(times, max(in.AsOf, u.Time))
		}
	}
	for _, updates := range in.Errors {
		for _, u := range updates {
			times = append(times, max(in.AsOf, u.Time))
		}
	}
	times = slices.DeleteFunc(times, func(t uint64) bool { return t > at })
	slices.Sort(times)
	return slices.Compact(times)
}

func (in Inputs) columns(p dataflow.Plan) []dataflow.Column {
	schema, err := p.Schema(in.Catalog)
	if err != nil {
		panic(err)
	}
	return slices.Clone(schema.Columns)
}

func (in Inputs) mapped(p dataflow.Plan, out *contents, tuples []tuple) {
	for _, t := range tuples {
		env := environment{columns: in.columns(p.Inputs[0]), row: slices.Clone(t.data)}
		err := (*dataflow.RowError)(nil)
		for _, e := range p.Exprs {
			var d dataflow.Datum
			if d, err = env.eval(e); err != nil {
				break
			}
			name := e.Over(env.columns)
			if e.Func == dataflow.FuncColumn {
				name = env.columns[e.Column].Name
			}
			env.columns = append(env.columns, dataflow.Column{Name: name, Type: dataflow.Type(env.kind(e))})
			env.row = append(env.row, d)
		}
		if err != nil {
			out.fail(*err, t.count)
		} else {
			out.add(dataflow.Pack(env.row...), t.count)
		}
	}
}

func (in Inputs) filter(p dataflow.Plan, out *contents, tuples []tuple) {
	for _, t := range tuples {
		env := environment{columns: in.columns(p.Inputs[0]), row: t.data}
		rejected, failed := false, (*dataflow.RowError)(nil)
		for _, e := range p.Exprs {
			d, err := env.eval(e)
			rejected = rejected || d != dataflow.Bool(true)
			if failed == nil {
				failed = err
			}
		}
		switch {
		case isFalse(env, p.Exprs):
		case failed != nil:
			out.fail(*failed, t.count)
		case !rejected:
			out.add(dataflow.Pack(t.data...), t.count)
		}
	}
}

// isFalse tells whether any predicate is false, which decides whatever the others are.
func isFalse(env environment, predicates []dataflow.Expr) bool {
	return slices.ContainsFunc(predicates, func(e dataflow.Expr) bool {
		d, err := env.eval(e)
		return err == nil && d == dataflow.Bool(false)
	})
}

func pick(data []dataflow.Datum, columns []int) dataflow.Row {
	var picked []dataflow.Datum
	for _, c := range columns {
		picked = append(picked, data[c])
	}
	return dataflow.Pack(picked...)
}

func negative(key []dataflow.Datum) dataflow.RowError {
	return dataflow.NewRowError(dataflow.ErrNegativeMultiplicity, "group "+dataflow.Pack(key...).String())
}

func (in Inputs) join(p dataflow.Plan, out *contents, left, right []tuple) {
	nulls := make([]dataflow.Datum, len(in.columns(p.Inputs[1])))
	for _, l := range left {
		matched := false
		for _, r := range right {
			equal := true
			for _, on := range p.On {
				a, b := l.data[on.Left], r.data[on.Right]
				equal = equal && !a.IsNull() && !b.IsNull() && a.Compare(b) == 0
			}
			if equal {
				matched = true
				out.add(dataflow.Pack(slices.Concat(l.data, r.data)...), l.count*r.count)
			}
		}
		if p.Outer && !matched {
			out.add(dataflow.Pack(slices.Concat(l.data, nulls)...), l.count)
		}
	}
}

func topK(p dataflow.Plan, out *contents, tuples []tuple) {
	groups := map[dataflow.Row][]tuple{}
	for _, t := range tuples {
		key := pick(t.data, p.Columns)
		groups[key] = append(groups[key], t)
	}
	for key, group := range groups {
		if slices.ContainsFunc(group, func(t tuple) bool { return t.count < 0 }) {
			out.fail(negative(unpack(key)), 1)
			continue
		}
		slices.SortFunc(group, func(a, b tuple) int { return inOrder(p.Order, a.data, b.data) })
		position := int64(0)
		for _, t := range group {
			for range t.count {
				if position >= p.Offset && (p.Limit == dataflow.NoLimit || position < p.Offset+p.Limit) {
					out.add(dataflow.Pack(t.data...), 1)
				}
				position++
			}
		}
	}
}

func inOrder(order []dataflow.Order, a, b []dataflow.Datum) int {
	for _, o := range order {
		x, y := a[o.Column], b[o.Column]
		c := x.Compare(y)
		switch {
		case x.IsNull() != y.IsNull() && o.NullsLast:
			c = -c
		case !x.IsNull() && !y.IsNull() && o.Desc:
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return slices.CompareFunc(a, b, dataflow.Datum.Compare)
}
