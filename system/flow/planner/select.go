package planner

import (
	"errors"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/sql"
)

// building is a query being planned.
type building struct {
	options
	query *Query
	base  scope
	group *grouping // nil: rows are not grouped
	over  *scope    // of the SELECT list: base, or that over groups

	items    []item
	distinct bool
	having   *typed
}

// item is a column of the result.
type item struct {
	typed
	at   sql.Node
	name string
	key  int // the group key that it is, or -1
}

func plan(q sql.Query, tables Tables, o options) (*Query, error) {
	s, ok := q.(*sql.Select)
	if !ok {
		return nil, sql.Unsupported(q)
	}
	table, base, err := from(s, tables, o)
	if err != nil {
		return nil, err
	}
	b := &building{options: o, query: &Query{Table: table, TimeIndex: catalog.NoColumn}, base: base, distinct: s.Distinct}
	if table != nil {
		b.query.Plan = dataflow.Get(Source(table.ID))
	} else {
		b.query.Plan = dataflow.Constant(nil, dataflow.RowCount{Count: 1})
	}
	for _, step := range []func(*sql.Select) error{b.where, b.groupBy, b.list, b.filterGroups, b.tail} {
		if err := step(s); err != nil {
			return nil, err
		}
	}
	b.assemble()
	if o.flow {
		if err := b.identify(s); err != nil {
			return nil, err
		}
	}
	return b.query, b.finish(s)
}

func (b *building) where(s *sql.Select) error {
	if s.Where == nil {
		return nil
	}
	t, err := b.base.predicate(s.Where)
	if err == nil {
		b.query.Plan = b.query.Plan.Filter(t.Expr)
	}
	return err
}

// groupBy finds what rows are grouped by.
func (b *building) groupBy(s *sql.Select) error {
	grouped := s.GroupBy != nil || s.Having != nil
	for _, it := range s.Items {
		if _, star := it.Expr.(*sql.Star); !star && hasAggregate(it.Expr) {
			grouped = true
		}
	}
	b.over = &b.base
	if !grouped {
		return nil
	}
	b.group = &grouping{base: &b.base}
	for _, e := range s.GroupBy {
		if err := b.groupKey(s, e); err != nil {
			return err
		}
	}
	b.over = b.group.scope()
	return nil
}

func (b *building) groupKey(s *sql.Select, e sql.Expr) error {
	at := e
	e, name, err := b.named(s, e)
	if err != nil {
		return err
	}
	if hasAggregate(e) {
		return invalid(at, "an aggregate can't be grouped by")
	}
	add := func(t typed, name string, call *sql.Call) {
		if !slices.ContainsFunc(b.group.keys, func(k groupKey) bool { return k.Equal(t.Expr) }) {
			b.group.keys = append(b.group.keys, groupKey{typed: t, at: at, name: name, call: call})
		}
	}
	if call, ok := e.(*sql.Call); ok && call.Name == "tumble" {
		start, end, err := b.base.tumble(call)
		if err != nil {
			return err
		}
		add(start, "window_start", call)
		add(end, "window_end", call)
		return nil
	}
	t, err := b.base.value(e)
	if err == nil {
		add(t, name, nil)
	}
	return err
}

// named is the expression that a name or a number in GROUP BY stands for: a column of the table, or
// else an item of the SELECT list.
func (b *building) named(s *sql.Select, e sql.Expr) (sql.Expr, string, error) {
	switch e := e.(type) {
	case *sql.IntLit:
		if e.Value < 1 || e.Value > int64(len(s.Items)) {
			return e, "", invalid(e, "the SELECT list has %d items, and no item %d", len(s.Items), e.Value)
		}
		it := s.Items[e.Value-1]
		return it.Expr, itemName(&it), nil
	case *sql.Column:
		if len(e.Table) > 0 || slices.ContainsFunc(b.base.columns, func(c dataflow.Column) bool { return c.Name == e.Name }) {
			return e, e.Name, nil
		}
		for i := range s.Items {
			if it := &s.Items[i]; it.Alias != nil && it.Alias.Name == e.Name {
				return it.Expr, e.Name, nil
			}
		}
	}
	return e, e.String(), nil
}

