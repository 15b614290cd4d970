package sql

// Inspect calls visit for n and, where it returns true, for the nodes below, in the order of the
// text except that an operator comes before its operands.
func Inspect(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	children(n, func(child Node) { Inspect(child, visit) })
}

// checkHeight refuses a tree that is so tall that whoever walks down it could run out of stack.
func (p *parser) checkHeight(root Node) {
	type level struct {
		node  Node
		depth int
	}
	stack := []level{{root, 1}}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.depth > MaxDepth {
			p.unsupported(top.node.Position(), tooDeep)
		}
		children(top.node, func(child Node) { stack = append(stack, level{child, top.depth + 1}) })
	}
}

// children calls visit for each node right below n.
func children(n Node, visit func(Node)) {
	switch n := n.(type) {
	case *Select:
		for i := range n.Items {
			visit(&n.Items[i])
		}
		visitAll(n.From, visit)
		visitSome(visit, n.Where)
		visitAll(n.GroupBy, visit)
		visitSome(visit, n.Having)
		n.Tail.children(visit)
	case *SetOp:
		visit(n.Left)
		visit(n.Right)
		n.Tail.children(visit)
	case *SelectItem:
		visit(n.Expr)
		visitIdent(n.Alias, visit)
	case *OrderItem:
		visit(n.Expr)
	case *Table:
		visit(&n.Name)
		visitIdent(n.Alias, visit)
	case *Derived:
		visit(n.Query)
		visitIdent(n.Alias, visit)
	case *Join:
		visit(n.Left)
		visit(n.Right)
		visitSome(visit, n.On)
		visitIdents(n.Using, visit)
	case *CreateTable:
		visit(&n.Name)
		for i := range n.Columns {
			visit(&n.Columns[i])
		}
		visitIdent(n.TimeIndex, visit)
		visitIdents(n.PrimaryKey, visit)
		for i := range n.Options {
			visit(&n.Options[i])
		}
	case *ColumnDef:
		visit(&n.Type)
		visitSome(visit, n.Default)
	case *Option:
		visit(n.Value)
	case *CreateFlow:
		visit(&n.Name)
		visit(&n.Sink)
		if n.ExpireAfter != nil {
			visit(n.ExpireAfter)
		}
		visit(n.Query)
	case *DropTable:
		visit(&n.Name)
	case *DropFlow:
		visit(&n.Name)
	case *FlushFlow:
		visit(&n.Name)
	case *Insert:
		visit(&n.Table)
		visitIdents(n.Columns, visit)
		for _, row := range n.Rows {
			visitAll(row, visit)
		}
	case *Delete:
		visit(&n.Table)
		visitSome(visit, n.Where)
	case *Explain:
		visit(n.Statement)
	case *Unary:
		visit(n.X)
	case *Binary:
		visit(n.X)
		visit(n.Y)
	case *Is:
		visit(n.X)
	case *Like:
		visitSome(visit, n.X, n.Pattern, n.Escape)
	case *Between:
		visitSome(visit, n.X, n.Low, n.High)
	case *In:
		visit(n.X)
		visitAll(n.List, visit)
		if n.Query != nil {
			visit(n.Query)
		}
	case *Exists:
		visit(n.Query)
	case *Subquery:
		visit(n.Query)
	case *Case:
		visitSome(visit, n.Operand)
		for i := range n.Whens {
			visit(&n.Whens[i])
		}
		visitSome(visit, n.Else)
	case *When:
		visitSome(visit, n.Cond, n.Then)
	case *Cast:
		visit(n.X)
		visit(&n.Type)
	case *Call:
		visitAll(n.Args, visit)
	}
}

func (t *Tail) children(visit func(Node)) {
	for i := range t.OrderBy {
		visit(&t.OrderBy[i])
	}
	visitSome(visit, t.Limit, t.Offset)
}

func visitAll[N Node](list []N, visit func(Node)) {
	for _, n := range list {
		visit(n)
	}
}

// visitSome visits those expressions that there are.
func visitSome(visit func(Node), list ...Expr) {
	for _, e := range list {
		if e != nil {
			visit(e)
		}
	}
}

func visitIdent(n *Ident, visit func(Node)) {
	if n != nil {
		visit(n)
	}
}

func visitIdents(list []Ident, visit func(Node)) {
	for i := range list {
		visit(&list[i])
	}
}
