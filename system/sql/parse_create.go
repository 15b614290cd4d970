package sql

// create = CREATE (TABLE ... | [OR REPLACE] FLOW ...).
func (p *parser) create() Statement {
	at := p.next().at
	orReplace := p.acceptWords("OR", "REPLACE")
	switch what := p.peek(); {
	case p.acceptWords("FLOW"):
		return p.createFlow(at, orReplace)
	case what.upper == "TABLE" && !orReplace:
		p.next()
		return p.createTable(at)
	case what.kind == tokWord:
		construct := "CREATE "
		if orReplace {
			construct += "OR REPLACE "
		}
		p.unsupported(at, construct+what.upper)
	}
	p.expected("TABLE or FLOW")
	return nil
}

// createFlow = CREATE [OR REPLACE] FLOW [IF NOT EXISTS] name SINK TO name [EXPIRE AFTER duration]
// [COMMENT string] AS query.
func (p *parser) createFlow(at Pos, orReplace bool) Statement {
	s := &CreateFlow{Loc: Loc{at}, OrReplace: orReplace}
	s.IfNotExists = p.acceptWords("IF", "NOT", "EXISTS")
	s.Name = p.name("the name of a flow")
	p.expectWords("SINK", "TO")
	s.Sink = p.name("the name of the sink table")
	expected := "EXPIRE, COMMENT or AS"
	if p.acceptWords("EXPIRE") {
		p.expectWords("AFTER")
		s.ExpireAfter = p.expireAfter()
		expected = "COMMENT or AS"
	}
	if p.acceptWords("COMMENT") {
		p.acceptOp("=")
		s.Comment = p.str("the comment as a string")
		expected = "AS"
	}
	if !p.acceptWords("AS") {
		p.expected(expected)
	}
	if !p.atQuery() {
		if p.atAny("WITH", "VALUES", "TABLE", "TQL") {
			p.unsupported(p.peek().at, p.peek().upper+" as the query of a flow")
		}
		p.expected("SELECT")
	}
	s.Query = p.query()
	return s
}

// createTable = CREATE TABLE [IF NOT EXISTS] name "(" element {"," element} [","] ")"
// [ENGINE = name] [WITH "(" options ")"].
func (p *parser) createTable(at Pos) Statement {
	s := &CreateTable{Loc: Loc{at}}
	s.IfNotExists = p.acceptWords("IF", "NOT", "EXISTS")
	s.Name = p.name("the name of a table")
	p.expectOp("(")
	for {
		p.tableElement(s)
		if !p.acceptOp(",") || p.atOp(")") {
			break
		}
	}
	p.expectOp(")")
	if p.atWords("PARTITION") {
		p.unsupported(p.peek().at, "PARTITION")
	}
	if p.acceptWords("ENGINE") {
		p.expectOp("=")
		s.Engine = p.ident("the name of a storage engine").Name
	}
	if p.acceptWords("WITH") {
		s.Options = p.options()
	}
	return s
}

// tableElement = TIME INDEX "(" name ")" | PRIMARY KEY "(" names ")" | column.
func (p *parser) tableElement(s *CreateTable) {
	first := p.peek()
	third := p.peekAt(2)
	switch {
	case p.atWords("TIME", "INDEX") && third.kind == tokOp && third.text == "(":
		p.i += 2
		list := p.idents("the name of the time index column")
		if len(list) != 1 {
			p.failAt(list[1].At, "expected one column in TIME INDEX, found %d", len(list))
		}
		p.setTimeIndex(s, first.at, list[0])
	case p.acceptWords("PRIMARY"):
		p.expectWords("KEY")
		p.setPrimaryKey(s, first.at, p.idents("the name of a column"))
	case p.atAny("CONSTRAINT", "UNIQUE", "CHECK", "FOREIGN"):
		p.unsupported(first.at, first.upper)
	default:
		p.column(s)
	}
}

// A table has one time index and one primary key, wherever they are written.
func (p *parser) setTimeIndex(s *CreateTable, at Pos, column Ident) {
	if s.TimeIndex != nil {
		p.failAt(at, "a second TIME INDEX; the first is %s", quoteShort(s.TimeIndex.Name))
	}
	s.TimeIndex = &column
}

func (p *parser) setPrimaryKey(s *CreateTable, at Pos, columns []Ident) {
	if s.PrimaryKey != nil {
		p.failAt(at, "a second PRIMARY KEY; list all of its columns in one PRIMARY KEY (...)")
	}
	s.PrimaryKey = columns
}

// column = name type {NULL | NOT NULL | DEFAULT value | COMMENT string | TIME INDEX | PRIMARY KEY}.
func (p *parser) column(s *CreateTable) {
	name := p.ident("a column, TIME INDEX or PRIMARY KEY")
	c := ColumnDef{Loc: name.Loc, Name: name.Name, Type: p.dataType()}
	for {
		t := p.peek()
		switch {
		case p.acceptWords("NOT", "NULL"):
			p.setNull(&c, t, NotNull)
		case p.acceptWords("NULL"):
			p.setNull(&c, t, Nullable)
		case p.acceptWords("DEFAULT"):
			if c.Default != nil {
				p.failAt(t.at, "a second DEFAULT of column %s", quoteShort(c.Name))
			}
			// As in PostgreSQL: what NOT begins, here, is not an operator of the default.
			c.Default = p.restrictedExpr()
		case p.acceptWords("COMMENT"):
			c.Comment = p.str("the comment as a string")
		case p.acceptWords("TIME"):
			p.expectWords("INDEX")
			p.setTimeIndex(s, t.at, name)
		case p.acceptWords("PRIMARY"):
			p.expectWords("KEY")
			p.setPrimaryKey(s, t.at, []Ident{name})
		case p.atAny("UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "FULLTEXT", "INVERTED", "SKIPPING", "GENERATED"):
			p.unsupported(t.at, t.upper+" of a column")
		default:
			if !p.atOp(",") && !p.atOp(")") {
				p.expected("a column option, a comma or )")
			}
			s.Columns = append(s.Columns, c)
			return
		}
	}
}

func (p *parser) setNull(c *ColumnDef, at token, n Nullability) {
	if c.Null != NullUnspecified && c.Null != n {
		p.failAt(at.at, "column %s is both NULL and NOT NULL", quoteShort(c.Name))
	}
	c.Null = n
}

// options = "(" [key "=" value {"," key "=" value} [","]] ")".
func (p *parser) options() []Option {
	p.expectOp("(")
	var list []Option
	for !p.atOp(")") {
		o := Option{Loc: Loc{p.peek().at}}
		if p.atString(p.peek()) {
			o.Key = p.next().text
		} else {
			o.Key = p.ident("the key of an option").Name
			for p.acceptOp(".") {
				o.Key += "." + p.attribute("the key of an option").Name
			}
		}
		p.expectOp("=")
		o.Value = p.optionValue()
		list = append(list, o)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return list
}

// optionValue = literal | word.
func (p *parser) optionValue() Expr {
	t := p.peek()
	if p.atIdent(t) {
		p.next()
		return &StringLit{Loc: Loc{t.at}, Value: t.text}
	}
	switch e := p.restrictedExpr().(type) {
	case *IntLit, *FloatLit, *StringLit, *BoolLit:
		return e
	}
	p.failAt(t.at, "expected a string, a number, TRUE, FALSE or a word as the value of an option")
	return nil
}
