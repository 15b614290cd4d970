package sql

// statements = [statement] {";" [statement]}.
func (p *parser) statements() []Statement {
	var list []Statement
	for {
		p.skipSemicolons()
		if p.peek().kind == tokEOF {
			return list
		}
		list = append(list, p.statement())
		if !p.atOp(";") && p.peek().kind != tokEOF {
			p.expected("; or the end of the statement")
		}
	}
}

func (p *parser) skipSemicolons() {
	for p.acceptOp(";") {
	}
}

// foreign are statements of other dialects, which are refused by their first words.
var foreign = wordSet(`
	ALTER ANALYZE BEGIN CALL CLOSE COMMIT COPY DEALLOCATE DECLARE DESC DESCRIBE EXECUTE FETCH GRANT KILL LOCK MERGE
	PREPARE RENAME REPLACE REVOKE ROLLBACK SET START TABLE TQL TRUNCATE UPDATE USE VACUUM VALUES WITH`)

func (p *parser) statement() Statement {
	first := p.peek()
	var s Statement
	switch first.upper {
	case "CREATE":
		s = p.create()
	case "DROP":
		s = p.drop()
	case "FLUSH", "ADMIN":
		s = p.flush()
	case "INSERT":
		s = p.insert()
	case "DELETE":
		s = p.delete()
	case "SHOW":
		s = p.show()
	case "EXPLAIN":
		s = p.explain()
	default:
		switch {
		case p.atQuery():
			s = p.query()
		case foreign[first.upper]:
			p.unsupported(first.at, first.upper)
		default:
			p.expected("a statement")
		}
	}
	p.checkHeight(s)
	return s
}

// drop = DROP (TABLE | FLOW) [IF EXISTS] name.
func (p *parser) drop() Statement {
	at := p.next().at
	switch {
	case p.acceptWords("TABLE"):
		ifExists := p.acceptWords("IF", "EXISTS")
		return &DropTable{Loc: Loc{at}, IfExists: ifExists, Name: p.name("the name of a table")}
	case p.acceptWords("FLOW"):
		ifExists := p.acceptWords("IF", "EXISTS")
		return &DropFlow{Loc: Loc{at}, IfExists: ifExists, Name: p.name("the name of a flow")}
	}
	if what := p.peek(); what.kind == tokWord {
		p.unsupported(at, "DROP "+what.upper)
	}
	p.expected("TABLE or FLOW")
	return nil
}

// flush = FLUSH FLOW name | ADMIN FLUSH_FLOW "(" string ")".
func (p *parser) flush() Statement {
	first := p.next()
	if first.upper == "FLUSH" {
		p.expectWords("FLOW")
		return &FlushFlow{Loc: Loc{first.at}, Name: p.name("the name of a flow")}
	}
	if what := p.peek(); what.kind == tokWord && what.upper != "FLUSH_FLOW" {
		p.unsupported(first.at, "ADMIN "+what.upper)
	}
	p.expectWords("FLUSH_FLOW")
	p.expectOp("(")
	text := p.peek()
	p.str("the name of a flow as a string")
	name, err := parse(text.text, func(p *parser) Name { return p.name("the name of a flow") })
	if err != nil {
		p.failAt(text.at, "expected the name of a flow in the string, found %s", quoteShort(text.text))
	}
	name.At = text.at
	p.expectOp(")")
	return &FlushFlow{Loc: Loc{first.at}, Name: name}
}

// insert = INSERT INTO name [columns] VALUES row {"," row} [","].
func (p *parser) insert() Statement {
	s := &Insert{Loc: Loc{p.next().at}}
	p.expectWords("INTO")
	s.Table = p.name("the name of a table")
	if p.atOp("(") && !p.queryInParens() {
		s.Columns = p.idents("the name of a column")
	}
	if p.atQuery() {
		p.unsupported(p.peek().at, "INSERT with a query")
	}
	if p.atWords("DEFAULT", "VALUES") {
		p.unsupported(p.peek().at, "DEFAULT VALUES")
	}
	p.expectWords("VALUES")
	p.values = true
	for {
		s.Rows = append(s.Rows, p.row())
		if !p.acceptOp(",") || p.atEnd() {
			break
		}
	}
	p.values = false
	if p.atWords("ON") || p.atWords("RETURNING") {
		p.unsupported(p.peek().at, p.peek().upper+" in INSERT")
	}
	return s
}

