package dataflow

import (
	"errors"
	"fmt"
	"slices"
)

// relation is what is known of a plan's output.
type relation struct {
	Schema
	// expiry are columns of which no update comes once they are older than a limit.
	expiry []expiringColumn
}

// expiringColumn: no update comes for a row whose timestamp in the column is before now - after.
type expiringColumn struct {
	column int
	after  int64
}

// Schema checks the plan, and returns what its rows look like. The error is a [*PlanError].
func (p Plan) Schema(sources Catalog) (Schema, error) {
	r, err := p.relation(sources, nil)
	return r.Schema, err
}

// relation checks the plan that is at path.
func (p Plan) relation(sources Catalog, path []int) (relation, error) {
	inputs := make([]relation, len(p.Inputs))
	for i, in := range p.Inputs {
		r, err := in.relation(sources, append(slices.Clone(path), i))
		if err != nil {
			return r, err
		}
		inputs[i] = r
	}
	r, err := p.check(sources, inputs)
	if err != nil {
		return relation{}, &PlanError{Op: p.Op, Path: path, Cause: err}
	}
	return r, nil
}

// check finds the plan's relation from those of its inputs.
func (p Plan) check(sources Catalog, inputs []relation) (relation, error) {
	if want := p.Op.inputs(); want >= 0 && len(inputs) != want {
		return relation{}, fmt.Errorf("it has %d inputs, not %d", len(inputs), want)
	}
	r, err := p.rule()(sources, inputs)
	if err != nil || len(p.Names) == 0 {
		return r, err
	}
	if len(p.Names) != len(r.Columns) {
		return r, fmt.Errorf("%d names for %d columns", len(p.Names), len(r.Columns))
	}
	r.Columns = slices.Clone(r.Columns)
	for i, name := range p.Names {
		r.Columns[i].Name = name
	}
	return r, nil
}

// inputs is how many inputs an operator has; negative if any number.
func (op Op) inputs() int {
	switch op {
	case OpGet, OpConstant:
		return 0
	case OpJoin:
		return 2
	case OpUnion:
		return -1
	default:
		return 1
	}
}

// rule finds the relation of the operator's output from those of its inputs.
func (p Plan) rule() func(Catalog, []relation) (relation, error) {
	switch p.Op {
	case OpGet:
		return p.checkGet
	case OpConstant:
		return p.checkConstant
	case OpMap:
		return p.checkMap
	case OpFilter:
		return p.checkFilter
	case OpProject:
		return p.checkProject
	case OpReduce:
		return p.checkReduce
	case OpDistinct:
		return p.checkDistinct
	case OpUnion:
		return p.checkUnion
	case OpNegate, OpThreshold:
		return func(_ Catalog, in []relation) (relation, error) { return in[0], nil }
	case OpJoin:
		return p.checkJoin
	case OpTopK:
		return p.checkTopK
	case OpExpire:
		return p.checkExpire
	default:
		return func(Catalog, []relation) (relation, error) {
			return relation{}, fmt.Errorf("there is no operator %q", string(p.Op))
		}
	}
}

func (p Plan) checkGet(sources Catalog, _ []relation) (relation, error) {
	s, ok := sources[p.Source]
	if !ok {
		return relation{}, fmt.Errorf("%w %q", ErrUnknownSource, string(p.Source))
	}
	return relation{Schema: s}, nil
}

func (p Plan) checkConstant(Catalog, []relation) (relation, error) {
	s := Schema{Columns: p.Types}
	for _, c := range p.Types {
		if c.Type.Kind == KindNull || c.Type.Kind >= kinds {
			return relation{}, fmt.Errorf("column %s is of kind %v", c.Name, c.Type.Kind)
		}
	}
	for _, r := range p.Rows {
		if err := s.Check(r.Row); err != nil {
			return relation{}, err
		}
	}
	return relation{Schema: s}, nil
}

