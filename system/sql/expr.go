package sql

// Column is a column of a table.
type Column struct {
	Loc
	Table []string // what stands before the name: [catalog, schema, table] or less, or nothing
	Name  string
}

// Star is all columns, or all of one table.
type Star struct {
	Loc
	Table []string // as in Column
}

// IntLit is a whole number. A minus before it is part of it, as with FloatLit.
type IntLit struct {
	Loc
	Value int64
}

// FloatLit is a number with a decimal point or an exponent. It is finite.
type FloatLit struct {
	Loc
	Value float64
}

// StringLit is a string.
type StringLit struct {
	Loc
	Value string
}

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Loc
	Value bool
}

// NullLit is NULL.
type NullLit struct{ Loc }

// DefaultLit is DEFAULT in place of a value of an INSERT.
type DefaultLit struct{ Loc }

// IntervalLit is INTERVAL '...'.
type IntervalLit struct {
	Loc
	Value Interval
}

// Unary is an operator before its operand. There is no Unary with a minus before a number: see
// IntLit.
type Unary struct {
	Loc
	Op UnaryOp
	X  Expr
}

// UnaryOp is the operator of a Unary.
type UnaryOp int

const (
	Neg UnaryOp = iota
	Plus
	Not
)

// Binary is an operator between two operands.
type Binary struct {
	Loc
	Op   BinaryOp
	X, Y Expr
}

// BinaryOp is the operator of a Binary.
type BinaryOp int

const (
	Or BinaryOp = iota
	And
	IsDistinct
	IsNotDistinct
	Eq
	NotEq
	Less
	LessEq
	Greater
	GreaterEq
	Concat
	Add
	Sub
	Mul
	Div
	Mod
	Pow
)

// Is is a test with IS, or with IS NOT.
type Is struct {
	Loc
	X    Expr
	Not  bool
	What Truth
}

// Truth is what an Is asks for.
type Truth int

const (
	IsNull Truth = iota
	IsTrue
	IsFalse
	IsUnknown
)

// Like is LIKE, ILIKE, or either with NOT.
type Like struct {
	Loc
	X, Pattern Expr
	Not        bool
	NoCase     bool // ILIKE
	Escape     Expr // nil: none
}

// Between is BETWEEN, or NOT BETWEEN.
type Between struct {
	Loc
	X, Low, High Expr
	Not          bool
}

// In is IN, or NOT IN, with a list or a query.
type In struct {
	Loc
	X     Expr
	Not   bool
	List  []Expr // nil if there is a Query
	Query Query  // nil if there is a List
}

// Exists is EXISTS (query).
type Exists struct {
	Loc
	Query Query
}

// Subquery is a query in place of a value.
type Subquery struct {
	Loc
	Query Query
}

// Case is CASE. With an Operand, the conditions are values to compare it with.
type Case struct {
	Loc
	Operand Expr // nil: none
	Whens   []When
	Else    Expr // nil: none
}

// When is a branch of a Case.
type When struct {
	Loc
	Cond, Then Expr
}

// Cast is CAST(x AS type), x::type, or type 'x'.
type Cast struct {
	Loc
	X    Expr
	Type DataType
}

// Call is a function call. CURRENT_TIMESTAMP, CURRENT_DATE and their like, written without
// parentheses, are calls of functions of these names.
type Call struct {
	Loc
	Name     string // in lower case, unless it was quoted
	Distinct bool
	Star     bool // count(*): there are no Args
	Args     []Expr
}

func (*Column) expr()      {}
func (*Star) expr()        {}
func (*IntLit) expr()      {}
func (*FloatLit) expr()    {}
func (*StringLit) expr()   {}
func (*BoolLit) expr()     {}
func (*NullLit) expr()     {}
func (*DefaultLit) expr()  {}
func (*IntervalLit) expr() {}
func (*Unary) expr()       {}
func (*Binary) expr()      {}
func (*Is) expr()          {}
func (*Like) expr()        {}
func (*Between) expr()     {}
func (*In) expr()          {}
func (*Exists) expr()      {}
func (*Subquery) expr()    {}
func (*Case) expr()        {}
func (*Cast) expr()        {}
func (*Call) expr()        {}
