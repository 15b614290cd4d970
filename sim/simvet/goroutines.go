package simvet

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

var goroutines = func() banned {
	b := banned{}
	starts := advice{does: "starts a goroutine that the simulator neither schedules nor sees", instead: "Go of host.WaitGroup"}
	b.ban("sync", starts, "WaitGroup.Go")
	b.ban("golang.org/x/sync/errgroup", starts, "Group.Go", "Group.TryGo")
	b.ban("golang.org/x/sync/singleflight", advice{
		does: "starts a goroutine that the simulator neither schedules nor sees", instead: "Host.Go and a host.Chan",
	}, "Group.DoChan")
	return b
}()

func runGo(c *checker) error {
	for cur := range c.nodes((*ast.GoStmt)(nil)) {
		c.report(finding{
			at:      cur.Node(),
			message: "a go statement starts a goroutine that the simulator neither schedules nor sees: use Host.Go",
			fix:     c.fixGo(cur),
		})
	}
	return goroutines.check(c)
}

// fixGo makes a task of a goroutine whose function is written in place and takes no arguments: those
// would be evaluated later than they were.
func (c *checker) fixGo(cur inspector.Cursor) *analysis.SuggestedFix {
	stmt := cur.Node().(*ast.GoStmt)
	lit, ok := ast.Unparen(stmt.Call.Fun).(*ast.FuncLit)
	if !ok || len(stmt.Call.Args) > 0 || lit.Type.Results.NumFields() > 0 {
		return nil
	}
	h := c.hostAt(cur)
	if h == "" {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "use " + h + ".Go",
		TextEdits: []analysis.TextEdit{
			{Pos: stmt.Pos(), End: lit.Pos(), NewText: fmt.Appendf(nil, "%s.Go(%q, ", h, functionName(cur))},
			{Pos: lit.End(), End: stmt.End(), NewText: []byte(")")},
		},
	}
}

// functionName is the name of the function around cur.
func functionName(cur inspector.Cursor) string {
	for fn := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		return fn.Node().(*ast.FuncDecl).Name.Name
	}
	return "task"
}
