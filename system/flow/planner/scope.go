package planner

import (
	"errors"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/sql"
)

// scope is what the columns of an expression can be.
type scope struct {
	options
	columns []dataflow.Column
	// table and alias are how columns may be qualified.
	table catalog.Name
	alias string

	// intercept, if not nil, may plan a node before anything else does.
	intercept func(sql.Expr) (typed, bool, error)
}

// from finds the table that a query reads.
func from(s *sql.Select, tables Tables, o options) (*catalog.Table, scope, error) {
	sc := scope{options: o}
	switch len(s.From) {
	case 0:
		if o.flow {
			return nil, sc, invalid(s, "a flow needs a table to read: add FROM")
		}
		return nil, sc, nil
	case 1:
	default:
		return nil, sc, sql.UnsupportedAt(s.From[1].Position(), "CROSS JOIN")
	}
	t, ok := s.From[0].(*sql.Table)
	if !ok {
		return nil, sc, sql.Unsupported(s.From[0])
	}
	table, err := find(tables, t.Name)
	if err != nil {
		return nil, sc, err
	}
	sc.columns, sc.table = table.Schema().Columns, table.Name
	if t.Alias != nil {
		sc.alias = t.Alias.Name
	}
	return table, sc, nil
}

// find finds a table, and says where it was named if there is none.
func find(tables Tables, name sql.Name) (*catalog.Table, error) {
	table, err := tables(catalog.Qualify(name))
	var missing *catalog.NotFoundError
	if errors.As(err, &missing) {
		return nil, At(&name, err)
	}
	return table, err
}

// column finds a column by its name.
func (sc *scope) column(c *sql.Column) (int, error) {
	if err := sc.qualifier(c, c.Table); err != nil {
		return 0, err
	}
	i := slices.IndexFunc(sc.columns, func(k dataflow.Column) bool { return k.Name == c.Name })
	if i < 0 {
		names := make([]string, len(sc.columns))
		for k := range sc.columns {
			names[k] = sc.columns[k].Name
		}
		if len(names) == 0 {
			return 0, invalid(c, "there is no column %q: the query has no FROM", c.Name)
		}
		return 0, invalid(c, "there is no column %q in %s, which has %s", c.Name, sc.table, strings.Join(names, ", "))
	}
	return i, nil
}

// qualifier checks what stands before a column's name.
func (sc *scope) qualifier(n sql.Node, parts []string) error {
	if len(parts) == 0 {
		return nil
	}
	if len(parts) == 1 && sc.alias != "" {
		if parts[0] == sc.alias {
			return nil
		}
	} else if sc.alias == "" && catalog.Qualify(sql.Name{Parts: parts}) == sc.table {
		return nil
	}
	return invalid(n, "the query reads no table %q", strings.Join(parts, "."))
}
