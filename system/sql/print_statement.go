package sql

import "strconv"

func (n *CreateTable) print(p *printer) {
	p.write("CREATE TABLE ")
	p.flag(n.IfNotExists, "IF NOT EXISTS ")
	p.write(n.Name, " (")
	printList(p, n.Columns)
	if n.TimeIndex != nil {
		p.write(", TIME INDEX (", n.TimeIndex, ")")
	}
	if n.PrimaryKey != nil {
		p.write(", PRIMARY KEY (")
		printList(p, n.PrimaryKey)
		p.write(")")
	}
	p.write(")")
	if n.Engine != "" {
		p.write(" ENGINE = ", Ident{Name: n.Engine})
	}
	if n.Options != nil {
		p.write(" WITH (")
		printList(p, n.Options)
		p.write(")")
	}
}

func (n ColumnDef) print(p *printer) {
	p.write(Ident{Name: n.Name}, " ", n.Type)
	p.flag(n.Null == Nullable, " NULL")
	p.flag(n.Null == NotNull, " NOT NULL")
	if n.Default != nil {
		p.write(" DEFAULT ")
		p.operand(n.Default, precOther)
	}
	if n.Comment != "" {
		p.write(" COMMENT ", &StringLit{Value: n.Comment})
	}
}

func (n Option) print(p *printer) {
	p.str(n.Key)
	p.write(" = ", n.Value)
}

func (n *CreateFlow) print(p *printer) {
	p.write("CREATE ")
	p.flag(n.OrReplace, "OR REPLACE ")
	p.write("FLOW ")
	p.flag(n.IfNotExists, "IF NOT EXISTS ")
	p.write(n.Name, " SINK TO ", n.Sink)
	if n.ExpireAfter != nil {
		p.write(" EXPIRE AFTER ", n.ExpireAfter)
	}
	if n.Comment != "" {
		p.write(" COMMENT ", &StringLit{Value: n.Comment})
	}
	p.write(" AS ", n.Query)
}

func (n *ExpireAfter) print(p *printer) { p.write(strconv.FormatInt(n.Seconds, 10)) }

func (n *DropTable) print(p *printer) {
	p.write("DROP TABLE ")
	p.flag(n.IfExists, "IF EXISTS ")
	p.write(n.Name)
}

func (n *DropFlow) print(p *printer) {
	p.write("DROP FLOW ")
	p.flag(n.IfExists, "IF EXISTS ")
	p.write(n.Name)
}

func (n *FlushFlow) print(p *printer) { p.write("FLUSH FLOW ", n.Name) }

func (n *Insert) print(p *printer) {
	p.write("INSERT INTO ", n.Table)
	if n.Columns != nil {
		p.write(" (")
		printList(p, n.Columns)
		p.write(")")
	}
	p.write(" VALUES ")
	for i, row := range n.Rows {
		p.flag(i > 0, ", ")
		p.write("(")
		p.exprs(row)
		p.write(")")
	}
}

func (n *Delete) print(p *printer) {
	p.write("DELETE FROM ", n.Table)
	if n.Where != nil {
		p.write(" WHERE ", n.Where)
	}
}

func (n *Show) print(p *printer) {
	if n.What == ShowTables {
		p.write("SHOW TABLES")
	} else {
		p.write("SHOW FLOWS")
	}
}

func (n *Explain) print(p *printer) { p.write("EXPLAIN ", n.Statement) }
