package simvet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"
)

// waitsFact says of a function that it may park the task that calls it.
type waitsFact struct{ On string } // the host's operation: "host.Conn.Recv"

func (*waitsFact) AFact() {}

func (f *waitsFact) String() string { return "waits in " + f.On }

// canWait says of a package that it is one of those in parks, or imports one, itself or through others.
// Functions of other packages can't wait on a host.
type canWait struct{}

func (*canWait) AFact() {}

// parks are the operations that park the calling task. A net.Conn in simulated code is one of
// host.NetConn.
var parks = map[string]map[string]bool{
	hostPath: {
		"Chan.Send": true, "Chan.Recv": true, "Chan.SendContext": true, "Chan.RecvContext": true, "Select": true,
		"SelectFirst": true, "Mutex.Lock": true, "WaitGroup.Wait": true, "Parker.Park": true,
		"Net.Dial": true, "Listener.Accept": true, "Conn.Send": true, "Conn.Recv": true, "Socket.RecvFrom": true,
		"Disk.Open": true, "Disk.Rename": true, "Disk.Remove": true, "Disk.List": true, "Disk.SyncDir": true,
		"File.ReadAt": true, "File.WriteAt": true, "File.Truncate": true, "File.Sync": true, "ReadFile": true,
	},
	clockPath: {"Clock.Sleep": true},
	"net":     {"Conn.Read": true, "Conn.Write": true, "Listener.Accept": true},
}

// waits tells which calls of a package may park the task.
type waits struct {
	pass      *analysis.Pass
	unbounded map[types.Object]bool // channels of which each one made is unbounded: their senders don't wait
	known     map[*types.Func]*waitsFact
	literals  map[types.Object]*ast.FuncLit // of variables that only ever hold one
	entered   map[*ast.FuncLit]bool         // literals that are being looked into
}

var waitsAnalyzer = &analysis.Analyzer{
	Name:       "simwaits",
	Doc:        "find functions that wait on a host",
	FactTypes:  []analysis.Fact{new(waitsFact), new(canWait)},
	ResultType: reflect.TypeFor[*waits](),
	Run:        runWaits,
}

func runWaits(pass *analysis.Pass) (any, error) {
	w := &waits{pass: pass, known: map[*types.Func]*waitsFact{}, entered: map[*ast.FuncLit]bool{}}
	tabled := parks[pass.Pkg.Path()] != nil
	if !tabled && !w.importsWaiting() {
		return w, nil
	}
	pass.ExportPackageFact(new(canWait))
	if tabled {
		return w, nil // the table says it all
	}
	w.unbounded, w.literals = unboundedChans(pass), soleLiterals(pass.TypesInfo, pass.Files)
	w.findAll(declaredIn(pass.TypesInfo, pass.Files))
	return w, nil
}

// importsWaiting tells whether the package imports one that can wait. What the standard library makes
// of a connection is not looked into.
func (w *waits) importsWaiting() bool {
	if isStandard(w.pass) {
		return false
	}
	for _, p := range w.pass.Pkg.Imports() {
		if w.pass.ImportPackageFact(p, new(canWait)) {
			return true
		}
	}
	return false
}

// findAll finds the package's functions that wait, and those that call them, until there are no more:
// functions may call each other in circles.
func (w *waits) findAll(funcs *declared) {
	methods := interfaceMethods(w.pass.Pkg)
	find := func(fn *types.Func, f *waitsFact) bool {
		if f == nil {
			return false
		}
		w.known[fn] = f
		w.pass.ExportObjectFact(fn, f)
		return true
	}
	for more := true; more; {
		more = false
		for _, fn := range funcs.order {
			if w.known[fn] == nil && find(fn, w.in(funcs.bodies[fn].Body)) {
				more = true
			}
		}
		for _, m := range methods {
			if w.known[m] == nil && find(m, w.anyOf(implementations(w.pass.Pkg, m))) {
				more = true
			}
		}
	}
}

func (w *waits) anyOf(fns []*types.Func) *waitsFact {
	for _, fn := range fns {
		if f := w.of(fn); f != nil {
			return f
		}
	}
	return nil
}

// of tells whether a function waits; nil if it is not known to.
func (w *waits) of(fn *types.Func) *waitsFact {
	path, name := qualified(fn)
	switch {
	case parks[path][name]:
		return &waitsFact{On: fn.Pkg().Name() + "." + name}
	case parks[path] != nil:
		return nil
	case fn.Pkg() == w.pass.Pkg:
		return w.known[fn]
	}
	if f := new(waitsFact); w.pass.ImportObjectFact(fn, f) {
		return f
	}
	return nil
}

// in tells whether a piece of code waits.
func (w *waits) in(n ast.Node) *waitsFact {
	var found *waitsFact
	calls(n, func(call *ast.CallExpr) {
		if found == nil {
			found = w.call(call)
		}
	})
	return found
}

// call tells whether a call waits.
func (w *waits) call(call *ast.CallExpr) *waitsFact {
	fn := callee(w.pass.TypesInfo, call)
	if fn == nil {
		return w.literal(call)
	}
	if path, name := qualified(fn); path == hostPath && (name == "Chan.Send" || name == "Chan.SendContext") {
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && w.unbounded[variable(w.pass.TypesInfo, sel.X)] {
			return nil
		}
	}
	return w.of(fn)
}

// literal tells whether a call waits that is of a variable, if that only ever holds one function
// literal.
func (w *waits) literal(call *ast.CallExpr) *waitsFact {
	lit := w.literals[variable(w.pass.TypesInfo, call.Fun)]
	if lit == nil || w.entered[lit] { // it may call itself
		return nil
	}
	w.entered[lit] = true
	defer delete(w.entered, lit)
	return w.in(lit.Body)
}

// calls visits the calls that happen when n is executed: not those in function literals, unless such
// a literal is called or deferred on the spot.
func calls(n ast.Node, visit func(*ast.CallExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.GoStmt:
			for _, arg := range n.Call.Args {
				calls(arg, visit)
			}
			return false
		case *ast.CallExpr:
			if lit, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok {
				calls(lit.Body, visit)
			}
			visit(n)
		}
		return true
	})
}

// variable is the variable or field that an expression names, or nil.
func variable(info *types.Info, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return info.ObjectOf(e)
	case *ast.SelectorExpr:
		return info.ObjectOf(e.Sel)
	}
	return nil
}

// unboundedChans finds the variables and fields to which only unbounded channels are assigned.
func unboundedChans(pass *analysis.Pass) map[types.Object]bool {
	found := map[types.Object]bool{}
	note := func(obj types.Object, value ast.Expr) {
		if obj == nil || !isNamed(obj.Type(), hostPath, "Chan") {
			return
		}
		old, seen := found[obj]
		found[obj] = makesUnbounded(pass.TypesInfo, value) && (old || !seen)
	}
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Lhs) == len(n.Rhs) {
					for i := range n.Lhs {
						note(variable(pass.TypesInfo, n.Lhs[i]), n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					if len(n.Names) == len(n.Values) {
						note(pass.TypesInfo.Defs[n.Names[i]], n.Values[i])
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					note(pass.TypesInfo.Uses[key], n.Value)
				}
			}
			return true
		})
	}
	return found
}

func makesUnbounded(info *types.Info, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return false
	}
	fn := callee(info, call)
	if path, name := qualified(fn); fn == nil || path != hostPath || name != "NewChan" && name != "NewRuntimeChan" {
		return false
	}
	value := info.Types[call.Args[2]].Value
	return value != nil && value.Kind() == constant.Int && constant.Sign(value) < 0
}
