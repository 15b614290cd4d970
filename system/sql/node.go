package sql

// A Node is any part of a syntax tree. The set of nodes is closed.
type Node interface {
	// Position is the node's first token, or its operator if it stands between operands.
	Position() Pos
	// String returns SQL that parses to an equal node.
	String() string

	node()
	// print writes the node as String returns it.
	print(*printer)
}

// A Statement is what Parse returns: *[Select], *[SetOp], *[Insert], *[Delete], *[CreateTable],
// *[CreateFlow], *[DropTable], *[DropFlow], *[FlushFlow], *[Show] or *[Explain].
type Statement interface {
	Node
	statement()
}

// A Query is a *[Select] or a *[SetOp].
type Query interface {
	Statement
	// tail is the ORDER BY, LIMIT and OFFSET of the query.
	tail() *Tail
}

// A TableExpr is what can stand in FROM: *[Table], *[Derived] or *[Join].
type TableExpr interface {
	Node
	tableExpr()
}

// An Expr is a scalar expression, or a [Star] where one may stand for a list of columns.
type Expr interface {
	Node
	expr()
}

// Ident is the name of a column, an alias, or the like.
type Ident struct {
	Loc
	Name string
}

// Name is the name of a table or a flow, with what qualifies it before: [catalog, schema, table]
// or less.
type Name struct {
	Loc
	Parts []string
}
