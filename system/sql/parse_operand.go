package sql

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// operand reads what an expression begins with: signs, NOT, and what binds more tightly than any
// operator.
func (p *parser) operand(restricted bool) Expr {
	t := p.peek()
	switch t.kind {
	case tokNumber:
		return p.numberLiteral()
	case tokString:
		p.next()
		return &StringLit{Loc: Loc{t.at}, Value: t.text}
	case tokDouble:
		if p.values {
			p.next()
			return &StringLit{Loc: Loc{t.at}, Value: t.text}
		}
		return p.columnOrCall()
	case tokQuoted:
		return p.columnOrCall()
	case tokOp:
		switch t.text {
		case "-":
			return p.negation(restricted)
		case "+":
			p.next()
			return &Unary{Loc: Loc{t.at}, Op: Plus, X: p.exprAbove(precSign, restricted)}
		case "(":
			return p.parens()
		}
	case tokWord:
		return p.wordOperand(restricted)
	}
	p.expected("an expression")
	return nil
}

// numberLiteral reads a number without a sign.
func (p *parser) numberLiteral() Expr {
	t := p.peek()
	if !strings.ContainsAny(t.text, ".eE") {
		return &IntLit{Loc: Loc{t.at}, Value: p.number("a number")}
	}
	p.next()
	v, err := strconv.ParseFloat(t.text, 64)
	if errors.Is(err, strconv.ErrRange) {
		p.failAt(t.at, "%s is out of range of 64-bit floating point numbers", t.describe())
	}
	return &FloatLit{Loc: Loc{t.at}, Value: v}
}

// smallest is the one number that is in range only together with its sign.
const smallest = "9223372036854775808"

// negation reads a minus and its operand. The sign of a number becomes part of the number.
func (p *parser) negation(restricted bool) Expr {
	at := Loc{p.next().at}
	if p.peek().kind == tokNumber && strings.TrimLeft(p.peek().text, "0") == smallest {
		if after := p.peekAt(1); after.kind != tokOp || after.text != "::" {
			p.next()
			return &IntLit{Loc: at, Value: math.MinInt64}
		}
	}
	switch x := p.exprAbove(precSign, restricted).(type) {
	case *IntLit:
		if x.Value == math.MinInt64 {
			return &Unary{Loc: at, Op: Neg, X: x}
		}
		return &IntLit{Loc: at, Value: -x.Value}
	case *FloatLit:
		return &FloatLit{Loc: at, Value: -x.Value}
	default:
		return &Unary{Loc: at, Op: Neg, X: x}
	}
}

// parens = "(" expr ")" | "(" query ")".
func (p *parser) parens() Expr {
	open := p.expectOp("(")
	if p.atWords("SELECT") {
		q := p.query()
		p.expectOp(")")
		return &Subquery{Loc: Loc{open.at}, Query: q}
	}
	if p.atAny("WITH", "VALUES") {
		p.unsupported(p.peek().at, p.peek().upper+" in a query")
	}
	x := p.expr()
	if q, ok := x.(*Subquery); ok && p.queryContinues() {
		// What looked like an expression was the first part of a query.
		q.At, q.Query = open.at, p.queryRest(q.Query)
	}
	if p.atOp(",") {
		p.unsupported(open.at, "row (a, b)")
	}
	p.expectOp(")")
	return x
}

// wordOperand reads an operand that begins with a word.
func (p *parser) wordOperand(restricted bool) Expr {
	t, after := p.peek(), p.peekAt(1)
	at := Loc{t.at}
	paren := after.kind == tokOp && after.text == "("
	switch t.upper {
	case "NOT":
		if restricted {
			p.expected("an expression without NOT (put it in parentheses)")
		}
		p.next()
		return &Unary{Loc: at, Op: Not, X: p.exprAbove(precNot, false)}
	case "NULL":
		p.next()
		return &NullLit{at}
	case "TRUE", "FALSE":
		p.next()
		return &BoolLit{Loc: at, Value: t.upper == "TRUE"}
	case "CASE":
		return p.caseExpr()
	case "CAST":
		return p.cast()
	case "INTERVAL":
		if p.atString(after) {
			return p.intervalLiteral()
		}
		if paren {
			p.unsupported(t.at, "INTERVAL(...)")
		}
	case "EXISTS":
		if paren {
			p.next()
			if !p.queryInParens() {
				p.next()
				p.expected("a query")
			}
			return &Exists{Loc: at, Query: p.queryInOwnParens()}
		}
	case "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP":
		p.next()
		if p.acceptOp("(") && !p.acceptOp(")") {
			p.unsupported(t.at, "precision of "+t.upper)
		}
		return &Call{Loc: at, Name: lowerASCII(t.upper)}
	case "ANY", "ALL", "SOME", "ARRAY":
		p.unsupported(t.at, t.upper)
	case "ROW":
		if paren {
			p.unsupported(t.at, t.upper)
		}
	case "LEFT", "RIGHT":
		if paren {
			return p.columnOrCall()
		}
	}
	if typ, ok := typeWords[t.upper]; ok && p.atString(after) && !isReserved(t.upper) {
		p.next()
		typ.At = t.at
		s := p.next()
		return &Cast{Loc: at, X: &StringLit{Loc: Loc{s.at}, Value: s.text}, Type: typ}
	}
	if isReserved(t.upper) {
		p.expected("an expression")
	}
	return p.columnOrCall()
}

