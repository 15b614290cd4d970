package sql

// atQuery says whether a query begins here.
func (p *parser) atQuery() bool { return p.atWords("SELECT") || p.queryInParens() }

// queryInParens says whether parentheses open here and, after the last of them, a query begins.
func (p *parser) queryInParens() bool {
	n := 0
	for t := p.peek(); t.kind == tokOp && t.text == "("; t = p.peekAt(n) {
		n++
	}
	return n > 0 && p.peekAt(n).upper == "SELECT"
}

// query = term {(UNION | EXCEPT) [ALL] term} tail.
func (p *parser) query() Query {
	p.enter()
	defer p.leave()
	return p.queryRest(p.queryPrimary())
}

// queryRest reads what may follow a query that was read: set operations and a tail.
func (p *parser) queryRest(q Query) Query {
	q = p.intersections(q)
	for p.atAny("UNION", "EXCEPT") {
		s := p.setOperator()
		s.Left, s.Right = q, p.intersections(p.queryPrimary())
		q = s
	}
	p.queryTail(q.tail())
	return q
}

// intersections = primary {INTERSECT [ALL] primary}. It binds more tightly than the others.
func (p *parser) intersections(q Query) Query {
	for p.atWords("INTERSECT") {
		s := p.setOperator()
		s.Left, s.Right = q, p.queryPrimary()
		q = s
	}
	return q
}

func (p *parser) setOperator() *SetOp {
	t := p.next()
	s := &SetOp{Loc: Loc{t.at}, Op: map[string]SetOperator{"UNION": Union, "INTERSECT": Intersect, "EXCEPT": Except}[t.upper]}
	s.All = p.acceptWords("ALL")
	if !s.All {
		p.acceptWords("DISTINCT")
	}
	return s
}

// queryContinues says whether what follows a query in parentheses goes on with that query.
func (p *parser) queryContinues() bool {
	return p.atAny("UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR")
}

// queryPrimary = select | "(" query ")".
func (p *parser) queryPrimary() Query {
	if p.acceptOp("(") {
		q := p.query()
		p.expectOp(")")
		return q
	}
	if p.atAny("WITH", "VALUES", "TABLE") {
		p.unsupported(p.peek().at, p.peek().upper+" in a query")
	}
	return p.selectCore()
}

// queryTail = [ORDER BY items] [LIMIT n | OFFSET n]...
func (p *parser) queryTail(tail *Tail) {
	if t := p.peek(); p.acceptWords("ORDER") {
		p.expectWords("BY")
		if tail.OrderBy != nil {
			p.failAt(t.at, "a second ORDER BY")
		}
		tail.OrderBy = p.orderItems()
	}
	limited := tail.Limit != nil || tail.Offset != nil
	for {
		t := p.peek()
		switch {
		case p.acceptWords("LIMIT"):
			if limited || tail.Limit != nil {
				p.failAt(t.at, "a second LIMIT, or one outside of the parentheses of an OFFSET")
			}
			if !p.acceptWords("ALL") {
				tail.Limit = p.expr()
			}
		case p.acceptWords("OFFSET"):
			if limited || tail.Offset != nil {
				p.failAt(t.at, "a second OFFSET, or one outside of the parentheses of a LIMIT")
			}
			tail.Offset = p.expr()
		case p.atAny("FETCH", "FOR"):
			p.unsupported(t.at, t.upper)
		default:
			return
		}
	}
}

func (p *parser) orderItems() []OrderItem {
	var list []OrderItem
	for {
		item := OrderItem{Loc: Loc{p.peek().at}, Expr: p.expr()}
		if item.Desc = p.acceptWords("DESC"); !item.Desc {
			p.acceptWords("ASC")
		}
		switch {
		case p.acceptWords("NULLS", "FIRST"):
			item.Nulls = NullsFirst
		case p.acceptWords("NULLS", "LAST"):
			item.Nulls = NullsLast
		}
		list = append(list, item)
		if !p.acceptOp(",") {
			return list
		}
	}
}

