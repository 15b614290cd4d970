package simvet

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// advice is what to say of the use of a name that simulated code must not use.
type advice struct {
	// does completes "time.Now ..." and says why that breaks a simulation.
	does string
	// instead completes "...: use ..."; "" if there is nothing to put in its place.
	instead string
	// fix makes the change, where that is mechanical.
	fix fixer
}

// banned are the names that must not be used, by import path, and in it by name; that of a method
// is "Type.Method".
type banned map[string]map[string]advice

// ban adds names of one package with the same advice.
func (b banned) ban(path string, a advice, names ...string) {
	if b[path] == nil {
		b[path] = map[string]advice{}
	}
	for _, name := range names {
		b[path][name] = a
	}
}

// check reports each use of a banned name, as a call or as a value.
func (b banned) check(c *checker) error {
	for cur := range c.nodes((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		obj := c.TypesInfo.Uses[id]
		path, name := qualified(obj)
		a, ok := b[path][name]
		if !ok {
			continue
		}
		use := cur
		if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
			use = cur.Parent()
		}
		c.report(finding{
			at:      use.Node(),
			message: a.message(obj.Pkg().Name() + "." + name),
			fix:     c.fixUse(a.fix, use, obj),
		})
	}
	return nil
}

func (a advice) message(name string) string {
	if a.instead == "" {
		return fmt.Sprintf("%s %s", name, a.does)
	}
	return fmt.Sprintf("%s %s: use %s", name, a.does, a.instead)
}

func (c *checker) fixUse(fix fixer, use inspector.Cursor, obj types.Object) *analysis.SuggestedFix {
	if fix == nil {
		return nil
	}
	h := c.hostAt(use)
	if h == "" {
		return nil
	}
	return fix(&fixSite{c: c, use: use, obj: obj, host: h})
}

// qualified returns the import path of the package that an object belongs to and its name there, for
// what can be named from outside: package-level objects and methods.
func qualified(obj types.Object) (path, name string) {
	if obj == nil || obj.Pkg() == nil {
		return "", ""
	}
	path = obj.Pkg().Path()
	if fn, ok := obj.(*types.Func); ok {
		fn = fn.Origin()
		if recv := fn.Signature().Recv(); recv != nil {
			if named := namedType(recv.Type()); named != nil {
				return path, named.Obj().Name() + "." + fn.Name()
			}
			return "", ""
		}
	}
	if obj.Parent() != obj.Pkg().Scope() {
		return "", ""
	}
	return path, obj.Name()
}

// namedType is the named type that t is or points to, or nil.
func namedType(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// isNamed tells whether t is, or points to, the type of that name.
func isNamed(t types.Type, path, name string) bool {
	named := namedType(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && named.Obj().Name() == name
}
