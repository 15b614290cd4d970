package simvet

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

const mapsPath = "maps"

// runMap finds loops over maps whose outcome depends on the order, which is another each time, and
// slices of a map's keys or values that are not sorted.
func runMap(c *checker) error {
	e := c.ResultOf[effectsAnalyzer].(*effects)
	for cur := range c.nodes((*ast.RangeStmt)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.RangeStmt:
			c.mapLoop(e, cur, n)
		case *ast.CallExpr:
			c.syncMapLoop(e, cur, n)
			c.unsortedKeys(e, cur, n)
		}
	}
	return nil
}

// mapLoop judges a loop, if it is over a map.
func (c *checker) mapLoop(e *effects, cur inspector.Cursor, loop *ast.RangeStmt) {
	m, keys, values := c.rangedMap(loop)
	if m == nil || isBlank(keys) && isBlank(values) || c.hasOneEntry(cur, m) {
		return // none, or each pass is the same, or there is but one
	}
	r := &region{
		e: e, body: loop.Body, of: loop.Body, vars: map[types.Object]owner{}, over: types.ExprString(ast.Unparen(m)),
		sorted: func(list ast.Expr) bool { return c.sortedAfter(e, cur, list, loop.End()) },
	}
	for _, v := range []ast.Expr{keys, values} {
		if isBlank(v) {
			continue
		}
		if loop.Tok == token.ASSIGN {
			c.reportLoop(cur, loop, m, fmt.Sprintf("leaves the last entry visited in %s", types.ExprString(v)), loop.Pos(), "")
			return
		}
		r.vars[c.TypesInfo.Defs[v.(*ast.Ident)]] = entry
	}
	if !isBlank(keys) {
		r.key = c.TypesInfo.Defs[keys.(*ast.Ident)]
	}
	r.walk()
	if bad := r.verdict(); bad != nil {
		c.reportLoop(cur, loop, m, bad.why, bad.pos, r.over)
	}
}

// rangedMap returns the map that a loop ranges over, directly or through package maps, with the
// variables for its keys and values; nil if it ranges over something else.
func (c *checker) rangedMap(loop *ast.RangeStmt) (m, keys, values ast.Expr) {
	if isMap(c.TypesInfo.TypeOf(loop.X)) {
		return loop.X, loop.Key, loop.Value
	}
	call, ok := ast.Unparen(loop.X).(*ast.CallExpr)
	if !ok {
		return nil, nil, nil
	}
	switch c.mapsCall(call) {
	case "All":
		return call.Args[0], loop.Key, loop.Value
	case "Keys":
		return call.Args[0], loop.Key, nil
	case "Values":
		return call.Args[0], nil, loop.Key
	}
	return nil, nil, nil
}

// mapsCall is the name of the function of package maps that is called, if it makes a sequence.
func (c *checker) mapsCall(call *ast.CallExpr) string {
	fn := callee(c.TypesInfo, call)
	if fn == nil || len(call.Args) != 1 {
		return ""
	}
	if path, name := qualified(fn); path == mapsPath && (name == "All" || name == "Keys" || name == "Values") {
		return name
	}
	return ""
}

// isMap tells whether t is a map, or a type parameter that stands for maps.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		iface, ok := p.Constraint().Underlying().(*types.Interface)
		if !ok || iface.NumEmbeddeds() != 1 {
			return false
		}
		t = iface.EmbeddedType(0)
		if u, ok := t.(*types.Union); ok {
			t = u.Term(0).Type()
		}
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

