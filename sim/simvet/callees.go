package simvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// declared are the functions that a package declares, with their bodies, in the order of the source.
type declared struct {
	order  []*types.Func
	bodies map[*types.Func]*ast.FuncDecl
}

func declaredIn(info *types.Info, files []*ast.File) *declared {
	d := &declared{bodies: map[*types.Func]*ast.FuncDecl{}}
	for _, file := range files {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				if obj, ok := info.Defs[fn.Name].(*types.Func); ok {
					d.order = append(d.order, obj)
					d.bodies[obj] = fn
				}
			}
		}
	}
	return d
}

// callee is the function or method that a call names, of generic ones the declared one; nil for
// function values, builtins and conversions.
func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(info, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// soleLiterals finds the variables to which nothing but one function literal is assigned.
func soleLiterals(info *types.Info, files []*ast.File) map[types.Object]*ast.FuncLit {
	found := map[types.Object]*ast.FuncLit{}
	assign := func(lhs, rhs ast.Expr) {
		id, ok := ast.Unparen(lhs).(*ast.Ident)
		if !ok {
			return
		}
		obj := info.ObjectOf(id)
		if obj == nil {
			return
		}
		lit, _ := ast.Unparen(rhs).(*ast.FuncLit)
		if _, seen := found[obj]; seen {
			lit = nil
		}
		found[obj] = lit
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, lhs := range n.Lhs {
					rhs := n.Rhs[0]
					if len(n.Rhs) == len(n.Lhs) {
						rhs = n.Rhs[i]
					}
					assign(lhs, rhs)
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						assign(name, n.Values[i])
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					assign(n.X, n.X) // may be changed through the pointer
					assign(n.X, n.X)
				}
			}
			return true
		})
	}
	return found
}

// isAbstract tells whether fn is a method of an interface.
func isAbstract(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// implementations are the methods of the package's own types that a call of the interface method fn,
// which belongs to the same package, may reach.
func implementations(pkg *types.Package, fn *types.Func) []*types.Func {
	recv := fn.Signature().Recv().Type()
	iface, ok := recv.Underlying().(*types.Interface)
	if !ok || fn.Pkg() != pkg {
		return nil
	}
	var found []*types.Func
	for _, name := range pkg.Scope().Names() {
		tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() || types.IsInterface(tn.Type()) {
			continue
		}
		typ := withParameters(tn.Type(), recv)
		if typ == nil {
			continue
		}
		ptr := types.NewPointer(typ)
		if !types.Implements(ptr, iface) {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(ptr, true, pkg, fn.Name())
		if m, ok := obj.(*types.Func); ok {
			found = append(found, m.Origin())
		}
	}
	return found
}

// withParameters is the type t, given the type parameters of the interface in place of its own if it is
// generic; nil if that does not fit. Which parameter stands for which is a guess: the first for the
// first, as authors write them.
func withParameters(t, iface types.Type) types.Type {
	generic, ok := t.(*types.Named)
	if !ok || generic.TypeParams().Len() == 0 {
		return t
	}
	named := namedType(iface)
	if named == nil || named.TypeParams().Len() != generic.TypeParams().Len() {
		return nil
	}
	args := make([]types.Type, named.TypeParams().Len())
	for i := range args {
		args[i] = named.TypeParams().At(i)
	}
	made, err := types.Instantiate(nil, generic, args, false)
	if err != nil {
		return nil
	}
	return made
}

// interfaceMethods are the methods of the interfaces that a package declares.
func interfaceMethods(pkg *types.Package) []*types.Func {
	var methods []*types.Func
	for _, name := range pkg.Scope().Names() {
		tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		iface, ok := tn.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range iface.ExplicitMethods() {
			if m.Pkg() == pkg {
				methods = append(methods, m)
			}
		}
	}
	return methods
}
