package dataflow

import "fmt"

// evaluator computes an expression on the data of a row. The error's memory is shared.
type evaluator func(row []Datum) (Datum, *RowError)

// typed is an expression that was found to make sense.
type typed struct {
	ColumnType
	eval evaluator
}

// call is a function's application, while it is compiled.
type call struct {
	Expr
	args    []typed
	columns []Column // of the rows
}

// function is what is known of a function: how many arguments it takes, and how to compile it. A
// negative max allows any number.
type function struct {
	min, max int
	compile  func(*call) (typed, error)
}

var functions map[Func]function

func init() {
	functions = map[Func]function{
		FuncAdd: {2, 2, compileAdd},
		FuncSub: {2, 2, compileSub},
		FuncMul: {2, 2, compileMul},
		FuncDiv: {2, 2, compileDiv},
		FuncMod: {2, 2, compileMod},
		FuncNeg: {1, 1, compileNeg},
		FuncAbs: {1, 1, compileAbs},

		FuncEq: {2, 2, comparison(func(c int) bool { return c == 0 })},
		FuncNe: {2, 2, comparison(func(c int) bool { return c != 0 })},
		FuncLt: {2, 2, comparison(func(c int) bool { return c < 0 })},
		FuncLe: {2, 2, comparison(func(c int) bool { return c <= 0 })},
		FuncGt: {2, 2, comparison(func(c int) bool { return c > 0 })},
		FuncGe: {2, 2, comparison(func(c int) bool { return c >= 0 })},

		FuncAnd:    {1, -1, junction(false)},
		FuncOr:     {1, -1, junction(true)},
		FuncNot:    {1, 1, compileNot},
		FuncIsNull: {1, 1, compileIsNull},

		FuncCase:     {2, -1, compileCase},
		FuncCoalesce: {1, -1, compileCoalesce},
		FuncNullIf:   {2, 2, compileNullIf},
		FuncGreatest: {1, -1, extreme(1)},
		FuncLeast:    {1, -1, extreme(-1)},
		FuncIn:       {2, -1, compileIn},

		FuncCast:      {1, 1, compileCast},
		FuncDateBin:   {2, 3, compileDateBin},
		FuncDateTrunc: {2, 2, compileDateTrunc},

		FuncLike:       {2, 2, compileLike},
		FuncConcat:     {1, -1, compileConcat},
		FuncLength:     {1, 1, compileLength},
		FuncLower:      {1, 1, compileLower},
		FuncUpper:      {1, 1, compileUpper},
		FuncTrim:       {1, 1, compileTrim},
		FuncSubstr:     {2, 3, compileSubstr},
		FuncStartsWith: {2, 2, compileStartsWith},
	}
}

// compile checks the expression's types over rows of these columns. The error is a [*TypeError].
func compile(e Expr, columns []Column) (typed, error) {
	c := &call{Expr: e, columns: columns}
	switch e.Func {
	case FuncColumn:
		return c.column()
	case FuncLiteral:
		return c.literal()
	}
	f, ok := functions[e.Func]
	switch n := len(e.Args); {
	case !ok:
		return c.fail("there is no function %q", string(e.Func))
	case n < f.min || f.max >= 0 && n > f.max:
		return c.fail("%s does not take %d arguments", e.Func, n)
	}
	for _, arg := range e.Args {
		t, err := compile(arg, columns)
		if err != nil {
			return typed{}, err
		}
		c.args = append(c.args, t)
	}
	return f.compile(c)
}

func (c *call) column() (typed, error) {
	i := c.Column
	if i < 0 || i >= len(c.columns) {
		return c.fail("the input has %d columns", len(c.columns))
	}
	return typed{c.columns[i].Type, func(row []Datum) (Datum, *RowError) { return row[i], nil }}, nil
}

func (c *call) literal() (typed, error) {
	d := c.Literal
	if c.Kind == KindNull || c.Kind >= kinds || !d.IsNull() && d.kind != c.Kind {
		return c.fail("a literal of kind %v can't be %v", c.Kind, d)
	}
	return typed{ColumnType{Kind: c.Kind, Nullable: d.IsNull()}, func([]Datum) (Datum, *RowError) { return d, nil }}, nil
}

func (c *call) fail(format string, args ...any) (typed, error) {
	return typed{}, &TypeError{Construct: c.Expr.String(), Reason: fmt.Sprintf(format, args...)}
}

// error prepares the error for rows on which the call fails.
func (c *call) error(cause error) *RowError { return rowError(cause, c.Expr.Over(c.columns)) }