func itemName(it *sql.SelectItem) string {
	if it.Alias != nil {
		return it.Alias.Name
	}
	if c, ok := it.Expr.(*sql.Column); ok {
		return c.Name
	}
	return it.Expr.String()
}

// list plans the SELECT list.
func (b *building) list(s *sql.Select) error {
	for i := range s.Items {
		it := &s.Items[i]
		var err error
		switch e := it.Expr.(type) {
		case *sql.Star:
			err = b.star(e)
		case *sql.Call:
			if e.Name == "tumble" && b.group != nil {
				err = b.tumbleItem(it, e)
				break
			}
			err = b.item(it)
		default:
			err = b.item(it)
		}
		if err != nil {
			return err
		}
	}
	if b.group != nil {
		b.tumbles()
	}
	for i := range b.items {
		if slices.ContainsFunc(b.items[:i], func(other item) bool { return other.name == b.items[i].name }) && b.flow {
			return invalid(b.items[i].at, "two columns of the flow are called %q: give one of them another name with AS", b.items[i].name)
		}
	}
	return nil
}

func (b *building) item(it *sql.SelectItem) error {
	t, err := b.over.value(it.Expr)
	if err != nil {
		return err
	}
	b.add(t, it, itemName(it))
	return nil
}

func (b *building) add(t typed, at sql.Node, name string) {
	key := -1
	if b.group != nil && t.Func == dataflow.FuncColumn && t.Column < len(b.group.keys) {
		key = t.Column
	}
	b.items = append(b.items, item{t, at, name, key})
}

func (b *building) star(e *sql.Star) error {
	switch {
	case b.group != nil:
		return invalid(e, "* can't stand beside GROUP BY or aggregates: name the columns")
	case b.query.Table == nil:
		return invalid(e, "* without FROM")
	}
	if err := b.base.qualifier(e, e.Table); err != nil {
		return err
	}
	for i, c := range b.base.columns {
		b.add(typed{dataflow.Col(i), c.Type}, e, c.Name)
	}
	return nil
}

// tumbleItem plans a tumble in the SELECT list: both ends of the window.
func (b *building) tumbleItem(it *sql.SelectItem, call *sql.Call) error {
	start, end, err := b.base.tumble(call)
	if err != nil {
		return err
	}
	found := false
	for i, k := range b.group.keys {
		if k.call != nil && (k.Equal(start.Expr) || k.Equal(end.Expr)) {
			b.add(typed{dataflow.Col(i), k.ColumnType}, it, k.name)
			found = true
		}
	}
	if !found {
		return invalid(it, "the tumble is not grouped by: add it to GROUP BY")
	}
	return nil
}

// tumbles adds the ends of windows that are grouped by and not in the SELECT list.
func (b *building) tumbles() {
	for i, k := range b.group.keys {
		if k.call != nil && !slices.ContainsFunc(b.items, func(it item) bool { return it.key == i }) {
			b.add(typed{dataflow.Col(i), k.ColumnType}, k.at, k.name)
		}
	}
}

func (b *building) filterGroups(s *sql.Select) error {
	if s.Having == nil {
		return nil
	}
	t, err := b.over.predicate(s.Having)
	b.having = &t
	return err
}

// tail plans ORDER BY, LIMIT and OFFSET, which flows can't have.
func (b *building) tail(s *sql.Select) error {
	if !b.flow {
		return b.order(s)
	}
	switch {
	case len(s.OrderBy) > 0:
		return sql.Unsupported(&s.OrderBy[0])
	case s.Limit != nil:
		return sql.UnsupportedAt(s.Limit.Position(), "LIMIT")
	case s.Offset != nil:
		return sql.UnsupportedAt(s.Offset.Position(), "OFFSET")
	}
	return nil
}

