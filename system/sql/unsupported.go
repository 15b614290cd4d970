package sql

import "strconv"

// Unsupported returns the error with which to refuse a node that the caller can't make use of:
// "JOIN is not supported at 1:34".
func Unsupported(n Node) *Error { return UnsupportedAt(n.Position(), Construct(n)) }

// UnsupportedAt returns the error with which to refuse what is not a node: a LIMIT, say, which is
// found at the position of its expression.
func UnsupportedAt(at Pos, construct string) *Error {
	return &Error{Kind: ErrUnsupported, At: at, Detail: construct}
}

// Construct returns what a node is called in an error message: "JOIN", "IN", "subquery",
// "function abs", "operator +".
func Construct(n Node) string {
	switch n := n.(type) {
	case *SetOp:
		if n.All {
			return n.Op.String() + " ALL"
		}
		return n.Op.String()
	case *Join:
		return n.Kind.String()
	case *Show:
		return format(n)
	case *Unary:
		return "operator " + n.Op.String()
	case *Binary:
		return "operator " + n.Op.String()
	case *Call:
		if n.Distinct {
			return n.Name + "(DISTINCT)"
		}
		return "function " + n.Name
	case *Column:
		return "column " + strconv.Quote(n.Name)
	case *Ident:
		return "name " + strconv.Quote(n.Name)
	case *Name:
		return "name " + strconv.Quote(format(n))
	case *DataType:
		return "type " + format(n)
	case *Like:
		if n.NoCase {
			return "ILIKE"
		}
		return "LIKE"
	case *In:
		if n.Query != nil {
			return "IN with a subquery"
		}
		return "IN"
	}
	return construct(n)
}

// construct names those nodes whose name depends on their type only.
func construct(n Node) string {
	switch n.(type) {
	case *Select:
		return "SELECT"
	case *Derived, *Subquery:
		return "subquery"
	case *Table:
		return "table"
	case *SelectItem:
		return "SELECT item"
	case *OrderItem:
		return "ORDER BY"
	case *CreateTable:
		return "CREATE TABLE"
	case *ColumnDef:
		return "column definition"
	case *Option:
		return "WITH option"
	case *CreateFlow:
		return "CREATE FLOW"
	case *ExpireAfter:
		return "EXPIRE AFTER"
	case *DropTable:
		return "DROP TABLE"
	case *DropFlow:
		return "DROP FLOW"
	case *FlushFlow:
		return "FLUSH FLOW"
	case *Insert:
		return "INSERT"
	case *Delete:
		return "DELETE"
	case *Explain:
		return "EXPLAIN"
	case *Star:
		return "*"
	case *IntLit, *FloatLit:
		return "number"
	case *StringLit:
		return "string"
	case *BoolLit:
		return "TRUE or FALSE"
	case *NullLit:
		return "NULL"
	case *DefaultLit:
		return "DEFAULT"
	case *IntervalLit:
		return "INTERVAL"
	case *Is:
		return "IS"
	case *Between:
		return "BETWEEN"
	case *Exists:
		return "EXISTS"
	case *Case:
		return "CASE"
	case *When:
		return "WHEN"
	case *Cast:
		return "CAST"
	}
	panic("sql: a node without a name")
}
