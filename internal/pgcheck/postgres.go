package pgcheck

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	pganalyze "github.com/pganalyze/pg_query_go/v6"
	pgquery "github.com/wasilibs/go-pgquery"

	"github.com/simrun-dev/simrun/system/sql"
)

// PostgresShape parses a query with PostgreSQL's grammar, and writes it as Shape does.
func PostgresShape(text string) (string, error) {
	result, err := pgquery.Parse(text)
	if err != nil {
		return "", err
	}
	if len(result.Stmts) != 1 || result.Stmts[0].Stmt.GetSelectStmt() == nil {
		return "", errors.New("not one SELECT")
	}
	return pgSelect(result.Stmts[0].Stmt.GetSelectStmt()), nil
}

func pgSelect(s *pganalyze.SelectStmt) string {
	tail := list("tail", list("order", pgList(s.SortClause)...), pg(s.LimitCount), pg(s.LimitOffset))
	if s.Op != pganalyze.SetOperation_SETOP_NONE {
		name := strings.TrimPrefix(s.Op.String(), "SETOP_")
		if s.All {
			name += " ALL"
		}
		return list(name, pgSelect(s.Larg), pgSelect(s.Rarg), tail)
	}
	name := "select"
	if s.DistinctClause != nil {
		name = "select-distinct"
	}
	return list(name, list("items", pgList(s.TargetList)...), list("from", pgList(s.FromClause)...), pg(s.WhereClause),
		list("group", pgList(s.GroupClause)...), pg(s.HavingClause), tail)
}

func pgList(nodes []*pganalyze.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, pg(n))
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func pgAlias(a *pganalyze.Alias) string { return orNone(a.GetAliasname()) }

func pgJoined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ".")
}

// names returns the strings in a list, or a star.
func names(nodes []*pganalyze.Node) []string {
	var out []string
	for _, n := range nodes {
		if n.GetAStar() != nil {
			out = append(out, "*")
		} else {
			out = append(out, n.GetString_().GetSval())
		}
	}
	return out
}

func pg(n *pganalyze.Node) string {
	if n == nil {
		return none
	}
	switch n := n.Node.(type) {
	case *pganalyze.Node_ResTarget:
		return list("item", pg(n.ResTarget.Val), "as:"+orNone(n.ResTarget.Name))
	case *pganalyze.Node_SortBy:
		direction := "asc"
		if n.SortBy.SortbyDir == pganalyze.SortByDir_SORTBY_DESC {
			direction = "desc"
		}
		nulls := strings.ToLower(strings.TrimPrefix(n.SortBy.SortbyNulls.String(), "SORTBY_NULLS_"))
		return list(direction, pg(n.SortBy.Node), nulls)
	case *pganalyze.Node_RangeVar:
		r := n.RangeVar
		return list("table", pgJoined(r.Catalogname, r.Schemaname, r.Relname), pgAlias(r.Alias))
	case *pganalyze.Node_RangeSubselect:
		return list("derived", pgSelect(n.RangeSubselect.Subquery.GetSelectStmt()), pgAlias(n.RangeSubselect.Alias))
	case *pganalyze.Node_JoinExpr:
		j := n.JoinExpr
		kind := strings.ToLower(strings.TrimPrefix(j.Jointype.String(), "JOIN_"))
		return list(kind, pg(j.Larg), pg(j.Rarg), pg(j.Quals), list("using", names(j.UsingClause)...))
	}
	return pgExpr(n)
}

