package sql

import (
	"math"
	"strconv"
	"strings"
)

// operand writes an expression, in parentheses if it binds less tightly than the precedence.
func (p *printer) operand(e Expr, prec int) {
	if precedence(e) < prec {
		p.write("(", e, ")")
	} else {
		p.write(e)
	}
}

func precedence(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		return e.Op.precedence()
	case *Is:
		return precIs
	case *Like, *Between, *In:
		return precLike
	case *Unary:
		if e.Op == Not {
			return precNot
		}
		return precSign
	}
	return precPrimary
}

func (n *Column) print(p *printer) {
	for _, part := range n.Table {
		p.write(Ident{Name: part}, ".")
	}
	p.ident(n.Name)
}

func (n *Star) print(p *printer) {
	for _, part := range n.Table {
		p.write(Ident{Name: part}, ".")
	}
	p.write("*")
}

func (n *IntLit) print(p *printer) { p.write(strconv.FormatInt(n.Value, 10)) }

func (n *FloatLit) print(p *printer) {
	text := strconv.FormatFloat(n.Value, 'g', -1, 64)
	p.write(text)
	p.flag(!strings.ContainsAny(text, ".e"), ".0")
}

func (n *StringLit) print(p *printer) { p.str(n.Value) }

func (n *BoolLit) print(p *printer) { p.write(strings.ToUpper(strconv.FormatBool(n.Value))) }

func (n *NullLit) print(p *printer) { p.write("NULL") }

func (n *DefaultLit) print(p *printer) { p.write("DEFAULT") }

func (n *IntervalLit) print(p *printer) { p.write("INTERVAL '", n.Value.String(), "'") }

func (n *Unary) print(p *printer) {
	p.write(n.Op.String())
	if n.Op == Not {
		p.write(" ")
		p.operand(n.X, precNot)
		return
	}
	// Two minus signs in a row would be a comment.
	p.flag(signed(n.X), " ")
	p.operand(n.X, precSign)
}

// String returns the operator as it is written.
func (op UnaryOp) String() string { return [...]string{Neg: "-", Plus: "+", Not: "NOT"}[op] }

// signed says whether an expression is written with a sign first.
func signed(e Expr) bool {
	switch e := e.(type) {
	case *Unary:
		return e.Op != Not
	case *IntLit:
		return e.Value < 0
	case *FloatLit:
		return math.Signbit(e.Value)
	}
	return false
}

func (n *Binary) print(p *printer) {
	left := n.Op.precedence()
	if !n.Op.chains() {
		left++
	}
	p.operand(n.X, left)
	p.write(" ", n.Op.String(), " ")
	p.operand(n.Y, n.Op.precedence()+1)
}

func (n *Is) print(p *printer) {
	p.operand(n.X, precIs+1)
	p.write(" IS ")
	p.flag(n.Not, "NOT ")
	p.write([...]string{IsNull: "NULL", IsTrue: "TRUE", IsFalse: "FALSE", IsUnknown: "UNKNOWN"}[n.What])
}

func (n *Like) print(p *printer) {
	p.operand(n.X, precLike+1)
	p.flag(n.Not, " NOT")
	if n.NoCase {
		p.write(" ILIKE ")
	} else {
		p.write(" LIKE ")
	}
	p.operand(n.Pattern, precLike+1)
	if n.Escape != nil {
		p.write(" ESCAPE ")
		p.operand(n.Escape, precLike+1)
	}
}

func (n *Between) print(p *printer) {
	p.operand(n.X, precLike+1)
	p.flag(n.Not, " NOT")
	p.write(" BETWEEN ")
	p.operand(n.Low, precLike+1)
	p.write(" AND ")
	p.operand(n.High, precLike+1)
}

func (n *In) print(p *printer) {
	p.operand(n.X, precLike+1)
	p.flag(n.Not, " NOT")
	p.write(" IN (")
	if n.Query != nil {
		p.write(n.Query)
	} else {
		p.exprs(n.List)
	}
	p.write(")")
}

func (n *Exists) print(p *printer) { p.write("EXISTS (", n.Query, ")") }

func (n *Subquery) print(p *printer) { p.write("(", n.Query, ")") }

func (n *Case) print(p *printer) {
	p.write("CASE")
	if n.Operand != nil {
		p.write(" ", n.Operand)
	}
	for _, w := range n.Whens {
		p.write(" ", w)
	}
	if n.Else != nil {
		p.write(" ELSE ", n.Else)
	}
	p.write(" END")
}

func (n When) print(p *printer) { p.write("WHEN ", n.Cond, " THEN ", n.Then) }

func (n *Cast) print(p *printer) { p.write("CAST(", n.X, " AS ", n.Type, ")") }

// bareCalls are written without parentheses.
var bareCalls = wordSet("CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIME LOCALTIMESTAMP")

func (n *Call) print(p *printer) {
	if upper := upperASCII(n.Name); bareCalls[upper] && n.Name == lowerASCII(n.Name) && len(n.Args) == 0 && !n.Star {
		p.write(upper)
		return
	}
	if n.Name == lowerASCII(n.Name) {
		p.ident(n.Name)
	} else {
		p.write("`", strings.ReplaceAll(n.Name, "`", "``"), "`")
	}
	p.write("(")
	p.flag(n.Distinct, "DISTINCT ")
	if n.Star {
		p.write("*")
	}
	p.exprs(n.Args)
	p.write(")")
}
