package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// write takes up an assignment to lhs; rhs is nil for ++ and -- and for one of several results.
func (r *region) write(lhs, rhs ast.Expr, op token.Token, stmt ast.Node) {
	lhs = ast.Unparen(lhs)
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return
	}
	on := r.ownerOf(lhs, false)
	if on == fresh || r.accounted[lhs] {
		return // or one of a choice
	}
	name := types.ExprString(lhs)
	slot := r.slotOf(lhs)
	if slot != nil && r.addsToRanged(slot) {
		r.add(outside, shows, stmt.Pos(), fmt.Sprintf("adds entries to %s while it ranges over it, which are visited or not", r.over))
		return
	}
	if on == entry && (slot == nil || r.isKey(slot.Index)) {
		r.add(entry, fills, stmt.Pos(), "changes "+name)
		return
	}
	if how, operand := r.accumulation(lhs, rhs, op); how != "" {
		r.accumulate(lhs, operand, how, on, stmt)
		return
	}
	if ix, ok := lhs.(*ast.IndexExpr); ok && slot == nil && r.sorted != nil && r.sorted(ix.X) {
		r.accounted[ast.Unparen(ix.Index)] = true // the next free place: as good as an append
		r.add(on, counts, stmt.Pos(), "fills "+types.ExprString(ix.X))
		return
	}
	switch {
	case slot != nil:
		r.add(on, fills, stmt.Pos(), "fills "+name)
	case rhs != nil && op == token.ASSIGN && !r.varies(rhs):
		r.add(on, settles, stmt.Pos(), "sets "+name)
	case r.over != "":
		r.add(on, shows, stmt.Pos(), fmt.Sprintf("keeps the first or the last entry visited in %s", name))
	default:
		r.add(on, shows, stmt.Pos(), "sets "+name)
	}
}

// slotOf is the element of a map, slice or array that lhs is, if its index varies: then each pass
// has another, unless two entries have the same index.
func (r *region) slotOf(lhs ast.Expr) *ast.IndexExpr {
	ix, ok := ast.Unparen(lhs).(*ast.IndexExpr)
	if !ok || !r.tied(ix.Index) {
		return nil
	}
	return ix
}

// addsToRanged tells whether assigning to the element may add an entry to the map that the loop
// ranges over.
func (r *region) addsToRanged(slot *ast.IndexExpr) bool {
	return r.over != "" && types.ExprString(slot.X) == r.over && !r.isKey(slot.Index)
}

// accumulation tells how an assignment builds on what lhs was before, and what it adds.
func (r *region) accumulation(lhs, rhs ast.Expr, op token.Token) (how string, operand ast.Expr) {
	switch op {
	case token.INC, token.DEC:
		return "sum", nil
	case token.ADD_ASSIGN, token.SUB_ASSIGN:
		return "sum", rhs
	case token.MUL_ASSIGN:
		return "product", rhs
	case token.OR_ASSIGN:
		return "or", rhs
	case token.AND_ASSIGN, token.AND_NOT_ASSIGN:
		return "and", rhs
	case token.XOR_ASSIGN:
		return "xor", rhs
	case token.ASSIGN:
	default:
		return "", nil
	}
	switch rhs := ast.Unparen(rhs).(type) {
	case *ast.BinaryExpr:
		how := map[token.Token]string{
			token.ADD: "sum", token.SUB: "sum", token.MUL: "product", token.OR: "or", token.AND: "and", token.AND_NOT: "and",
			token.XOR: "xor", token.LAND: "all", token.LOR: "any",
		}[rhs.Op]
		swaps := rhs.Op != token.SUB && rhs.Op != token.AND_NOT
		switch {
		case how == "":
		case r.same(lhs, rhs.X):
			r.accounted[ast.Unparen(rhs.X)] = true
			return how, rhs.Y
		case swaps && r.same(lhs, rhs.Y):
			r.accounted[ast.Unparen(rhs.Y)] = true
			return how, rhs.X
		}
	case *ast.CallExpr:
		for _, name := range []string{"append", "min", "max"} {
			if !r.e.isBuiltin(rhs, name) {
				continue
			}
			for i, arg := range rhs.Args {
				if r.same(lhs, arg) && (name != "append" || i == 0) {
					r.accounted[ast.Unparen(arg)] = true
					return name, nil
				}
			}
		}
		if old := r.folded(lhs, rhs); old != nil {
			r.accounted[ast.Unparen(old)] = true
			return "fold", nil
		}
	}
	return "", nil
}

