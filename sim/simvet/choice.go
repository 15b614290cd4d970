package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// kept is an assignment by which a choice keeps something of the entry.
type kept struct {
	lhs, rhs    ast.Expr
	name, value string // their texts
	on          owner
}

// choice takes up statements of the form
//
//	if v > best { best = v }
//
// which come out the same in every order if equal entries can't be told apart: when nothing is kept
// but what was compared, or when the key is compared too.
func (r *region) choice(n *ast.IfStmt) {
	all := r.keptBy(n.Body)
	comparisons := comparisonsIn(n.Cond)
	if !slices.ContainsFunc(comparisons, func(c []ast.Expr) bool { return mentionsKept(c, all) }) {
		return
	}
	for _, k := range all {
		r.accounted[k.lhs] = true
		r.progress[k.name] = "choice"
		if k.isCompared(comparisons) || r.breaksTies(n.Cond, comparisons) {
			r.add(k.on, counts, k.lhs.Pos(), "sets "+k.name)
		} else {
			r.add(r.shared(k.on), shows, k.lhs.Pos(),
				fmt.Sprintf("sets %s to the first or last of those that compare equal: let the key decide between them", k.name))
		}
	}
	ast.Inspect(n.Cond, func(m ast.Node) bool {
		if e, ok := m.(ast.Expr); ok && slices.ContainsFunc(all, func(k kept) bool { return types.ExprString(e) == k.name }) {
			r.accounted[e] = true
		}
		return true
	})
}

// keptBy are the plain assignments of a block that keep something of the entry.
func (r *region) keptBy(block *ast.BlockStmt) []kept {
	var all []kept
	for _, stmt := range block.List {
		assign, ok := stmt.(*ast.AssignStmt)
		if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != len(assign.Rhs) {
			continue
		}
		for i, lhs := range assign.Lhs {
			lhs, rhs := ast.Unparen(lhs), ast.Unparen(assign.Rhs[i])
			on := r.ownerOf(lhs, false)
			if on == fresh || on == entry || !r.varies(rhs) {
				continue
			}
			if _, isCall := rhs.(*ast.CallExpr); isCall && r.e.isBuiltin(rhs.(*ast.CallExpr), "append") {
				continue
			}
			all = append(all, kept{lhs, rhs, types.ExprString(lhs), types.ExprString(rhs), on})
		}
	}
	return all
}

// comparisonsIn are the operands of each comparison by order in a condition. A call is one too: of
// its arguments, and of what it is called on.
func comparisonsIn(cond ast.Expr) [][]ast.Expr {
	var found [][]ast.Expr
	ast.Inspect(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LSS, token.GTR, token.LEQ, token.GEQ:
				found = append(found, []ast.Expr{n.X, n.Y})
			}
		case *ast.CallExpr:
			operands := slices.Clone(n.Args)
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
				operands = append(operands, sel.X)
			}
			found = append(found, operands)
		}
		return true
	})
	return found
}

// mentionsKept tells whether one of the operands is about what is kept.
func mentionsKept(operands []ast.Expr, all []kept) bool {
	return slices.ContainsFunc(all, func(k kept) bool {
		return slices.ContainsFunc(operands, func(e ast.Expr) bool { return mentions(e, k.name) })
	})
}

// isCompared tells whether the new value itself is compared with the old.
func (k kept) isCompared(comparisons [][]ast.Expr) bool {
	is := func(text string) func(ast.Expr) bool {
		return func(e ast.Expr) bool { return types.ExprString(ast.Unparen(e)) == text }
	}
	return slices.ContainsFunc(comparisons, func(operands []ast.Expr) bool {
		return slices.ContainsFunc(operands, is(k.name)) && slices.ContainsFunc(operands, is(k.value))
	})
}

// breaksTies tells whether a condition decides between equal ones: by the key, or by another
// comparison of those that are equal in the first.
func (r *region) breaksTies(cond ast.Expr, comparisons [][]ast.Expr) bool {
	for _, operands := range comparisons {
		if slices.ContainsFunc(operands, r.isKey) {
			return true
		}
	}
	equal := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.EQL && r.varies(b) {
			equal = true
		}
		return !equal
	})
	return equal && len(comparisons) > 1
}

// mentions tells whether an expression is or contains one with the given text.
func mentions(e ast.Node, text string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && !found {
			found = types.ExprString(e) == text
		}
		return !found
	})
	return found
}
