package sql

// Select is one SELECT.
type Select struct {
	Loc
	Distinct bool
	Items    []SelectItem
	From     []TableExpr // more than one is a cross join; nil: no FROM
	Where    Expr        // nil: none
	GroupBy  []Expr      // nil: none
	Having   Expr        // nil: none
	Tail
}

// SelectItem is one of a SELECT's results.
type SelectItem struct {
	Loc
	Expr  Expr   // or a *Star
	Alias *Ident // nil: none
}

// Tail is what may follow a query.
type Tail struct {
	OrderBy []OrderItem // nil: none
	Limit   Expr        // nil: none
	Offset  Expr        // nil: none
}

// OrderItem is one of the expressions of an ORDER BY.
type OrderItem struct {
	Loc
	Expr  Expr
	Desc  bool
	Nulls NullsOrder
}

// NullsOrder is where an ORDER BY wants the nulls.
type NullsOrder int

const (
	NullsUnspecified NullsOrder = iota
	NullsFirst
	NullsLast
)

// SetOp is two queries with UNION, INTERSECT or EXCEPT between them.
type SetOp struct {
	Loc
	Op          SetOperator
	All         bool
	Left, Right Query
	Tail
}

// SetOperator is the operation of a SetOp.
type SetOperator int

const (
	Union SetOperator = iota
	Intersect
	Except
)

// Table is a table named in FROM.
type Table struct {
	Loc
	Name  Name
	Alias *Ident // nil: none
}

// Derived is a subquery in FROM.
type Derived struct {
	Loc
	Query Query
	Alias *Ident // nil: none
}

// Join is two tables with JOIN between them.
type Join struct {
	Loc
	Kind        JoinKind
	Left, Right TableExpr
	On          Expr    // nil: none
	Using       []Ident // nil: none
}

// JoinKind is the kind of a Join.
type JoinKind int

const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin // has neither On nor Using; all others have one of the two
)

func (*Select) statement() {}
func (*SetOp) statement()  {}

func (t *Tail) tail() *Tail { return t }

// empty says that nothing follows the query.
func (t *Tail) empty() bool { return t.OrderBy == nil && t.Limit == nil && t.Offset == nil }

func (*Table) tableExpr()   {}
func (*Derived) tableExpr() {}
func (*Join) tableExpr()    {}
