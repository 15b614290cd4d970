package sql_test

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/simrun-dev/simrun/system/sql"
)

// dump writes all nodes below n, a line each, with their positions.
func dump(w io.Writer, n sql.Node) {
	dumpAt(w, n, "")
}

func dumpAt(w io.Writer, n sql.Node, indent string) {
	fmt.Fprintf(w, "%s%s %s: %s\n", indent, strings.TrimPrefix(fmt.Sprintf("%T", n), "*sql."), n.Position(), n)
	sql.Inspect(n, func(child sql.Node) bool {
		if child == n {
			return true
		}
		dumpAt(w, child, indent+"  ")
		return false
	})
}

// grouped writes an expression with parentheses around each operator, and so shows what binds to
// what.
func grouped(e sql.Expr) string {
	var below []string
	sql.Inspect(e, func(child sql.Node) bool {
		if child == sql.Node(e) {
			return true
		}
		if x, ok := child.(sql.Expr); ok {
			below = append(below, grouped(x))
		}
		return false
	})
	if len(below) == 0 {
		return e.String()
	}
	return "(" + sql.Construct(e) + " " + strings.Join(below, " ") + ")"
}

// bare removes all positions from a tree, so that it can be compared with another one.
func bare[T any](tree T) T {
	clear := reflect.TypeFor[sql.Loc]()
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			if v.Type() == clear {
				v.SetZero()
				return
			}
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(&tree))
	return tree
}