// selectCore = SELECT [ALL | DISTINCT] items [FROM tables] [WHERE condition] [GROUP BY exprs]
// [HAVING condition].
func (p *parser) selectCore() *Select {
	s := &Select{Loc: Loc{p.expectWords("SELECT").at}}
	if s.Distinct = p.acceptWords("DISTINCT"); !s.Distinct {
		p.acceptWords("ALL")
	} else if p.atWords("ON") {
		p.unsupported(p.peek().at, "DISTINCT ON")
	}
	for {
		s.Items = append(s.Items, p.selectItem())
		if !p.acceptOp(",") || p.atEnd() || p.atAny(afterItems...) {
			break
		}
	}
	if p.atWords("INTO") {
		p.unsupported(p.peek().at, "SELECT INTO")
	}
	if p.acceptWords("FROM") {
		for {
			s.From = append(s.From, p.tableExpr())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	if p.acceptWords("WHERE") {
		s.Where = p.expr()
	}
	if p.acceptWords("GROUP") {
		p.expectWords("BY")
		s.GroupBy = p.groupBy()
	}
	if p.acceptWords("HAVING") {
		s.Having = p.expr()
	}
	if p.atWords("WINDOW") {
		p.unsupported(p.peek().at, "WINDOW")
	}
	return s
}

// afterItems are the words that can follow a list of SELECT items.
var afterItems = []string{"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "INTO"}

// atEnd says whether a list ends here, together with what it is in.
func (p *parser) atEnd() bool { return p.peek().kind == tokEOF || p.atOp(";") || p.atOp(")") }

// selectItem = expr [[AS] alias] | "*" | name.*.
func (p *parser) selectItem() SelectItem {
	t := p.peek()
	item := SelectItem{Loc: Loc{t.at}}
	if item.Expr = p.star(); item.Expr != nil {
		return item
	}
	item.Expr = p.expr()
	if p.acceptWords("AS") {
		alias := p.attribute("an alias")
		item.Alias = &alias
	} else if p.atIdent(p.peek()) {
		alias := p.ident("an alias")
		item.Alias = &alias
	}
	return item
}

func (p *parser) groupBy() []Expr {
	var list []Expr
	for {
		t, after := p.peek(), p.peekAt(1)
		paren := after.kind == tokOp && after.text == "("
		switch {
		case p.atWords("GROUPING", "SETS"):
			p.unsupported(t.at, "GROUPING SETS")
		case paren && p.atAny("ROLLUP", "CUBE"):
			p.unsupported(t.at, t.upper)
		case p.atAny("ALL", "DISTINCT"):
			p.unsupported(t.at, "GROUP BY "+t.upper)
		case p.atOp("(") && after.kind == tokOp && after.text == ")":
			p.unsupported(t.at, "empty grouping set")
		}
		list = append(list, p.expr())
		if !p.acceptOp(",") {
			return list
		}
	}
}

// tableExpr = table {join}.
func (p *parser) tableExpr() TableExpr { return p.joins(p.tablePrimary()) }

func (p *parser) joins(left TableExpr) TableExpr {
	for p.atJoin() {
		left = p.join(left)
	}
	return left
}

func (p *parser) atJoin() bool {
	return p.atAny("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL")
}

// join = [INNER | LEFT [OUTER] | RIGHT [OUTER] | FULL [OUTER]] JOIN table {join} (ON condition | USING columns)
// | CROSS JOIN table.
func (p *parser) join(left TableExpr) TableExpr {
	p.enter()
	defer p.leave()
	first := p.peek()
	j := &Join{Loc: Loc{first.at}, Left: left}
	switch first.upper {
	case "NATURAL":
		p.unsupported(first.at, "NATURAL JOIN")
	case "INNER":
		p.next()
	case "CROSS":
		p.next()
		j.Kind = CrossJoin
	case "LEFT", "RIGHT", "FULL":
		p.next()
		p.acceptWords("OUTER")
		j.Kind = map[string]JoinKind{"LEFT": LeftJoin, "RIGHT": RightJoin, "FULL": FullJoin}[first.upper]
	}
	p.expectWords("JOIN")
	j.Right = p.tablePrimary()
	if j.Kind == CrossJoin {
		return j
	}
	// A join that comes before this one's condition is within its right side.
	j.Right = p.joins(j.Right)
	switch {
	case p.acceptWords("ON"):
		j.On = p.expr()
	case p.acceptWords("USING"):
		j.Using = p.idents("the name of a column")
	default:
		p.expected("ON or USING")
	}
	return j
}

// tablePrimary = name [[AS] alias] | "(" query ")" [[AS] alias] | "(" join ")".
func (p *parser) tablePrimary() TableExpr {
	if p.atOp("(") {
		return p.withAlias(p.tableInParens())
	}
	t := p.peek()
	if p.atAny("LATERAL", "ONLY") {
		p.unsupported(t.at, t.upper)
	}
	name := p.name("a table")
	if p.atOp("(") {
		p.unsupported(t.at, "table function "+quoteShort(name.Parts[len(name.Parts)-1]))
	}
	return p.withAlias(&Table{Loc: name.Loc, Name: name})
}

// tableInParens reads what stands in FROM in parentheses: a *Derived without its alias, or a
// *Join. It can be told only at the end whether ((SELECT 1) ... is a query or a join.
func (p *parser) tableInParens() TableExpr {
	p.enter()
	defer p.leave()
	open := p.expectOp("(")
	if p.atWords("SELECT") {
		q := p.query()
		p.expectOp(")")
		return &Derived{Loc: Loc{open.at}, Query: q}
	}
	if p.atAny("WITH", "VALUES") {
		p.unsupported(p.peek().at, p.peek().upper+" in a query")
	}
	var inner TableExpr
	if p.atOp("(") {
		inner = p.tableInParens()
		if d, ok := inner.(*Derived); ok && (p.atOp(")") || p.queryContinues()) {
			d.At, d.Query = open.at, p.queryRest(d.Query)
			p.expectOp(")")
			return d
		}
		inner = p.joins(p.withAlias(inner))
	} else {
		inner = p.tableExpr()
	}
	if _, ok := inner.(*Join); !ok {
		p.expected("JOIN")
	}
	p.expectOp(")")
	return inner
}

// withAlias reads the alias of a table.
func (p *parser) withAlias(t TableExpr) TableExpr {
	var slot **Ident
	switch t := t.(type) {
	case *Table:
		slot = &t.Alias
	case *Derived:
		slot = &t.Alias
	default:
		if at := p.peek().at; p.atWords("AS") || p.atIdent(p.peek()) {
			p.unsupported(at, "alias of a join")
		}
		return t
	}
	if p.acceptWords("AS") || p.atIdent(p.peek()) {
		alias := p.ident("an alias")
		*slot = &alias
		if p.atOp("(") {
			p.unsupported(p.peek().at, "list of columns behind an alias")
		}
	}
	return t
}
