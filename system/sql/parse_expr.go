package sql

// expr reads an expression.
func (p *parser) expr() Expr { return p.exprAbove(precNone, false) }

// restrictedExpr reads an expression that has, outside of parentheses, no operator that is a
// word, other than IS DISTINCT FROM: one that stands where the word would mean something else.
func (p *parser) restrictedExpr() Expr { return p.exprAbove(precNone, true) }

// exprAbove reads operands and operators for as long as the operators bind more tightly than
// those of a precedence.
func (p *parser) exprAbove(prec int, restricted bool) Expr {
	p.enter()
	defer p.leave()
	x := p.operand(restricted)
	barred := precNone // the precedence of what was just read, if it does not chain
	for {
		next := p.infixPrecedence(restricted)
		if next <= prec {
			return x
		}
		if next == barred {
			p.failAt(p.peek().at, "expected parentheses around what stands before %s, since such operators don't chain", p.peek().describe())
		}
		x, barred = p.infix(x, restricted)
	}
}

// infixPrecedence returns the precedence of the operator that is next, or precNone.
func (p *parser) infixPrecedence(restricted bool) int {
	t := p.peek()
	if t.kind == tokOp {
		switch t.text {
		case "::":
			return precCast
		case "[":
			p.unsupported(t.at, "subscript")
		}
		if op, ok := symbols[t.text]; ok {
			return op.precedence()
		}
		return precNone
	}
	if restricted {
		if p.atWords("IS", "DISTINCT") || p.atWords("IS", "NOT", "DISTINCT") {
			return precIs
		}
		return precNone
	}
	word := t.upper
	if word == "NOT" {
		// NOT alone is no infix operator.
		switch word = p.peekAt(1).upper; word {
		case "LIKE", "ILIKE", "IN", "BETWEEN", "SIMILAR":
		default:
			return precNone
		}
	}
	switch word {
	case "OR":
		return precOr
	case "AND":
		return precAnd
	case "IS":
		return precIs
	case "LIKE", "ILIKE", "IN", "BETWEEN":
		return precLike
	case "SIMILAR", "COLLATE", "OVERLAPS", "ISNULL", "NOTNULL":
		p.unsupported(t.at, word)
	case "AT":
		if p.peekAt(1).upper == "TIME" {
			p.unsupported(t.at, "AT TIME ZONE")
		}
	}
	return precNone
}

// infix reads the operator that is next and what follows it. It returns as well the precedence
// of operators that may not come next.
func (p *parser) infix(x Expr, restricted bool) (Expr, int) {
	t := p.next()
	at := Loc{t.at}
	if t.kind == tokOp {
		if t.text == "::" {
			return &Cast{Loc: at, X: x, Type: p.dataType()}, precNone
		}
		return p.binary(at, symbols[t.text], x, restricted)
	}
	not := t.upper == "NOT"
	if not {
		t = p.next()
	}
	switch t.upper {
	case "OR", "AND":
		return p.binary(at, symbols[t.upper], x, restricted)
	case "IS":
		return p.is(at, x, restricted)
	case "LIKE", "ILIKE":
		l := &Like{Loc: at, X: x, Not: not, NoCase: t.upper == "ILIKE", Pattern: p.exprAbove(precLike, false)}
		if p.acceptWords("ESCAPE") {
			l.Escape = p.exprAbove(precLike, false)
		}
		return l, precLike
	case "BETWEEN":
		if p.atAny("SYMMETRIC", "ASYMMETRIC") {
			p.unsupported(t.at, "BETWEEN "+p.peek().upper)
		}
		b := &Between{Loc: at, X: x, Not: not, Low: p.restrictedExpr()}
		p.expectWords("AND")
		b.High = p.exprAbove(precLike, false)
		return b, precLike
	default:
		return p.in(at, x, not), precNone
	}
}

func (p *parser) binary(at Loc, op BinaryOp, x Expr, restricted bool) (Expr, int) {
	b := &Binary{Loc: at, Op: op, X: x, Y: p.exprAbove(op.precedence(), restricted)}
	if op.chains() {
		return b, precNone
	}
	return b, op.precedence()
}

// is reads what follows IS: [NOT] (NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM operand).
func (p *parser) is(at Loc, x Expr, restricted bool) (Expr, int) {
	e := &Is{Loc: at, X: x, Not: p.acceptWords("NOT")}
	switch {
	case p.acceptWords("NULL"):
	case p.acceptWords("TRUE"):
		e.What = IsTrue
	case p.acceptWords("FALSE"):
		e.What = IsFalse
	case p.acceptWords("UNKNOWN"):
		e.What = IsUnknown
	case p.acceptWords("DISTINCT"):
		p.expectWords("FROM")
		if e.Not {
			return p.binary(at, IsNotDistinct, x, restricted)
		}
		return p.binary(at, IsDistinct, x, restricted)
	case p.atAny("DOCUMENT", "NORMALIZED", "JSON"):
		p.unsupported(at.At, "IS "+p.peek().upper)
	default:
		p.expected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	return e, precNone
}

// in reads what follows IN: "(" (query | exprs) ")".
func (p *parser) in(at Loc, x Expr, not bool) Expr {
	e := &In{Loc: at, X: x, Not: not}
	p.expectOp("(")
	if p.atWords("SELECT") {
		e.Query = p.query()
	} else {
		e.List = p.exprs()
		// A query may itself be in parentheses.
		if q, ok := e.List[0].(*Subquery); ok && len(e.List) == 1 {
			e.Query, e.List = q.Query, nil
			if p.queryContinues() {
				e.Query = p.queryRest(e.Query)
			}
		}
	}
	p.expectOp(")")
	return e
}

func (p *parser) exprs() []Expr {
	list := []Expr{p.expr()}
	for p.acceptOp(",") {
		list = append(list, p.expr())
	}
	return list
}