// row = "(" value {"," value} [","] ")".
func (p *parser) row() []Expr {
	p.expectOp("(")
	var row []Expr
	for {
		if t := p.peek(); p.acceptWords("DEFAULT") {
			row = append(row, &DefaultLit{Loc{t.at}})
		} else {
			row = append(row, p.expr())
		}
		if !p.acceptOp(",") || p.atOp(")") {
			break
		}
	}
	p.expectOp(")")
	return row
}

// delete = DELETE FROM name [WHERE condition].
func (p *parser) delete() Statement {
	s := &Delete{Loc: Loc{p.next().at}}
	p.expectWords("FROM")
	s.Table = p.name("the name of a table")
	if p.atAny("USING", "RETURNING") {
		p.unsupported(p.peek().at, p.peek().upper+" in DELETE")
	}
	if p.acceptWords("WHERE") {
		s.Where = p.expr()
	}
	return s
}

// show = SHOW (FLOWS | TABLES).
func (p *parser) show() Statement {
	at := p.next().at
	s := &Show{Loc: Loc{at}}
	what := p.peek()
	switch {
	case p.acceptWords("FLOWS"):
	case p.acceptWords("TABLES"):
		s.What = ShowTables
	case what.kind == tokWord:
		p.unsupported(at, "SHOW "+what.upper)
	default:
		p.expected("FLOWS or TABLES")
	}
	if p.atAny("LIKE", "WHERE", "FROM", "IN") {
		p.unsupported(p.peek().at, p.peek().upper+" in SHOW")
	}
	return s
}

// explain = EXPLAIN statement.
func (p *parser) explain() Statement {
	at := p.next().at
	if p.atAny("ANALYZE", "VERBOSE", "EXPLAIN") {
		p.unsupported(at, "EXPLAIN "+p.peek().upper)
	}
	return &Explain{Loc: Loc{at}, Statement: p.statement()}
}

// expireAfter = [+ | -] seconds | INTERVAL string | string [:: INTERVAL] | CAST (string AS INTERVAL).
func (p *parser) expireAfter() *ExpireAfter {
	first := p.peek()
	if first.kind == tokString && !(p.peekAt(1).kind == tokOp && p.peekAt(1).text == "::") {
		p.next()
		return &ExpireAfter{Loc: Loc{first.at}, Seconds: p.interval(first).Seconds()}
	}
	const what = "a number of seconds or an interval such as INTERVAL '1 hour'"
	if p.atAny("AS", "COMMENT") || first.kind == tokEOF {
		p.expected(what)
	}
	switch e := p.expr().(type) {
	case *IntLit:
		return &ExpireAfter{Loc: Loc{first.at}, Seconds: e.Value}
	case *IntervalLit:
		return &ExpireAfter{Loc: Loc{first.at}, Seconds: e.Value.Seconds()}
	case *Cast:
		if s, ok := e.X.(*StringLit); ok && e.Type.Kind == TypeInterval {
			v, err := ParseInterval(s.Value)
			if err != nil {
				p.failAt(s.At, "%v", err)
			}
			return &ExpireAfter{Loc: Loc{first.at}, Seconds: v.Seconds()}
		}
	}
	p.failAt(first.at, "expected %s, found another expression", what)
	return nil
}

// interval reads the text of an interval that was moved over.
func (p *parser) interval(t token) Interval {
	v, err := ParseInterval(t.text)
	if err != nil {
		p.failAt(t.at, "%v", err)
	}
	return v
}
