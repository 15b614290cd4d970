package simvet

import (
	"go/ast"
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

// isAbstract tells whether fn is a method of an interface.
func isAbstract(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// implementations are the methods of the package's own types that a call of the interface method fn,
// which belongs to the same package, may reach.
func implementations(pkg *types.Package, fn *types.Func) []*types.Func {
	iface, ok := fn.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok || fn.Pkg() != pkg {
		return nil
	}
	var found []*types.Func
	for _, name := range pkg.Scope().Names() {
		tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() || types.IsInterface(tn.Type()) {
			continue
		}
		ptr := types.NewPointer(tn.Type())
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
