package pgcheck

import (
	"math/rand/v2"
	"strings"
)

// generator draws the tokens of queries. It puts few parentheses, so that it is for the parsers
// to say what belongs together, and not seldom draws what neither of them accepts.
type generator struct {
	rand   *rand.Rand
	tokens []string
}

func (g *generator) put(text string) { g.tokens = append(g.tokens, strings.Fields(text)...) }

func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

func (g *generator) pick(options ...string) string { return options[g.rand.IntN(len(options))] }

// some draws one or more, with a separator between them.
func (g *generator) some(separator string, draw func()) {
	draw()
	for g.chance(30) {
		g.put(separator)
		draw()
	}
}

func (g *generator) query(depth int) {
	if depth > 0 && g.chance(8) {
		g.put("(")
		g.query(depth - 1)
		g.put(")")
	} else {
		g.core(depth)
	}
	if depth > 0 && g.chance(15) {
		g.put(g.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"))
		g.query(depth - 1)
	}
	if g.chance(15) {
		g.put("ORDER BY")
		g.some(",", func() {
			g.expr(depth - 1)
			g.put(g.pick("", "", "ASC", "DESC") + " " + g.pick("", "", "NULLS FIRST", "NULLS LAST"))
		})
	}
	if g.chance(10) {
		g.put(g.pick("LIMIT 3", "OFFSET 2", "LIMIT 1 OFFSET 2", "OFFSET 2 LIMIT 1"))
	}
}

func (g *generator) core(depth int) {
	g.put("SELECT " + g.pick("", "", "", "DISTINCT", "ALL"))
	g.some(",", func() {
		if g.chance(10) {
			g.put(g.pick("*", "t . *"))
			return
		}
		g.expr(depth)
		g.put(g.pick("", "", "AS x", "y", "AS select"))
	})
	if g.chance(80) {
		g.put("FROM")
		g.some(",", func() { g.table(depth - 1) })
	}
	if g.chance(50) {
		g.put("WHERE")
		g.expr(depth)
	}
	if g.chance(30) {
		g.put("GROUP BY")
		g.some(",", func() { g.expr(depth - 1) })
	}
	if g.chance(15) {
		g.put("HAVING")
		g.expr(depth - 1)
	}
}

func (g *generator) table(depth int) {
	switch {
	case depth > 0 && g.chance(15):
		g.put("(")
		if g.chance(40) {
			g.table(depth - 1)
			g.put("JOIN")
			g.table(0)
			g.put("USING ( a )")
		} else {
			g.query(depth - 1)
		}
		g.put(")" + g.pick("", " AS s", " s"))
	default:
		g.put(g.pick("t", "s . t", "c . s . t", "u") + g.pick("", " AS v", " w"))
	}
	for depth > 0 && g.chance(25) {
		g.put(g.pick("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"))
		g.table(depth - 1)
		switch {
		case g.chance(60):
			g.put("ON")
			g.expr(depth - 1)
		case g.chance(70):
			g.put("USING ( a , b )")
		}
	}
}

func (g *generator) expr(depth int) {
	g.operand(depth)
	for depth > 0 && g.chance(40) {
		switch {
		case g.chance(70):
			op := g.pick("OR", "AND", "OR", "AND", "=", "<>", "!=", "<", "<=", ">", ">=", "||", "+", "-", "*", "/", "%", "^",
				"IS DISTINCT FROM", "IS NOT DISTINCT FROM", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
			g.put(op)
			g.operand(depth - 1)
			if strings.HasSuffix(op, "LIKE") && g.chance(30) {
				g.put("ESCAPE '!'")
			}
		case g.chance(30):
			g.put(g.pick("BETWEEN", "NOT BETWEEN"))
			g.expr(depth - 2)
			g.put("AND")
			g.operand(depth - 1)
		case g.chance(30):
			g.put(g.pick("IN (", "NOT IN ("))
			if g.chance(30) {
				g.query(depth - 1)
			} else {
				g.some(",", func() { g.expr(depth - 1) })
			}
			g.put(")")
		default:
			g.put(g.pick("IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS UNKNOWN", "IS NOT UNKNOWN",
				":: int", ":: text", ":: timestamp", ":: double precision", ":: bigint"))
		}
	}
}

func (g *generator) operand(depth int) {
	for g.chance(20) {
		g.put(g.pick("NOT", "-", "-", "+"))
	}
	if depth <= 0 || g.chance(50) {
		g.put(g.pick("a", "b", "t . a", "s . t . a", "1", "0", "2147483648", "9223372036854775807", "1.5", ".5", "2e3", "'x'", "''", "'it''s'",
			"TRUE", "FALSE", "NULL", "current_timestamp", "CURRENT_DATE", "INTERVAL '1_day'", "DATE '2024-01-01'", `"q"`))
		return
	}
	switch g.pick("parens", "call", "call", "case", "cast", "exists", "subquery") {
	case "parens":
		g.put("(")
		g.expr(depth - 1)
		g.put(")")
	case "call":
		g.put(g.pick("sum", "date_bin", "tumble", "COUNT", "left", "now") + " (")
		switch {
		case g.chance(20):
			g.put("*")
		case g.chance(80):
			g.put(g.pick("", "", "", "DISTINCT", "ALL"))
			g.some(",", func() { g.expr(depth - 1) })
		}
		g.put(")")
	case "case":
		g.put("CASE")
		if g.chance(40) {
			g.expr(depth - 1)
		}
		g.some("", func() {
			g.put("WHEN")
			g.expr(depth - 1)
			g.put("THEN")
			g.expr(depth - 1)
		})
		if g.chance(50) {
			g.put("ELSE")
			g.expr(depth - 1)
		}
		g.put("END")
	case "cast":
		g.put("CAST (")
		g.expr(depth - 1)
		g.put("AS " + g.pick("int", "smallint", "real", "boolean", "text", "timestamp", "date", "numeric", "double precision") + " )")
	case "exists":
		g.put("EXISTS (")
		g.query(depth - 1)
		g.put(")")
	case "subquery":
		g.put("(")
		g.query(depth - 1)
		g.put(")")
	}
}

// damage loses, doubles or swaps some tokens.
func (g *generator) damage() {
	for range 1 + g.rand.IntN(2) {
		i, j := g.rand.IntN(len(g.tokens)), g.rand.IntN(len(g.tokens))
		switch g.rand.IntN(3) {
		case 0:
			g.tokens[i] = ""
		case 1:
			g.tokens[i] += " " + g.tokens[i]
		case 2:
			g.tokens[i], g.tokens[j] = g.tokens[j], g.tokens[i]
		}
	}
}

func (g *generator) text() string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.Join(g.tokens, " ")), " "), "_day", " day")
}