func isBlank(e ast.Expr) bool {
	if e == nil {
		return true
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

func (c *checker) reportLoop(cur inspector.Cursor, loop *ast.RangeStmt, m ast.Expr, why string, pos token.Pos, over string) {
	name := types.ExprString(m)
	f := finding{
		at: headOf(loop),
		message: fmt.Sprintf("map %s is visited in an order that the seed does not decide, and the order shows: the loop %s (line %d): "+
			"range over slices.Sorted(maps.Keys(%s))", name, why, c.Fset.Position(pos).Line, name),
	}
	if over != "" {
		f.fix = c.fixLoop(cur, loop, m)
	}
	c.report(f)
}

// headOf is the part of a loop up to its body, to be pointed at.
func headOf(loop *ast.RangeStmt) ast.Node { return span{loop.Pos(), loop.X.End()} }

// span is a piece of source.
type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// syncMapLoop judges the function that is given to Range of a sync.Map.
func (c *checker) syncMapLoop(e *effects, cur inspector.Cursor, call *ast.CallExpr) {
	fn := callee(c.TypesInfo, call)
	if fn == nil {
		return
	}
	if path, name := qualified(fn); path != "sync" || name != "Map.Range" {
		return
	}
	lit, ok := ast.Unparen(call.Args[0]).(*ast.FuncLit)
	if !ok {
		return
	}
	over := types.ExprString(ast.Unparen(call.Fun).(*ast.SelectorExpr).X)
	vars, key := map[types.Object]owner{}, types.Object(nil)
	sig := c.TypesInfo.TypeOf(lit).(*types.Signature)
	for p := range sig.Params().Variables() {
		vars[p] = entry
	}
	if sig.Params().Len() > 0 {
		key = sig.Params().At(0)
	}
	r := &region{
		e: e, body: lit.Body, of: lit, vars: vars, key: key, over: over, callback: true,
		sorted: func(list ast.Expr) bool { return c.sortedAfter(e, cur, list, call.End()) },
	}
	r.walk()
	if bad := r.verdict(); bad != nil {
		c.report(finding{at: call.Fun, message: fmt.Sprintf(
			"sync.Map %s is visited in an order that the seed does not decide, and the order shows: the loop %s (line %d): "+
				"collect its keys and sort them", r.over, bad.why, c.Fset.Position(bad.pos).Line)})
	}
}

// unsortedKeys reports slices made of a map's keys or values that are not sorted.
func (c *checker) unsortedKeys(e *effects, cur inspector.Cursor, call *ast.CallExpr) {
	m := c.collected(call)
	if m == "" {
		return
	}
	for up := cur; ; up = up.Parent() {
		switch n := up.Parent().Node().(type) {
		case *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			if e.sorts(n) || c.isBuiltin(n, "len") || c.mindsNoOrder(n) {
				return
			}
			if c.isBuiltin(n, "append") {
				continue // to what is made of the longer slice
			}
		case *ast.AssignStmt, *ast.ValueSpec:
			if c.sortedAssignment(e, up, call) {
				return
			}
		}
		break
	}
	c.report(finding{at: call, message: fmt.Sprintf(
		"%s has the entries of %s in an order that the seed does not decide: use slices.Sorted(maps.Keys(%s)), or sort it",
		types.ExprString(call.Fun), m, m)})
}

// mindsNoOrder tells whether a call of a function of package slices comes out the same in every order.
func (c *checker) mindsNoOrder(call *ast.CallExpr) bool {
	fn := callee(c.TypesInfo, call)
	if fn == nil {
		return false
	}
	path, name := qualified(fn)
	return path == "slices" && (name == "Contains" || name == "Max" || name == "Min")
}

// collected is the map of which a call makes a slice, or "".
func (c *checker) collected(call *ast.CallExpr) string {
	fn := callee(c.TypesInfo, call)
	if fn == nil || len(call.Args) == 0 {
		return ""
	}
	switch path, name := qualified(fn); {
	case path == "slices" && (name == "Collect" || name == "AppendSeq"):
		if seq, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.CallExpr); ok {
			if kind := c.mapsCall(seq); kind == "Keys" || kind == "Values" {
				return types.ExprString(seq.Args[0])
			}
		}
	case path == "golang.org/x/exp/maps" && (name == "Keys" || name == "Values"):
		return types.ExprString(call.Args[0])
	}
	return ""
}

// sortedAssignment tells whether the value at cur is assigned to something that is sorted afterwards.
func (c *checker) sortedAssignment(e *effects, cur inspector.Cursor, call *ast.CallExpr) bool {
	switch n := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i, rhs := range n.Rhs {
				if rhs == cur.Node() {
					return c.sortedAfter(e, cur, n.Lhs[i], call.End())
				}
			}
		}
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if value == cur.Node() {
				return c.sortedAfter(e, cur, n.Names[i], call.End())
			}
		}
	}
	return false
}

// sortedAfter tells whether a slice is sorted after a place in the function around it, or of no
// interest but for its length.
func (c *checker) sortedAfter(e *effects, cur inspector.Cursor, list ast.Expr, after token.Pos) bool {
	body := outermost(cur)
	if body == nil {
		return false
	}
	names := c.namesOf(body, list)
	sorted, used := false, false
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || n.End() <= after {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && call.Pos() >= after {
			switch {
			case e.sorts(call):
				for _, name := range names {
					sorted = sorted || mentions(call, name)
				}
			case c.isBuiltin(call, "len"), c.isBuiltin(call, "cap"):
				return false
			}
		}
		if x, ok := n.(ast.Expr); ok && x.Pos() >= after && types.ExprString(x) == names[0] {
			used = true
		}
		return true
	})
	return sorted || !used && c.isLocalVar(list)
}

// namesOf are the expressions by which a slice, or the slices of a map, are known in a function: for
// m[k] also m, and v in a loop over m.
func (c *checker) namesOf(body ast.Node, list ast.Expr) []string {
	ix, ok := ast.Unparen(list).(*ast.IndexExpr)
	if !ok {
		return []string{types.ExprString(ast.Unparen(list))}
	}
	base := types.ExprString(ix.X)
	names := []string{base}
	ast.Inspect(body, func(n ast.Node) bool {
		if loop, ok := n.(*ast.RangeStmt); ok && types.ExprString(loop.X) == base && !isBlank(loop.Value) {
			names = append(names, types.ExprString(loop.Value))
		}
		return true
	})
	return names
}

// isLocalVar tells whether an expression is a variable of the function, so that all uses of it can
// be seen.
func (c *checker) isLocalVar(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := c.TypesInfo.ObjectOf(id).(*types.Var)
	return ok && v.Kind() == types.LocalVar
}

// outermost is the body of the declared function around cur.
func outermost(cur inspector.Cursor) ast.Node {
	for fn := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		return fn.Node().(*ast.FuncDecl).Body
	}
	return nil
}

// hasOneEntry tells whether the function looked at how many entries the map has, and so is taken to
// loop only to get at the only one.
func (c *checker) hasOneEntry(cur inspector.Cursor, m ast.Expr) bool {
	body, name, found := outermost(cur), types.ExprString(m), false
	if body == nil {
		return false
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || n.Pos() >= cur.Node().Pos() {
			return false
		}
		b, ok := n.(*ast.BinaryExpr)
		if !ok {
			return !found
		}
		call, ok := ast.Unparen(b.X).(*ast.CallExpr)
		value := c.TypesInfo.Types[b.Y].Value
		if !ok || value == nil || value.Kind() != constant.Int || !c.isBuiltin(call, "len") || types.ExprString(call.Args[0]) != name {
			return !found
		}
		n64, _ := constant.Int64Val(value)
		switch b.Op {
		case token.EQL, token.NEQ, token.GTR, token.LEQ:
			found = found || n64 == 1
		case token.LSS, token.GEQ:
			found = found || n64 == 2
		}
		return !found
	})
	return found
}
