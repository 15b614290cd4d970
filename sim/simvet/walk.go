package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// walk finds the effects of the region.
func (r *region) walk() {
	r.aliases = map[types.Object]owner{}
	r.ties = map[types.Object]bool{}
	r.literals = map[types.Object]*ast.FuncLit{}
	r.progress = map[string]string{}
	r.accounted = map[ast.Expr]bool{}
	r.statements(r.body)
	r.watchProgress()
	if r.over != "" {
		r.exits = slices.Concat(r.exits, r.findExits())
	}
}

// statements walks a piece of code in the order of its text, so that what a variable points to is
// known before it is used.
func (r *region) statements(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			r.assignment(n)
		case *ast.IncDecStmt:
			r.write(n.X, nil, n.Tok, n)
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					r.alias(name, n.Values[i])
				}
			}
		case *ast.RangeStmt:
			r.nestedRange(n)
		case *ast.TypeSwitchStmt:
			r.typeSwitch(n)
		case *ast.IfStmt:
			r.forOneKey(n)
			r.choice(n)
		case *ast.SendStmt:
			r.add(outside, shows, n.Pos(), "sends on a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				r.add(outside, shows, n.Pos(), "receives from a channel")
			}
		case *ast.SelectStmt:
			r.add(outside, shows, n.Pos(), "waits in a select statement")
		case *ast.GoStmt:
			r.add(outside, shows, n.Pos(), "starts goroutines")
		case *ast.ExprStmt:
			if call, ok := ast.Unparen(n.X).(*ast.CallExpr); ok {
				r.accounted[call] = true // its result is not used
			}
		case *ast.DeferStmt:
			r.accounted[n.Call] = true
		case *ast.CallExpr:
			r.call(n)
		}
		return true
	})
}

func (r *region) assignment(n *ast.AssignStmt) {
	for i, lhs := range n.Lhs {
		var rhs ast.Expr // nil for one of several results of a call
		if len(n.Lhs) == len(n.Rhs) {
			rhs = n.Rhs[i]
		}
		if rhs != nil {
			r.alias(lhs, rhs)
		} else {
			r.alias(lhs, n.Rhs[0])
		}
		if n.Tok != token.DEFINE {
			r.write(lhs, rhs, n.Tok, n)
		} else if id, ok := lhs.(*ast.Ident); ok && r.e.info.Defs[id] == nil {
			r.write(lhs, rhs, token.ASSIGN, n) // a variable that := only assigns to
		}
	}
}

func (r *region) nestedRange(n *ast.RangeStmt) {
	for i, v := range []ast.Expr{n.Key, n.Value} {
		if v == nil {
			continue
		}
		// The indexes of a list are the same for each entry.
		if i == 1 || !isList(r.e.info.TypeOf(n.X)) {
			r.alias(v, n.X)
		}
		if n.Tok == token.ASSIGN {
			r.write(v, n.X, token.ASSIGN, n)
		}
	}
}

func (r *region) typeSwitch(n *ast.TypeSwitchStmt) {
	assign, ok := n.Assign.(*ast.AssignStmt)
	if !ok {
		return
	}
	for _, clause := range n.Body.List {
		if obj := r.e.info.Implicits[clause]; obj != nil {
			r.aliases[obj] = r.ownerOf(assign.Rhs[0], true)
			r.ties[obj] = r.tied(assign.Rhs[0])
		}
	}
}

// watchProgress finds the places that see how far the loop has come.
func (r *region) watchProgress() {
	if len(r.progress) == 0 {
		return
	}
	ast.Inspect(r.body, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok && r.over == "" {
			r.reveals = r.reveals || r.mentionsProgress(ret)
			return false // that is for the callers to mind
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if r.accounted[e] {
			_, isCall := e.(*ast.CallExpr) // only its result is accounted for
			return isCall
		}
		switch e.(type) {
		case *ast.Ident, *ast.SelectorExpr:
			if name := types.ExprString(e); r.progress[name] != "" && !r.isField(e) {
				r.add(outside, shows, e.Pos(), fmt.Sprintf("uses %s, which depends on the entries visited before", name))
			}
		}
		return true
	})
}

func (r *region) mentionsProgress(n ast.Node) bool {
	for name := range r.progress {
		if mentions(n, name) {
			return true
		}
	}
	return false
}

// isField tells whether e is the name of a field in a composite literal.
func (r *region) isField(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := r.e.info.Uses[id].(*types.Var)
	return ok && v.IsField()
}

// findExits finds where the loop is left before all entries were visited, and what with.
func (r *region) findExits() []effect {
	var found []effect
	exit := func(n ast.Node, o outcome, why string) {
		found = append(found, effect{outside, o, why, n.Pos()})
	}
	var visit func(n ast.Node, breakable bool)
	visit = func(n ast.Node, breakable bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			if m == n {
				return true
			}
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				visit(m, true)
				return false
			case *ast.BranchStmt:
				if r.leaves(m, breakable) {
					exit(m, settles, "")
				}
			case *ast.ReturnStmt:
				if r.callback {
					// One without results returns what its named one holds, which may be false.
					if len(m.Results) == 0 || types.ExprString(m.Results[0]) != "true" {
						exit(m, settles, "")
					}
					return true
				}
				exit(m, settles, "")
				for _, result := range m.Results {
					if r.varies(result) && !r.isOnce(m.Pos()) {
						exit(m, shows, fmt.Sprintf("returns %s for whichever entry comes first", types.ExprString(result)))
						break
					}
				}
			}
			return true
		})
	}
	visit(r.body, false)
	return found
}

// leaves tells whether a branch statement leaves the loop; breakable that it is in another statement
// that break is about.
func (r *region) leaves(b *ast.BranchStmt, breakable bool) bool {
	switch {
	case b.Label != nil:
		// The label of the loop itself is just before its body; continue with it goes on.
		label, ok := r.e.info.Uses[b.Label].(*types.Label)
		if !ok || r.isLocal(label) {
			return false
		}
		return b.Tok != token.CONTINUE || !r.labels(label)
	case b.Tok == token.BREAK:
		return !breakable
	}
	return false
}

// labels tells whether a label is the loop's own.
func (r *region) labels(label *types.Label) bool { return r.e.loopLabels[label] == r.body }

// verdict is the worst that a loop does, or nil if the order can't show.
func (r *region) verdict() *effect {
	for _, list := range [][]effect{r.found, r.exits} {
		for i := range list {
			if list[i].outcome == shows && list[i].on != entry {
				return &list[i]
			}
		}
	}
	if len(r.exits) == 0 {
		return nil
	}
	for _, e := range r.found {
		if e.outcome == fills || e.outcome == counts {
			return &effect{outside, shows, "is left early, and what it did until then depends on the order", r.exits[0].pos}
		}
	}
	return nil
}