// folds are the names of functions of two values of a type that swap and group at will: those of
// lattices and sets.
var folds = map[string]bool{
	"earliest": true, "gcd": true, "intersect": true, "intersection": true, "join": true, "latest": true, "lcm": true,
	"max": true, "meet": true, "min": true, "union": true,
}

// sums are names of functions that add up values of a type, which is such a fold if they are made of
// whole numbers.
var sums = map[string]bool{"add": true, "plus": true, "sum": true}

// isWhole tells whether a type is a whole number, or made of those only.
func isWhole(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsInteger != 0
	case *types.Array:
		return isWhole(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !isWhole(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// folded returns the operand lhs of a call of such a function in x = x.Meet(v) or x = meet(x, v), or
// nil.
func (r *region) folded(lhs ast.Expr, call *ast.CallExpr) ast.Expr {
	fn, args := callee(r.e.info, call), arguments(r.e.info, call)
	t := r.e.info.TypeOf(lhs)
	if fn == nil || len(args) != 2 {
		return nil
	}
	if name := strings.ToLower(fn.Name()); !folds[name] && !(sums[name] && isWhole(t)) {
		return nil
	}
	if _, named := types.Unalias(t).(*types.Named); !named || types.IsInterface(t) || !types.Identical(t, r.e.info.TypeOf(call)) {
		return nil
	}
	var old ast.Expr
	for _, arg := range args {
		if !types.Identical(t, r.e.info.TypeOf(arg)) {
			return nil
		}
		if r.same(lhs, arg) {
			old = arg
		}
	}
	return old
}

func (r *region) same(a, b ast.Expr) bool {
	return types.ExprString(ast.Unparen(a)) == types.ExprString(ast.Unparen(b))
}

// accumulate takes up an assignment that builds on what was before.
func (r *region) accumulate(lhs, operand ast.Expr, how string, on owner, stmt ast.Node) {
	name := types.ExprString(lhs)
	r.accounted[lhs] = true
	show := func(why string) { r.add(r.shared(on), shows, stmt.Pos(), why) }
	kind := types.Default(r.e.info.TypeOf(lhs)).Underlying()
	basic, _ := kind.(*types.Basic)
	switch {
	case how == "append":
		if r.sorted == nil || !r.sorted(lhs) {
			show(fmt.Sprintf("appends to %s, which is not sorted afterwards", name))
			return
		}
	case how == "min" || how == "max" || how == "all" || how == "any" || how == "fold":
	case basic == nil: // a type parameter
		show(fmt.Sprintf("adds up %s, whose type may be one of floating-point numbers", name))
		return
	case basic.Info()&types.IsString != 0:
		show(fmt.Sprintf("builds the string %s", name))
		return
	case basic.Info()&(types.IsFloat|types.IsComplex) != 0:
		show(fmt.Sprintf("adds up floating-point numbers in %s, whose rounding depends on the order", name))
		return
	}
	if old := r.progress[name]; old != "" && old != how {
		show(fmt.Sprintf("changes %s in several ways, which do not swap", name))
		return
	}
	if r.slotOf(lhs) == nil {
		r.progress[name] = how
	}
	r.add(on, counts, stmt.Pos(), "changes "+name)
}

// shared is the owner of a slot that two entries may share.
func (r *region) shared(o owner) owner {
	if o == entry {
		return outside
	}
	return o
}
