package sql

import (
	"strconv"
	"strings"
)

// printer writes nodes as SQL, on one line, with no more parentheses than needed.
type printer struct{ strings.Builder }

func format(n Node) string {
	var p printer
	n.print(&p)
	return p.String()
}

// write writes texts and nodes one after the other.
func (p *printer) write(parts ...any) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			p.WriteString(part)
		case Node:
			part.print(p)
		}
	}
}

// flag writes a text if it applies.
func (p *printer) flag(on bool, text string) {
	if on {
		p.WriteString(text)
	}
}

// printList writes nodes with commas between them.
func printList[N any, P interface {
	*N
	Node
}](p *printer, list []N) {
	for i := range list {
		p.flag(i > 0, ", ")
		P(&list[i]).print(p)
	}
}

func (p *printer) exprs(list []Expr) {
	for i, e := range list {
		p.flag(i > 0, ", ")
		e.print(p)
	}
}

// alone are words that mean something else than a name if a parenthesis or a string follows.
var alone = wordSet("CUBE EXISTS INTERVAL ROLLUP ROW")

// ident writes an identifier, in backquotes if it needs quotes. Double quotes would make it a
// string among VALUES.
func (p *printer) ident(name string) {
	if upper := upperASCII(name); name != "" && wordLength(name) == len(name) && !isReserved(upper) && !alone[upper] {
		p.WriteString(name)
		return
	}
	p.WriteString("`" + strings.ReplaceAll(name, "`", "``") + "`")
}

func (p *printer) name(parts []string) {
	for i, part := range parts {
		p.flag(i > 0, ".")
		p.ident(part)
	}
}

// str writes a string.
func (p *printer) str(s string) {
	p.WriteString("'" + strings.ReplaceAll(s, "'", "''") + "'")
}

func (n Ident) print(p *printer) { p.ident(n.Name) }

func (n Name) print(p *printer) { p.name(n.Parts) }

func (n DataType) print(p *printer) {
	p.write(typeNames[n.Kind])
	switch n.Kind {
	case TypeTimestamp:
		p.write("(", strconv.Itoa(n.Precision), ")")
	case TypeDecimal:
		p.write("(", strconv.Itoa(n.Precision), ", ", strconv.Itoa(n.Scale), ")")
	}
}