// queryInOwnParens = "(" query ")".
func (p *parser) queryInOwnParens() Query {
	p.expectOp("(")
	q := p.query()
	p.expectOp(")")
	return q
}

// columnOrCall = {name "."} name | function "(" arguments ")".
func (p *parser) columnOrCall() Expr {
	first := p.peek()
	if after := p.peekAt(1); after.kind == tokOp && after.text == "(" && first.text != "" {
		return p.call()
	}
	parts := []string{p.ident("an expression").Name}
	for p.atOp(".") {
		if len(parts) == 4 {
			p.failAt(p.peek().at, "expected at most four parts in the name of a column")
		}
		p.next()
		parts = append(parts, p.attribute("the name of a column").Name)
	}
	if p.atOp("(") {
		p.unsupported(first.at, "function name in more than one part")
	}
	last := len(parts) - 1
	c := &Column{Loc: Loc{first.at}, Name: parts[last]}
	if last > 0 {
		c.Table = parts[:last]
	}
	return c
}

// star reads name.* if it is next; else it returns nil.
func (p *parser) star() Expr {
	first := p.peek()
	var table []string
	for n := 0; ; n += 2 {
		name, point := p.peekAt(n), p.peekAt(n+1)
		if name.kind == tokOp && name.text == "*" && n <= 6 {
			p.i += n + 1
			return &Star{Loc: Loc{first.at}, Table: table}
		}
		if n == 0 && !p.atIdent(name) || n > 0 && name.kind != tokWord && !p.atIdent(name) ||
			name.text == "" || point.kind != tokOp || point.text != "." {
			return nil
		}
		table = append(table, name.text)
	}
}

// call = function "(" [DISTINCT | ALL] arguments ")" | function "(" "*" ")".
func (p *parser) call() Expr {
	name := p.next()
	c := &Call{Loc: Loc{name.at}, Name: name.text}
	if name.kind == tokWord {
		c.Name = lowerASCII(name.text)
	}
	p.expectOp("(")
	switch {
	case p.acceptOp("*"):
		c.Star = true
	case p.atOp(")"):
	default:
		if c.Distinct = p.acceptWords("DISTINCT"); !c.Distinct {
			p.acceptWords("ALL")
		}
		if p.atWords("VARIADIC") {
			p.unsupported(p.peek().at, "VARIADIC")
		}
		c.Args = p.exprs()
	}
	if p.atAny("ORDER", "FROM", "FOR", "PLACING", "IN", "USING") {
		p.unsupported(p.peek().at, p.peek().upper+" among the arguments of a function")
	}
	p.expectOp(")")
	after := p.peekAt(1)
	switch t := p.peek(); {
	case t.upper == "OVER":
		p.unsupported(t.at, "OVER (a window function)")
	case t.upper == "FILTER" && after.kind == tokOp && after.text == "(":
		p.unsupported(t.at, "FILTER")
	case t.upper == "WITHIN" && after.upper == "GROUP":
		p.unsupported(t.at, "WITHIN GROUP")
	}
	return c
}

// caseExpr = CASE [operand] WHEN cond THEN result {WHEN cond THEN result} [ELSE result] END.
func (p *parser) caseExpr() Expr {
	c := &Case{Loc: Loc{p.next().at}}
	if !p.atWords("WHEN") {
		c.Operand = p.expr()
	}
	for {
		w := When{Loc: Loc{p.expectWords("WHEN").at}}
		w.Cond = p.expr()
		p.expectWords("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
		if !p.atWords("WHEN") {
			break
		}
	}
	if p.acceptWords("ELSE") {
		c.Else = p.expr()
	} else if !p.atWords("END") {
		p.expected("WHEN, ELSE or END")
	}
	p.expectWords("END")
	return c
}

// cast = CAST "(" expr AS type ")".
func (p *parser) cast() Expr {
	c := &Cast{Loc: Loc{p.next().at}}
	p.expectOp("(")
	c.X = p.expr()
	p.expectWords("AS")
	c.Type = p.dataType()
	p.expectOp(")")
	return c
}

// intervalLiteral = INTERVAL string [unit].
func (p *parser) intervalLiteral() Expr {
	at := Loc{p.next().at}
	text := p.next()
	if p.atAny("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND") {
		unit := p.peek()
		if strings.TrimLeft(text.text, "+-.0123456789") != "" {
			p.failAt(unit.at, "expected no unit behind the interval, which has units of its own")
		}
		p.next()
		text.text += " " + unit.upper
	}
	if p.atWords("TO") {
		p.unsupported(p.peek().at, "TO in an interval")
	}
	return &IntervalLit{Loc: at, Value: p.interval(text)}
}