func (p Plan) checkMap(_ Catalog, in []relation) (relation, error) {
	r := in[0]
	r.Columns = slices.Clone(r.Columns)
	for _, e := range p.Exprs {
		t, err := compile(e, r.Columns)
		if err != nil {
			return r, err
		}
		r.Columns = append(r.Columns, exprColumn(e, t, r.Columns))
	}
	r.expiry = expireExprs(r.expiry, p.Exprs, len(in[0].Columns), true)
	return r, nil
}

// exprColumn is the column that an expression makes. A plain column stays what it was.
func exprColumn(e Expr, t typed, columns []Column) Column {
	c := Column{Name: e.Over(columns), Type: t.ColumnType}
	if e.Func == FuncColumn {
		c.Name, c.TimeIndex = columns[e.Column].Name, columns[e.Column].TimeIndex
	}
	return c
}

// expireExprs finds which of the expressions, that become columns from position first on, are
// plain columns that expire. If keep, the input's columns stay.
func expireExprs(expiry []expiringColumn, exprs []Expr, first int, keep bool) []expiringColumn {
	var found []expiringColumn
	if keep {
		found = slices.Clone(expiry)
	}
	for i, e := range exprs {
		for _, x := range expiry {
			if e.Func == FuncColumn && e.Column == x.column {
				found = append(found, expiringColumn{first + i, x.after})
			}
		}
	}
	return found
}

func (p Plan) checkFilter(_ Catalog, in []relation) (relation, error) {
	for _, e := range p.Exprs {
		t, err := compile(e, in[0].Columns)
		if err != nil {
			return in[0], err
		}
		if t.Kind != KindBool {
			return in[0], &TypeError{e.String(), fmt.Sprintf("a predicate of kind %v, not bool", t.Kind)}
		}
	}
	return in[0], nil
}

func (p Plan) checkProject(_ Catalog, in []relation) (relation, error) {
	var r relation
	exprs := make([]Expr, len(p.Columns))
	for i, c := range p.Columns {
		if err := in[0].has(c); err != nil {
			return r, err
		}
		exprs[i] = Col(c)
		r.Columns = append(r.Columns, in[0].Columns[c])
	}
	for _, key := range in[0].Keys {
		if k := positions(p.Columns, key); k != nil {
			r.Keys = append(r.Keys, k)
		}
	}
	r.expiry = expireExprs(in[0].expiry, exprs, 0, false)
	return r, nil
}

// positions finds where each of the columns went; nil if one is gone.
func positions(kept, columns []int) []int {
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = slices.Index(kept, c); at[i] < 0 {
			return nil
		}
	}
	return at
}

func (s Schema) has(column int) error {
	if column < 0 || column >= len(s.Columns) {
		return fmt.Errorf("there is no column %d, the input has %d", column, len(s.Columns))
	}
	return nil
}

func (p Plan) checkReduce(_ Catalog, in []relation) (relation, error) {
	var r relation
	key := []int{}
	for i, e := range p.Exprs {
		t, err := compile(e, in[0].Columns)
		if err != nil {
			return r, err
		}
		c := exprColumn(e, t, in[0].Columns)
		_, indexed := r.TimeIndex()
		c.TimeIndex = t.Kind == KindTimestamp && !indexed
		r.Columns = append(r.Columns, c)
		key = append(key, i)
	}
	for _, a := range p.Aggregates {
		_, t, err := a.compile(in[0].Columns)
		if err != nil {
			return r, err
		}
		r.Columns = append(r.Columns, Column{Name: a.Over(in[0].Columns), Type: t})
	}
	r.Keys = [][]int{key}
	r.expiry = expireExprs(in[0].expiry, p.Exprs, 0, false)
	return r, p.checkDefault(&r)
}

// checkDefault checks the row for an empty input, in which there may be NULL where else there is none.
func (p Plan) checkDefault(r *relation) error {
	if p.Default == "" {
		return nil
	}
	if len(p.Exprs) > 0 {
		return errors.New("a default is for an aggregate without a group key")
	}
	data, err := p.Default.Unpack()
	if err != nil {
		return err
	}
	for i := range min(len(data), len(r.Columns)) {
		r.Columns[i].Type.Nullable = r.Columns[i].Type.Nullable || data[i].IsNull()
	}
	return r.Check(p.Default)
}