func (b *building) order(s *sql.Select) error {
	for i := range s.OrderBy {
		o := &s.OrderBy[i]
		column, err := b.ordered(s, o)
		if err != nil {
			return err
		}
		nullsLast := !o.Desc // as PostgreSQL has it
		if o.Nulls != sql.NullsUnspecified {
			nullsLast = o.Nulls == sql.NullsLast
		}
		b.query.Order = append(b.query.Order, dataflow.Order{Column: column, Desc: o.Desc, NullsLast: nullsLast})
	}
	return nil
}

// ordered finds the column of the result that an ORDER BY names.
func (b *building) ordered(s *sql.Select, o *sql.OrderItem) (int, error) {
	if n, ok := o.Expr.(*sql.IntLit); ok {
		if n.Value < 1 || n.Value > int64(len(b.items)) {
			return 0, invalid(n, "the SELECT list has %d items, and no item %d", len(b.items), n.Value)
		}
		return int(n.Value) - 1, nil
	}
	if c, ok := o.Expr.(*sql.Column); ok && len(c.Table) == 0 {
		if i := slices.IndexFunc(b.items, func(it item) bool { return it.name == c.Name }); i >= 0 {
			return i, nil
		}
	}
	t, err := b.over.value(o.Expr)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(b.items, func(it item) bool { return it.Equal(t.Expr) })
	if i < 0 {
		return 0, sql.UnsupportedAt(o.Position(), "ORDER BY of what is not in the SELECT list")
	}
	return i, nil
}

// assemble puts the plan together.
func (b *building) assemble() {
	p := b.query.Plan
	if b.group != nil {
		p = b.reduce(p)
	}
	if b.having != nil {
		p = p.Filter(b.having.Expr)
	}
	first := len(b.over.columns)
	exprs := make([]dataflow.Expr, len(b.items))
	columns := make([]int, len(b.items))
	names := make([]string, len(b.items))
	for i, it := range b.items {
		exprs[i], columns[i], names[i] = it.Expr, first+i, it.name
		b.query.Columns = append(b.query.Columns, Column{it.name, it.ColumnType})
	}
	p = p.Map(exprs...).Project(columns...).As(names...)
	if b.distinct {
		p = p.Distinct()
	}
	b.query.Plan = p
}

// reduce groups the rows. Those of groups that are over are dropped before.
func (b *building) reduce(p dataflow.Plan) dataflow.Plan {
	g, first := b.group, len(b.base.columns)
	exprs := make([]dataflow.Expr, len(g.keys))
	columns := make([]dataflow.Expr, len(g.keys))
	for i, k := range g.keys {
		exprs[i], columns[i] = k.Expr, dataflow.Col(first+i)
	}
	p = p.Map(exprs...)
	if i := b.expires(); i >= 0 {
		after := b.expireAfter * 1000
		p = p.Expire(first+i, after)
		output := slices.IndexFunc(b.items, func(it item) bool { return it.key == i })
		b.query.Window = &Window{Time: g.keys[i].Expr, After: after, Output: output}
	}
	p = p.Reduce(columns, g.aggregates...)
	if len(g.keys) == 0 {
		p = p.OrDefault(g.defaults()...)
	}
	return p
}

// expires is the group key by which groups expire, the first timestamp; -1 if they don't.
func (b *building) expires() int {
	if b.expireAfter == catalog.NoExpiry || b.group == nil {
		return -1
	}
	return slices.IndexFunc(b.group.keys, func(k groupKey) bool { return k.ColumnType.Kind == dataflow.KindTimestamp })
}

// finish checks the plan as a whole.
func (b *building) finish(s *sql.Select) error {
	if _, err := b.query.Plan.Schema(b.query.Catalog()); err != nil {
		return invalid(s, "%v", reason(err))
	}
	return nil
}

// reason is what a plan's error is about.
func reason(err error) error {
	var wrong *dataflow.TypeError
	if errors.As(err, &wrong) {
		return errors.New(wrong.Reason)
	}
	return err
}
