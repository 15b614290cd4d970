package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/cfg"
)

var blockingSync = func() banned {
	b := banned{}
	const blocks = "blocks the only thread that the simulation has"
	b.ban("sync", advice{blocks, "host.WaitGroup", nil}, "WaitGroup.Wait")
	b.ban("sync", advice{blocks, "a host.Chan, or a host.Mutex", nil}, "Cond.Wait")
	b.ban("golang.org/x/sync/errgroup", advice{blocks, "host.WaitGroup", nil}, "Group.Wait")
	b.ban("golang.org/x/sync/semaphore", advice{blocks, "a host.Chan of that capacity", nil}, "Weighted.Acquire")
	b.ban("golang.org/x/sync/singleflight", advice{
		"lets the callers that come second block the only thread that the simulation has", "a host.Mutex", nil,
	}, "Group.Do")
	return b
}()

// runSync finds waiting with package sync, and locks of package sync that are held while a task waits:
// the next task that wants such a lock blocks the only thread there is, and the holder never gets to
// unlock. A lock that is held for a few instructions is fine, and not reported.
func runSync(c *checker) error {
	w := c.ResultOf[waitsAnalyzer].(*waits)
	for cur := range c.nodes((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch fn := cur.Node().(type) {
		case *ast.FuncDecl:
			if fn.Body != nil {
				c.heldLocks(w, fn.Body)
			}
		case *ast.FuncLit:
			c.heldLocks(w, fn.Body)
		}
	}
	c.waitingOnces(w)
	return blockingSync.check(c)
}

// locks are the locks held at a point of a function, by the expressions that name them, with the
// places where they were taken.
type locks map[string]token.Pos

// heldLocks reports the calls of a function that wait while a lock of package sync may be held.
func (c *checker) heldLocks(w *waits, body *ast.BlockStmt) {
	if !c.mentionsLocks(body) {
		return
	}
	graph := cfg.New(body, func(call *ast.CallExpr) bool { return !c.isBuiltin(call, "panic") })
	entry := make([]locks, len(graph.Blocks))
	pending := []*cfg.Block{graph.Blocks[0]}
	entry[0] = locks{}
	for len(pending) > 0 {
		b := pending[0]
		pending = pending[1:]
		held := maps.Clone(entry[b.Index])
		for _, n := range b.Nodes {
			c.step(w, n, held, nil)
		}
		for _, next := range b.Succs {
			if entry[next.Index] == nil {
				entry[next.Index] = maps.Clone(held)
			} else if !entry[next.Index].add(held) {
				continue
			}
			pending = append(pending, next)
		}
	}
	reported := map[*ast.CallExpr]bool{}
	for _, b := range graph.Blocks {
		if entry[b.Index] == nil {
			continue // not reached
		}
		held := maps.Clone(entry[b.Index])
		for _, n := range b.Nodes {
			c.step(w, n, held, func(call *ast.CallExpr, waits *waitsFact) {
				if !reported[call] {
					reported[call] = true
					c.reportHeld(call, waits, held)
				}
			})
		}
	}
}

// add makes l the union of both and tells whether it grew.
func (l locks) add(other locks) bool {
	grew := false
	for name, pos := range other {
		if _, ok := l[name]; !ok {
			l[name], grew = pos, true
		}
	}
	return grew
}

// step brings held up to date with what the node does, and calls waiting for each call in it that
// waits while something is held. Deferred calls happen after all this.
func (c *checker) step(w *waits, n ast.Node, held locks, waiting func(*ast.CallExpr, *waitsFact)) {
	if _, ok := n.(*ast.DeferStmt); ok {
		return
	}
	calls(n, func(call *ast.CallExpr) {
		if name, op := c.lockOp(call); op != "" {
			if op == "Unlock" {
				delete(held, name)
			} else {
				held[name] = call.Pos()
			}
			return
		}
		if waiting == nil || len(held) == 0 {
			return
		}
		if f := w.call(call); f != nil {
			waiting(call, f)
		}
	})
}

func (c *checker) reportHeld(call *ast.CallExpr, waits *waitsFact, held locks) {
	name := slices.Min(slices.Collect(maps.Keys(held)))
	what := types.ExprString(call.Fun)
	direct := ""
	if fn := callee(c.TypesInfo, call); fn != nil {
		_, name := qualified(fn)
		direct = fn.Pkg().Name() + "." + name
	}
	if direct != waits.On {
		what += ", which calls " + waits.On + ","
	}
	c.report(finding{at: call, message: fmt.Sprintf(
		"%s waits while %s, locked on line %d, is held: the next task that locks it blocks the only thread that the simulation has: "+
			"use host.Mutex, or unlock first", what, name, c.Fset.Position(held[name]).Line)})
}

// lockOp tells whether a call locks or unlocks something of package sync, and what.
func (c *checker) lockOp(call *ast.CallExpr) (name, op string) {
	fn := callee(c.TypesInfo, call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if fn == nil || !ok {
		return "", ""
	}
	path, method := qualified(fn)
	if path != "sync" {
		return "", ""
	}
	name = types.ExprString(sel.X) + c.embedding(sel)
	switch method {
	case "Mutex.Lock", "RWMutex.Lock", "RWMutex.RLock", "Locker.Lock":
		return name, "Lock"
	case "Mutex.Unlock", "RWMutex.Unlock", "RWMutex.RUnlock", "Locker.Unlock":
		return name, "Unlock"
	}
	return "", ""
}

// embedding is the path from what a method is called on to the embedded field that has it, such as
// ".Mutex", so that s.Lock() and s.Mutex.Lock() are the same.
func (c *checker) embedding(sel *ast.SelectorExpr) string {
	s := c.TypesInfo.Selections[sel]
	if s == nil {
		return ""
	}
	path, t := "", s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		field := t.Underlying().(*types.Struct).Field(i)
		path, t = path+"."+field.Name(), field.Type()
	}
	return path
}

// mentionsLocks spares most functions the analysis.
func (c *checker) mentionsLocks(body *ast.BlockStmt) bool {
	found := false
	calls(body, func(call *ast.CallExpr) {
		_, op := c.lockOp(call)
		found = found || op == "Lock"
	})
	return found
}

// waitingOnces reports sync.Once and its like around a function that waits: the second caller
// blocks until the first is done.
func (c *checker) waitingOnces(w *waits) {
	for cur := range c.nodes((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		fn := callee(c.TypesInfo, call)
		if fn == nil || len(call.Args) == 0 {
			continue
		}
		path, name := qualified(fn)
		if path != "sync" || name != "Once.Do" && name != "OnceFunc" && name != "OnceValue" && name != "OnceValues" {
			continue
		}
		if f := c.argumentWaits(w, call.Args[0]); f != nil {
			c.report(finding{at: call, message: fmt.Sprintf(
				"sync.%s around %s, which waits: a second caller blocks the only thread that the simulation has: use host.Mutex", name, f.On)})
		}
	}
}

// argumentWaits tells whether a function that is passed as an argument waits.
func (c *checker) argumentWaits(w *waits, arg ast.Expr) *waitsFact {
	switch arg := ast.Unparen(arg).(type) {
	case *ast.FuncLit:
		return w.in(arg.Body)
	case *ast.Ident, *ast.SelectorExpr:
		if fn, ok := variable(c.TypesInfo, arg).(*types.Func); ok {
			return w.of(fn.Origin())
		}
	}
	return nil
}