func (p Plan) checkDistinct(_ Catalog, in []relation) (relation, error) {
	r := in[0]
	if len(r.Keys) == 0 {
		all := make([]int, len(r.Columns))
		for i := range all {
			all[i] = i
		}
		r.Keys = [][]int{all}
	}
	return r, nil
}

func (p Plan) checkUnion(_ Catalog, in []relation) (relation, error) {
	if len(in) == 0 {
		return relation{}, errors.New("it has no inputs")
	}
	r := relation{Schema: Schema{Columns: slices.Clone(in[0].Columns)}, expiry: in[0].expiry}
	for _, other := range in[1:] {
		if len(other.Columns) != len(r.Columns) {
			return r, fmt.Errorf("inputs of %d and of %d columns", len(r.Columns), len(other.Columns))
		}
		for i, c := range other.Columns {
			mine := &r.Columns[i]
			if c.Type.Kind != mine.Type.Kind {
				return r, fmt.Errorf("column %d is of kind %v and of kind %v", i, mine.Type.Kind, c.Type.Kind)
			}
			mine.Type.Nullable = mine.Type.Nullable || c.Type.Nullable
			mine.TimeIndex = mine.TimeIndex && c.TimeIndex
		}
		r.expiry = bothExpire(r.expiry, other.expiry)
	}
	return r, nil
}

// bothExpire are the columns that expire in both inputs, when the later one does.
func bothExpire(a, b []expiringColumn) []expiringColumn {
	var both []expiringColumn
	for _, x := range a {
		for _, y := range b {
			if x.column == y.column {
				both = append(both, expiringColumn{x.column, max(x.after, y.after)})
			}
		}
	}
	return both
}

func (p Plan) checkJoin(_ Catalog, in []relation) (relation, error) {
	left, right := in[0], in[1]
	for _, on := range p.On {
		if err := errors.Join(left.has(on.Left), right.has(on.Right)); err != nil {
			return left, err
		}
		if l, r := left.Columns[on.Left].Type.Kind, right.Columns[on.Right].Type.Kind; l != r {
			return left, fmt.Errorf("column %d is of kind %v, column %d of the right input of kind %v", on.Left, l, on.Right, r)
		}
	}
	// A row of one side can bring up an old one of the other: nothing expires here.
	r := relation{Schema: Schema{Columns: slices.Clone(left.Columns)}}
	for _, c := range right.Columns {
		c.Type.Nullable = c.Type.Nullable || p.Outer
		c.TimeIndex = false
		r.Columns = append(r.Columns, c)
	}
	return r, nil
}

func (p Plan) checkTopK(_ Catalog, in []relation) (relation, error) {
	r := in[0]
	for _, c := range p.Columns {
		if err := r.has(c); err != nil {
			return r, err
		}
	}
	for _, o := range p.Order {
		if err := r.has(o.Column); err != nil {
			return r, err
		}
	}
	if p.Limit < NoLimit || p.Offset < 0 {
		return r, fmt.Errorf("limit %d, offset %d", p.Limit, p.Offset)
	}
	r.expiry = nil
	for _, x := range in[0].expiry {
		if slices.Contains(p.Columns, x.column) {
			r.expiry = append(r.expiry, x)
		}
	}
	return r, nil
}

func (p Plan) checkExpire(_ Catalog, in []relation) (relation, error) {
	r := in[0]
	if len(p.Columns) != 1 {
		return r, fmt.Errorf("it has %d columns, not one", len(p.Columns))
	}
	c := p.Columns[0]
	if err := r.has(c); err != nil {
		return r, err
	}
	if k := r.Columns[c].Type.Kind; k != KindTimestamp {
		return r, fmt.Errorf("column %d is of kind %v, not timestamp", c, k)
	}
	if p.After < 0 {
		return r, fmt.Errorf("rows can't expire %d ms before they come", -p.After)
	}
	r.expiry = append(slices.Clone(r.expiry), expiringColumn{c, p.After})
	return r, nil
}