// nullable tells whether any argument is.
func (c *call) nullable() bool {
	for _, a := range c.args {
		if a.Nullable {
			return true
		}
	}
	return false
}

// want makes sure that the arguments are of these kinds; the last one stands for all that follow.
func (c *call) want(kinds ...Kind) error {
	for i, a := range c.args {
		want := kinds[min(i, len(kinds)-1)]
		if a.Kind != want {
			_, err := c.fail("argument %d is of kind %v, not %v", i+1, a.Kind, want)
			return err
		}
	}
	return nil
}

// unify brings the arguments at these positions to one kind, by turning ints into floats where
// both occur.
func (c *call) unify(positions []int) (Kind, error) {
	kind := c.args[positions[0]].Kind
	for _, i := range positions {
		switch k := c.args[i].Kind; {
		case k == kind:
		case k.numeric() && kind.numeric():
			kind = KindFloat64
		default:
			_, err := c.fail("%v and %v don't go together", kind, k)
			return kind, err
		}
	}
	for _, i := range positions {
		if c.args[i].Kind == KindInt64 && kind == KindFloat64 {
			c.args[i] = floated(c.args[i])
		}
	}
	return kind, nil
}

func (c *call) unifyAll() (Kind, error) {
	positions := make([]int, len(c.args))
	for i := range positions {
		positions[i] = i
	}
	return c.unify(positions)
}

// floated turns an int into a float.
func floated(t typed) typed {
	eval := t.eval
	t.Kind = KindFloat64
	t.eval = func(row []Datum) (Datum, *RowError) {
		d, err := eval(row)
		if err != nil || d.IsNull() {
			return d, err
		}
		return Float(float64(d.num)), nil
	}
	return t
}

// strict1 is a function of one argument that is NULL for NULL.
func (c *call) strict1(kind Kind, f func(a Datum) (Datum, *RowError)) (typed, error) {
	a := c.args[0].eval
	return typed{ColumnType{Kind: kind, Nullable: c.nullable()}, func(row []Datum) (Datum, *RowError) {
		x, err := a(row)
		if err != nil || x.IsNull() {
			return Datum{}, err
		}
		return f(x)
	}}, nil
}

// strict2 is a function of two arguments that is NULL if any is. Errors come before NULL, that
// of the first argument before that of the second.
func (c *call) strict2(kind Kind, f func(a, b Datum) (Datum, *RowError)) (typed, error) {
	a, b := c.args[0].eval, c.args[1].eval
	return typed{ColumnType{Kind: kind, Nullable: c.nullable()}, func(row []Datum) (Datum, *RowError) {
		x, err := a(row)
		if err != nil {
			return Datum{}, err
		}
		y, err := b(row)
		if err != nil || x.IsNull() || y.IsNull() {
			return Datum{}, err
		}
		return f(x, y)
	}}, nil
}

// strictN is a function of any number of arguments that is NULL if any is.
func (c *call) strictN(kind Kind, f func(args []Datum) (Datum, *RowError)) (typed, error) {
	args := c.args
	return typed{ColumnType{Kind: kind, Nullable: c.nullable()}, func(row []Datum) (Datum, *RowError) {
		data := make([]Datum, len(args))
		null := false
		for i, a := range args {
			d, err := a.eval(row)
			if err != nil {
				return Datum{}, err
			}
			data[i] = d
			null = null || d.IsNull()
		}
		if null {
			return Datum{}, nil
		}
		return f(data)
	}}, nil
}

// Compiled is an expression made ready to be evaluated on rows of a schema. It may be used for
// predicates of peeks, say.
type Compiled struct {
	typed typed
	data  []Datum
}

// Compile checks the expression's types. The error is a [*TypeError].
func Compile(e Expr, schema Schema) (*Compiled, error) {
	t, err := compile(e, schema.Columns)
	if err != nil {
		return nil, err
	}
	return &Compiled{typed: t}, nil
}

// Type is the type of the expression's values.
func (c *Compiled) Type() ColumnType { return c.typed.ColumnType }

// Eval evaluates the expression on a row of the schema. The error is a [RowError] or
// [ErrCorruptRow].
func (c *Compiled) Eval(row Row) (Datum, error) {
	data, err := row.appendData(c.data[:0])
	if err != nil {
		return Datum{}, err
	}
	c.data = data
	d, failed := c.typed.eval(data)
	if failed != nil {
		return Datum{}, *failed
	}
	return d, nil
}