func pgExpr(n *pganalyze.Node) string {
	switch n := n.Node.(type) {
	case *pganalyze.Node_ColumnRef:
		return list("column", names(n.ColumnRef.Fields)...)
	case *pganalyze.Node_AConst:
		return pgConst(n.AConst)
	case *pganalyze.Node_AExpr:
		return pgOperator(n.AExpr)
	case *pganalyze.Node_BoolExpr:
		name := strings.TrimSuffix(n.BoolExpr.Boolop.String(), "_EXPR")
		return list(name, pgList(n.BoolExpr.Args)...)
	case *pganalyze.Node_NullTest:
		return list("is", strconv.FormatBool(n.NullTest.Nulltesttype == pganalyze.NullTestType_IS_NOT_NULL), "null", pg(n.NullTest.Arg))
	case *pganalyze.Node_BooleanTest:
		what, isNot := strings.CutPrefix(strings.TrimPrefix(n.BooleanTest.Booltesttype.String(), "IS_"), "NOT_")
		return list("is", strconv.FormatBool(isNot), strings.ToLower(what), pg(n.BooleanTest.Arg))
	case *pganalyze.Node_SubLink:
		query := pgSelect(n.SubLink.Subselect.GetSelectStmt())
		switch n.SubLink.SubLinkType {
		case pganalyze.SubLinkType_EXISTS_SUBLINK:
			return list("exists", query)
		case pganalyze.SubLinkType_ANY_SUBLINK:
			return list("in-query", pg(n.SubLink.Testexpr), query)
		default:
			return list("subquery", query)
		}
	case *pganalyze.Node_CaseExpr:
		return list("case", append(append([]string{pg(n.CaseExpr.Arg)}, pgList(n.CaseExpr.Args)...), pg(n.CaseExpr.Defresult))...)
	case *pganalyze.Node_CaseWhen:
		return list("when", pg(n.CaseWhen.Expr), pg(n.CaseWhen.Result))
	case *pganalyze.Node_TypeCast:
		return pgCast(n.TypeCast)
	case *pganalyze.Node_FuncCall:
		return pgCall(n.FuncCall)
	case *pganalyze.Node_SqlvalueFunction:
		return list("call", strings.ToLower(strings.TrimPrefix(n.SqlvalueFunction.Op.String(), "SVFOP_")))
	}
	return fmt.Sprintf("(other %T)", n.Node)
}

func pgConst(c *pganalyze.A_Const) string {
	if c.Isnull {
		return "null"
	}
	switch v := c.Val.(type) {
	case *pganalyze.A_Const_Ival:
		return number(strconv.Itoa(int(v.Ival.Ival)))
	case *pganalyze.A_Const_Fval:
		return number(v.Fval.Fval)
	case *pganalyze.A_Const_Boolval:
		return list("bool", strconv.FormatBool(v.Boolval.Boolval))
	case *pganalyze.A_Const_Sval:
		return list("string", strconv.Quote(v.Sval.Sval))
	}
	return fmt.Sprintf("(constant %T)", c.Val)
}

func pgOperator(e *pganalyze.A_Expr) string {
	op := strings.Join(names(e.Name), ".")
	isNot := strings.HasPrefix(op, "!") || op == "<>" || strings.HasPrefix(op, "NOT ")
	operands := append([]string{pg(e.Lexpr)}, pgList(e.Rexpr.GetList().GetItems())...)
	switch e.Kind {
	case pganalyze.A_Expr_Kind_AEXPR_LIKE:
		return list(not(isNot, "like"), pg(e.Lexpr), pg(e.Rexpr))
	case pganalyze.A_Expr_Kind_AEXPR_ILIKE:
		return list(not(isNot, "ilike"), pg(e.Lexpr), pg(e.Rexpr))
	case pganalyze.A_Expr_Kind_AEXPR_BETWEEN, pganalyze.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return list(not(isNot, "between"), operands...)
	case pganalyze.A_Expr_Kind_AEXPR_IN:
		return list(not(isNot, "in"), operands...)
	case pganalyze.A_Expr_Kind_AEXPR_DISTINCT:
		op = sql.IsDistinct.String()
	case pganalyze.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		op = sql.IsNotDistinct.String()
	}
	if e.Lexpr == nil && op != "+" && op != "-" {
		return list("other", "operator before its operand", op)
	}
	if e.Lexpr == nil {
		return list(op, pg(e.Rexpr))
	}
	return list(op, pg(e.Lexpr), pg(e.Rexpr))
}

func pgCast(c *pganalyze.TypeCast) string {
	parts := names(c.TypeName.Names)
	name := parts[len(parts)-1]
	if name == "double" {
		name = "float8" // a type of the user's, to PostgreSQL; in the dialect, PRECISION may be left out
	}
	if s := c.Arg.GetAConst().GetSval(); name == "interval" && s != nil {
		if v, err := sql.ParseInterval(s.Sval); err == nil {
			return list("interval", strconv.Quote(v.String()))
		}
	}
	return list("cast", name, pg(c.Arg))
}

func pgCall(c *pganalyze.FuncCall) string {
	name := "call"
	if c.AggDistinct {
		name = "call-distinct"
	}
	parts := names(c.Funcname)
	args := pgList(c.Args)
	if c.AggStar {
		args = []string{"*"}
	}
	return list(name, append([]string{parts[len(parts)-1]}, args...)...)
}
