package sql

func (n *Select) print(p *printer) {
	p.write("SELECT ")
	p.flag(n.Distinct, "DISTINCT ")
	printList(p, n.Items)
	for i, t := range n.From {
		if i == 0 {
			p.write(" FROM ", t)
		} else {
			p.write(", ", t)
		}
	}
	if n.Where != nil {
		p.write(" WHERE ", n.Where)
	}
	if n.GroupBy != nil {
		p.write(" GROUP BY ")
		p.exprs(n.GroupBy)
	}
	if n.Having != nil {
		p.write(" HAVING ", n.Having)
	}
	n.Tail.print(p)
}

func (n SelectItem) print(p *printer) {
	p.write(n.Expr)
	p.alias(n.Alias)
}

func (p *printer) alias(alias *Ident) {
	if alias != nil {
		p.write(" AS ", alias)
	}
}

func (t *Tail) print(p *printer) {
	if t.OrderBy != nil {
		p.write(" ORDER BY ")
		printList(p, t.OrderBy)
	}
	if t.Limit != nil {
		p.write(" LIMIT ", t.Limit)
	}
	if t.Offset != nil {
		p.write(" OFFSET ", t.Offset)
	}
}

func (n OrderItem) print(p *printer) {
	p.write(n.Expr)
	p.flag(n.Desc, " DESC")
	p.flag(n.Nulls == NullsFirst, " NULLS FIRST")
	p.flag(n.Nulls == NullsLast, " NULLS LAST")
}

func (n *SetOp) print(p *printer) {
	p.side(n.Left, n.Op, true)
	p.write(" ", n.Op.String(), " ")
	p.flag(n.All, "ALL ")
	p.side(n.Right, n.Op, false)
	n.Tail.print(p)
}

// String returns the operator as it is written.
func (op SetOperator) String() string {
	return [...]string{Union: "UNION", Intersect: "INTERSECT", Except: "EXCEPT"}[op]
}

// side writes one side of a set operation, in parentheses if it has a tail or would otherwise
// belong to another operation.
func (p *printer) side(q Query, op SetOperator, left bool) {
	bare := q.tail().empty()
	if s, ok := q.(*SetOp); ok && bare {
		tighter := s.Op == Intersect && op != Intersect
		equal := (s.Op == Intersect) == (op == Intersect)
		bare = tighter || equal && left
	}
	if bare {
		p.write(q)
	} else {
		p.write("(", q, ")")
	}
}

func (n *Table) print(p *printer) {
	p.write(n.Name)
	p.alias(n.Alias)
}

func (n *Derived) print(p *printer) {
	p.write("(", n.Query, ")")
	p.alias(n.Alias)
}

func (n *Join) print(p *printer) {
	p.write(n.Left, " ", n.Kind.String(), " ")
	if _, ok := n.Right.(*Join); ok {
		p.write("(", n.Right, ")")
	} else {
		p.write(n.Right)
	}
	if n.On != nil {
		p.write(" ON ", n.On)
	}
	if n.Using != nil {
		p.write(" USING (")
		printList(p, n.Using)
		p.write(")")
	}
}

// String returns the kind as it is written.
func (k JoinKind) String() string {
	return [...]string{InnerJoin: "JOIN", LeftJoin: "LEFT JOIN", RightJoin: "RIGHT JOIN", FullJoin: "FULL JOIN", CrossJoin: "CROSS JOIN"}[k]
}
