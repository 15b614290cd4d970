package catalog

import (
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/system/sql"
)

// What a name that is not qualified belongs to.
const (
	DefaultCatalog = "simrun"
	DefaultSchema  = "public"
)

// Name is the full name of a table or a flow.
type Name struct {
	_       struct{} `cbor:",toarray"`
	Catalog string
	Schema  string
	Object  string
}

// Qualify is a name of SQL with the defaults for what it leaves out.
func Qualify(n sql.Name) Name {
	q := Name{Catalog: DefaultCatalog, Schema: DefaultSchema}
	parts := n.Parts
	q.Object = parts[len(parts)-1]
	if len(parts) > 1 {
		q.Schema = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		q.Catalog = parts[len(parts)-3]
	}
	return q
}

// Public is the name of an object of the default schema.
func Public(object string) Name {
	return Name{Catalog: DefaultCatalog, Schema: DefaultSchema, Object: object}
}

// String leaves out what is the default.
func (n Name) String() string {
	switch {
	case n.Catalog != DefaultCatalog:
		return n.Catalog + "." + n.Schema + "." + n.Object
	case n.Schema != DefaultSchema:
		return n.Schema + "." + n.Object
	}
	return n.Object
}

// SQL is the name as it stands in statements, quoted where that is needed.
func (n Name) SQL() string {
	switch {
	case n.Catalog != DefaultCatalog:
		return sql.Name{Parts: []string{n.Catalog, n.Schema, n.Object}}.String()
	case n.Schema != DefaultSchema:
		return sql.Name{Parts: []string{n.Schema, n.Object}}.String()
	}
	return sql.Name{Parts: []string{n.Object}}.String()
}

// Compare orders names.
func (n Name) Compare(m Name) int {
	for _, pair := range [][2]string{{n.Catalog, m.Catalog}, {n.Schema, m.Schema}} {
		if c := strings.Compare(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	return strings.Compare(n.Object, m.Object)
}

// NotFoundError says that there is no such table or flow.
type NotFoundError struct {
	What string // "table" or "flow"
	Name Name
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s %s", e.What, e.Name) }

// ExistsError says that a name is taken.
type ExistsError struct {
	What string // "table" or "flow"
	Name Name
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("a %s %s exists already; drop it first, or say IF NOT EXISTS", e.What, e.Name)
}
