package simvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var reflectedChannels = func() banned {
	b := banned{}
	const blocks = "waits for a bare channel, and blocks the only thread that the simulation has"
	b.ban("reflect", advice{blocks, "host.Select", nil}, "Select")
	b.ban("reflect", advice{blocks, "host.Chan", nil}, "Value.Recv", "Value.Send")
	return b
}()

const blocksThread = ", and blocks the only thread that the simulation has until it gets on"

// runChan finds what waits for, or wakes through, a Go channel.
//
// A select of one case and a default neither waits nor chooses, and is not reported: it is how a
// context or a timer is polled.
func runChan(c *checker) error {
	for cur := range c.nodes((*ast.SelectStmt)(nil), (*ast.SendStmt)(nil), (*ast.UnaryExpr)(nil), (*ast.RangeStmt)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.SelectStmt:
			if message := selectMessage(n); message != "" {
				c.report(finding{at: n, message: message})
			}
		case *ast.SendStmt:
			if !isComm(cur) {
				c.report(finding{at: n, message: "a send on a bare channel wakes and waits for what the simulator does not schedule" +
					blocksThread + ": use host.Chan"})
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !isReceiveComm(cur) {
				message, fix := c.receive(cur, n)
				c.report(finding{at: n, message: message, fix: fix})
			}
		case *ast.RangeStmt:
			if isChan(c.TypesInfo.TypeOf(n.X)) {
				c.report(finding{at: n.X, message: "ranging over a bare channel waits for what the simulator does not schedule" +
					blocksThread + ": use host.Chan and Recv"})
			}
		case *ast.CallExpr:
			if c.isBuiltin(n, "close") {
				c.report(finding{at: n, message: "closing a bare channel wakes goroutines that the simulator does not schedule: " +
					"use host.Chan, or a context of host.WithCancel"})
			}
		}
	}
	return reflectedChannels.check(c)
}

func selectMessage(s *ast.SelectStmt) string {
	hasDefault := false
	for _, clause := range s.Body.List {
		hasDefault = hasDefault || clause.(*ast.CommClause).Comm == nil
	}
	switch n := len(s.Body.List); {
	case n == 0:
		return "an empty select blocks the only thread that the simulation has for ever: return, or wait in host.Select"
	case !hasDefault:
		return "a select statement waits for bare channels" + blocksThread + ": use host.Select"
	case n > 2:
		return "a select statement chooses among the ready cases with the runtime's own randomness: use host.TrySelect"
	}
	return ""
}

// isComm tells whether cur is the operation of a select's case, which is reported as a whole.
func isComm(cur inspector.Cursor) bool { return cur.ParentEdgeKind() == edge.CommClause_Comm }

// isReceiveComm is isComm for the receive expression in v := <-c.
func isReceiveComm(cur inspector.Cursor) bool {
	for cur.ParentEdgeKind() == edge.ParenExpr_X {
		cur = cur.Parent()
	}
	kind := cur.ParentEdgeKind()
	return (kind == edge.ExprStmt_X || kind == edge.AssignStmt_Rhs) && isComm(cur.Parent())
}

// receive says what to do instead of a receive, by what is received from.
func (c *checker) receive(cur inspector.Cursor, recv *ast.UnaryExpr) (string, *analysis.SuggestedFix) {
	x := ast.Unparen(recv.X)
	if call, ok := x.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Done" && isNamed(c.TypesInfo.TypeOf(sel.X), "context", "Context") {
			return "a bare receive from a context's Done blocks the only thread that the simulation has: use host.Select with host.OnDone",
				c.fixDone(cur, sel.X)
		}
	}
	if ch, ok := c.TypesInfo.TypeOf(x).Underlying().(*types.Chan); ok && isNamed(ch.Elem(), "time", "Time") {
		return "a bare receive from a timer blocks the only thread that the simulation has, so that the timer never fires: " +
			"use Host.Clock().Sleep, or host.Select with host.OnTime", nil
	}
	return "a receive from a bare channel waits for what the simulator does not schedule" + blocksThread + ": use host.Chan", nil
}

func (c *checker) fixDone(cur inspector.Cursor, ctx ast.Expr) *analysis.SuggestedFix {
	h, pkg := c.hostAt(cur), c.importName(cur, hostPath)
	if h == "" || pkg == "" || cur.ParentEdgeKind() != edge.ExprStmt_X {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "use " + pkg + ".Select",
		TextEdits: []analysis.TextEdit{
			replace(cur.Node(), pkg+".Select("+h+", "+pkg+".OnDone("+types.ExprString(ctx)+"))"),
		},
	}
}

func isChan(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Chan)
	return ok
}

func (c *checker) isBuiltin(call *ast.CallExpr, name string) bool {
	b, ok := c.TypesInfo.Uses[calledIdent(call)].(*types.Builtin)
	return ok && b.Name() == name
}
