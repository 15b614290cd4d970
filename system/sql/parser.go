package sql

import (
	"errors"
	"fmt"
	"strconv"
)

// MaxDepth is how deep parentheses and subqueries may nest in a text, and how tall a tree may
// grow: a chain such as a OR b OR c has the height of its number of operators.
const MaxDepth = 5000

// Parse returns the statements of a text, which are separated by semicolons. A text with nothing
// in it has none. Errors are of type *[Error].
func Parse(text string) ([]Statement, error) {
	return parse(text, (*parser).statements)
}

// ParseStatement parses a text with exactly one statement, which a semicolon may end.
func ParseStatement(text string) (Statement, error) {
	return parse(text, func(p *parser) Statement {
		p.skipSemicolons()
		s := p.statement()
		p.skipSemicolons()
		return s
	})
}

// ParseExpr parses a text that is an expression.
func ParseExpr(text string) (Expr, error) {
	return parse(text, func(p *parser) Expr {
		e := p.expr()
		p.checkHeight(e)
		return e
	})
}

// parse runs a production on a whole text.
func parse[T any](text string, production func(*parser) T) (result T, err error) {
	p := &parser{tokens: lex(text)}
	defer func() {
		// Productions report errors by panicking with them: each of them could fail at each
		// token, and none does anything about it.
		if r := recover(); r != nil {
			failure, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			var none T
			result, err = none, failure
		}
	}()
	result = production(p)
	if p.peek().kind != tokEOF {
		p.expected("the end of the statement")
	}
	return result, nil
}

// parser reads tokens from left to right.
type parser struct {
	tokens []token // the last is a tokEOF or a tokError
	i      int
	depth  int
	// values: a double-quoted token is a string, since this is among the VALUES of an INSERT.
	values bool
}

// peek returns the next token.
func (p *parser) peek() token { return p.tokens[p.i] }

// peekAt returns the token n after the next.
func (p *parser) peekAt(n int) token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }

// next moves over a token. The last is never moved over.
func (p *parser) next() token {
	t := p.tokens[p.i]
	if p.i < len(p.tokens)-1 {
		p.i++
	}
	return t
}

// failAt reports a syntax error.
func (p *parser) failAt(at Pos, format string, args ...any) {
	panic(&Error{Kind: ErrSyntax, At: at, Detail: fmt.Sprintf(format, args...)})
}

// expected reports that the next token is not what it has to be.
func (p *parser) expected(what string) {
	t := p.peek()
	if t.kind == tokError {
		panic(t.err)
	}
	p.failAt(t.at, "expected %s, found %s", what, t.describe())
}

// unsupported reports a construct of which the parser makes no node.
func (p *parser) unsupported(at Pos, construct string) {
	panic(UnsupportedAt(at, construct))
}

// enter counts a level of nesting; leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > MaxDepth {
		p.unsupported(p.peek().at, tooDeep)
	}
}

func (p *parser) leave() { p.depth-- }

var tooDeep = "nesting deeper than " + strconv.Itoa(MaxDepth) + " levels"

// atOp says whether the next token is an operator or punctuation mark.
func (p *parser) atOp(op string) bool {
	t := p.peek()
	return t.kind == tokOp && t.text == op
}

func (p *parser) acceptOp(op string) bool {
	if !p.atOp(op) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expectOp(op string) token {
	if !p.atOp(op) {
		p.expected(op)
	}
	return p.next()
}

// atWords says whether the next tokens are these words, written in any case.
func (p *parser) atWords(words ...string) bool {
	for i, w := range words {
		if p.peekAt(i).upper != w {
			return false
		}
	}
	return true
}

// atAny says whether the next token is one of these words.
func (p *parser) atAny(words ...string) bool {
	for _, w := range words {
		if p.peek().upper == w {
			return true
		}
	}
	return false
}

func (p *parser) acceptWords(words ...string) bool {
	if !p.atWords(words...) {
		return false
	}
	p.i += len(words)
	return true
}

func (p *parser) expectWords(words ...string) token {
	first := p.peek()
	for _, w := range words {
		if p.peek().upper != w {
			p.expected(w)
		}
		p.next()
	}
	return first
}

// atIdent says whether a token can be an identifier.
func (p *parser) atIdent(t token) bool {
	switch t.kind {
	case tokWord:
		return !isReserved(t.upper)
	case tokQuoted:
		return true
	case tokDouble:
		return !p.values
	}
	return false
}

// ident reads an identifier; what says of what.
func (p *parser) ident(what string) Ident {
	t := p.peek()
	if !p.atIdent(t) {
		p.expected(what)
	}
	if t.text == "" {
		p.failAt(t.at, "expected %s, found an empty identifier", what)
	}
	p.next()
	return Ident{Loc: Loc{t.at}, Name: t.text}
}

// name reads a name of up to three parts.
func (p *parser) name(what string) Name {
	first := p.ident(what)
	n := Name{Loc: first.Loc, Parts: []string{first.Name}}
	for p.atOp(".") {
		if len(n.Parts) == 3 {
			p.failAt(p.peek().at, "expected at most three parts in %s", what)
		}
		p.next()
		n.Parts = append(n.Parts, p.attribute(what).Name)
	}
	return n
}

// attribute reads an identifier behind a point or AS, where no word is reserved.
func (p *parser) attribute(what string) Ident {
	if t := p.peek(); t.kind == tokWord {
		p.next()
		return Ident{Loc: Loc{t.at}, Name: t.text}
	}
	return p.ident(what)
}

// idents reads a list of identifiers in parentheses, which a comma may end.
func (p *parser) idents(what string) []Ident {
	p.expectOp("(")
	var list []Ident
	for {
		list = append(list, p.ident(what))
		if !p.acceptOp(",") || p.atOp(")") {
			break
		}
	}
	p.expectOp(")")
	return list
}

// str reads a string.
func (p *parser) str(what string) string {
	t := p.peek()
	if !p.atString(t) {
		p.expected(what)
	}
	p.next()
	return t.text
}

func (p *parser) atString(t token) bool {
	return t.kind == tokString || t.kind == tokDouble && p.values
}

// number reads a whole number.
func (p *parser) number(what string) int64 {
	t := p.peek()
	if t.kind != tokNumber {
		p.expected(what)
	}
	n, err := strconv.ParseInt(t.text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		p.failAt(t.at, "%s is out of range, which ends at 9223372036854775807", t.describe())
	case err != nil:
		p.failAt(t.at, "expected %s, found %s, which is not whole", what, t.describe())
	}
	p.next()
	return n
}
