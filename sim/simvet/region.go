package simvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// region is a piece of code that is run again and again, at a different place in the order each time:
// the body of a loop over a map, or of a function. Walking it finds its effects.
type region struct {
	e    *effects
	body ast.Node
	of   ast.Node               // the body, or the function with its results
	vars map[types.Object]owner // what it is given anew each time: the loop's variables, or parameters
	key  types.Object           // of a loop: the variable that holds the map's key, if any
	over string                 // of a loop: the expression for the map
	// callback tells that the loop is a function that is called for each entry, and goes on as long as
	// it returns true.
	callback bool
	// sorted tells whether a slice that a loop appends to is put in order afterwards.
	sorted func(ast.Expr) bool

	aliases  map[types.Object]owner // whose memory local variables point to
	ties     map[types.Object]bool  // local variables that are made of the entry
	literals map[types.Object]*ast.FuncLit
	found    []effect
	exits    []effect // leaving a loop early
	// progress is what grows from pass to pass, by expression, and how: "sum", "append". Its uses
	// elsewhere would see the order; accounted are the others.
	progress  map[string]string
	once      []ast.Node // branches that are taken for one entry at most
	accounted map[ast.Expr]bool
	reveals   bool // of a function: it returns what it counts
}

func (r *region) add(on owner, o outcome, pos token.Pos, why string) {
	if on == fresh {
		return
	}
	if r.isOnce(pos) {
		o = settles
	}
	r.found = append(r.found, effect{on, o, why, pos})
}

// isOnce tells whether what stands at a place happens for one entry at most.
func (r *region) isOnce(pos token.Pos) bool {
	return slices.ContainsFunc(r.once, func(n ast.Node) bool { return within(n, pos) })
}

// forOneKey notes the branch of an if statement that is taken for one key at most, because the key is
// compared with something that is the same for all entries.
func (r *region) forOneKey(n *ast.IfStmt) {
	var branch ast.Node = n.Body
	op := token.EQL
	if n.Else != nil && r.comparesKey(n.Cond, token.NEQ) {
		branch, op = n.Else, token.NEQ
	}
	if r.comparesKey(n.Cond, op) {
		r.once = append(r.once, branch)
	}
}

// comparesKey tells whether a condition, or one of those that must hold together, is key == x, or with
// != if that is the only condition.
func (r *region) comparesKey(cond ast.Expr, op token.Token) bool {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	switch {
	case !ok:
		return false
	case b.Op == token.LAND && op == token.EQL:
		return r.comparesKey(b.X, op) || r.comparesKey(b.Y, op)
	case b.Op != op:
		return false
	}
	return r.isKey(b.X) && !r.varies(b.Y) || r.isKey(b.Y) && !r.varies(b.X)
}

// isLocal tells whether an object is declared in the region.
func (r *region) isLocal(obj types.Object) bool { return obj != nil && within(r.of, obj.Pos()) }

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

// varies tells whether an expression may have another value each time the region is run.
func (r *region) varies(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := r.e.info.Uses[id].(*types.Var); ok && !v.IsField() {
				_, given := r.vars[v]
				found = found || given || r.isLocal(v)
			}
		}
		return !found
	})
	return found
}

// tied tells whether an expression is made of the entry that is visited, so that for another entry it
// is another.
func (r *region) tied(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			obj := r.e.info.Uses[id]
			_, given := r.vars[obj]
			found = found || given || r.ties[obj]
		}
		return !found
	})
	return found
}

// isKey tells whether an expression is the loop's key, which is different each time.
func (r *region) isKey(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && r.key != nil && r.e.info.ObjectOf(id) == r.key
}

// ownerOf says whose the memory is that e names, or, if through, that it points to.
func (r *region) ownerOf(e ast.Expr, through bool) owner {
	info := r.e.info
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return r.ownerOfVar(info.ObjectOf(e), through)
	case *ast.StarExpr:
		return r.ownerOf(e.X, true)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return r.ownerOf(e.X, false)
		}
		return fresh
	case *ast.SelectorExpr:
		sel := info.Selections[e]
		if sel == nil {
			return r.ownerOfVar(info.ObjectOf(e.Sel), through)
		}
		return r.ownerOf(e.X, through || sel.Indirect() || isPointer(info.TypeOf(e.X)))
	case *ast.IndexExpr:
		if r.tied(e.Index) {
			if r.ownerOf(e.X, true) == fresh {
				return fresh
			}
			return entry
		}
		return r.ownerOf(e.X, through || !isArray(info.TypeOf(e.X)))
	case *ast.SliceExpr:
		return r.ownerOf(e.X, !isArray(info.TypeOf(e.X)))
	case *ast.TypeAssertExpr:
		return r.ownerOf(e.X, through)
	case *ast.CallExpr:
		return r.ownerOfResult(e)
	}
	return fresh
}

func (r *region) ownerOfVar(obj types.Object, through bool) owner {
	v, ok := obj.(*types.Var)
	if !ok {
		return fresh
	}
	if o, given := r.vars[v]; given {
		if through {
			return o
		}
		return fresh
	}
	if r.isLocal(v) {
		if o, ok := r.aliases[v]; ok && through {
			return o
		}
		return fresh
	}
	return outside
}

// constructors are beginnings of the names of methods whose result is new, and not part of what they
// are called on.
var constructors = []string{"new", "make", "create", "clone", "copy", "with", "to", "as", "encode", "parse"}

// ownerOfResult says whose the memory is that a call's result points to. That is a guess, but from
// the arguments a good one.
func (r *region) ownerOfResult(call *ast.CallExpr) owner {
	if r.e.info.Types[call.Fun].IsType() || r.e.isBuiltin(call, "append") {
		return r.ownerOf(call.Args[0], true)
	}
	for _, arg := range call.Args {
		if r.tied(arg) {
			return entry
		}
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || r.e.info.Selections[sel] == nil {
		return fresh
	}
	name := strings.ToLower(sel.Sel.Name)
	for _, prefix := range constructors {
		if strings.HasPrefix(name, prefix) {
			return fresh
		}
	}
	return r.ownerOf(sel.X, true)
}

// alias notes that a local variable holds a value.
func (r *region) alias(lhs, value ast.Expr) {
	id, ok := ast.Unparen(lhs).(*ast.Ident)
	if !ok {
		return
	}
	obj := r.e.info.ObjectOf(id)
	if obj == nil || !r.isLocal(obj) {
		return
	}
	if r.tied(value) {
		r.ties[obj] = true
	}
	if !hasPointers(obj.Type()) {
		return
	}
	if lit, ok := ast.Unparen(value).(*ast.FuncLit); ok {
		r.literals[obj] = lit
	}
	o := r.ownerOf(value, true)
	if old, ok := r.aliases[obj]; ok {
		o = old.join(o)
	}
	r.aliases[obj] = o
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// isList tells whether t is ranged over by counting.
func isList(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Basic:
		return true
	}
	return false
}
