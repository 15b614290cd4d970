package simvet

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// effects knows what the functions of a package, and of those it imports, do that could show in what
// order they are called.
type effects struct {
	pass       *analysis.Pass
	info       *types.Info
	known      map[*types.Func]*summary
	literals   map[types.Object]*ast.FuncLit // variables that only ever hold one function literal
	lits       map[*ast.FuncLit]*summary
	loopLabels map[*types.Label]ast.Node // of labelled range statements, by the loop's body
}

// summarized says of a package that its functions have summaries where there is something to say.
type summarized struct{}

func (*summarized) AFact() {}

var effectsAnalyzer = &analysis.Analyzer{
	Name:       "simeffects",
	Doc:        "find what functions do that could show in what order they are called",
	FactTypes:  []analysis.Fact{new(summary), new(summarized)},
	ResultType: reflect.TypeFor[*effects](),
	Run:        runEffects,
}

func runEffects(pass *analysis.Pass) (any, error) {
	e := &effects{pass: pass, info: pass.TypesInfo, known: map[*types.Func]*summary{}, lits: map[*ast.FuncLit]*summary{}}
	if isStandard(pass) {
		return e, nil // standardSummary knows what it needs to
	}
	pass.ExportPackageFact(new(summarized))
	e.literals, e.loopLabels = soleLiterals(pass.TypesInfo, pass.Files), e.findLabels()
	funcs, methods := declaredIn(pass.TypesInfo, pass.Files), interfaceMethods(pass.Pkg)
	e.summarizeAll(funcs, methods)
	for _, fn := range slices.Concat(funcs.order, methods) {
		if s := e.known[fn]; !s.harmless() {
			pass.ExportObjectFact(fn, s)
		}
	}
	return e, nil
}

// isStandard tells whether the package is one of the standard library.
func isStandard(pass *analysis.Pass) bool {
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return (pass.Module == nil || pass.Module.Path == "") && !strings.Contains(first, ".") && pass.Pkg.Name() != "main"
}

// maxRounds bounds the search for summaries that agree with each other. Each round can only make them
// worse, and three usually do; a chain of calls against the order of the source needs one a link.
const maxRounds = 20

// summarizeAll finds the summaries of the package's functions. They start out as harmless, and get
// worse until they agree with those of the functions that they call: calls may go in circles.
func (e *effects) summarizeAll(funcs *declared, methods []*types.Func) {
	for _, fn := range slices.Concat(funcs.order, methods) {
		e.known[fn] = &summary{}
	}
	for range maxRounds {
		clear(e.lits)
		changed := false
		for _, fn := range funcs.order {
			s := e.summarize(fn, funcs.bodies[fn])
			changed = changed || !reflect.DeepEqual(s, e.known[fn])
			e.known[fn] = s
		}
		for _, m := range methods {
			s := e.joined(m)
			changed = changed || !reflect.DeepEqual(s, e.known[m])
			e.known[m] = s
		}
		if !changed {
			return
		}
	}
}

func (e *effects) summarize(fn *types.Func, decl *ast.FuncDecl) *summary {
	vars, n := map[types.Object]owner{}, 0
	sig := fn.Signature()
	if sig.Recv() != nil {
		vars[sig.Recv()] = owner(n)
		n++
	}
	for p := range sig.Params().Variables() {
		vars[p] = owner(n)
		n++
	}
	return e.summaryIn(decl, decl.Body, vars)
}

// ofLiteral is the summary of a function literal, to which what it captures is outside.
func (e *effects) ofLiteral(lit *ast.FuncLit) *summary {
	if s := e.lits[lit]; s != nil {
		return s
	}
	e.lits[lit] = &summary{} // it may call itself
	vars := map[types.Object]owner{}
	sig := e.info.TypeOf(lit).(*types.Signature)
	n := 0
	for p := range sig.Params().Variables() {
		vars[p] = owner(n)
		n++
	}
	e.lits[lit] = e.summaryIn(lit, lit.Body, vars)
	return e.lits[lit]
}

func (e *effects) summaryIn(fn ast.Node, body *ast.BlockStmt, vars map[types.Object]owner) *summary {
	r := &region{e: e, body: body, of: fn, vars: vars}
	r.walk()
	s := &summary{}
	for _, f := range r.found {
		s.add(f)
	}
	s.Reveals = r.reveals
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		s.Sorts = s.Sorts || ok && e.sorts(call) && slices.ContainsFunc(arguments(e.info, call), r.tied)
		return !s.Sorts
	})
	return s
}

// sorts tells whether a call puts its arguments in order, by its name or by what is known of the
// function.
func (e *effects) sorts(call *ast.CallExpr) bool {
	fun := call.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	name := strings.ToLower(types.ExprString(fun))
	return strings.Contains(name, "sort") || name == "heap.init" || strings.HasSuffix(name, "elementsmatch") || e.summaryOf(call).Sorts
}

// joined is the summary of an interface's method: of all methods in the package that it may be.
func (e *effects) joined(m *types.Func) *summary {
	impls := implementations(e.pass.Pkg, m)
	if len(impls) == 0 {
		return unknownEffects("may do anything")
	}
	s := &summary{}
	for _, impl := range impls {
		k := e.known[impl]
		if k == nil {
			return unknownEffects("may do anything")
		}
		s.Reveals = s.Reveals || k.Reveals
		s.add(effect{on: outside, outcome: k.Outside, why: k.Why})
		for i, p := range k.Params {
			s.add(effect{on: owner(i), outcome: p.Outcome, why: p.Why})
		}
	}
	return s
}

// summaryOf is what a call does; of calls of function values, nothing.
func (e *effects) summaryOf(call *ast.CallExpr) *summary {
	fn := callee(e.info, call)
	if fn == nil {
		return &summary{}
	}
	return e.of(fn)
}

// of is what a function does.
func (e *effects) of(fn *types.Func) *summary {
	if s := tabled(fn); s != nil {
		return s
	}
	if fn.Pkg() == e.pass.Pkg {
		if s := e.known[fn]; s != nil {
			return s
		}
		return unknownEffects("may do anything")
	}
	s := new(summary)
	switch {
	case e.pass.ImportObjectFact(fn, s):
		return s
	case fn.Pkg() != nil && e.pass.ImportPackageFact(fn.Pkg(), new(summarized)):
		return &summary{}
	}
	return standardSummary(fn)
}

func (e *effects) isBuiltin(call *ast.CallExpr, name string) bool {
	b, ok := e.info.Uses[calledIdent(call)].(*types.Builtin)
	return ok && b.Name() == name
}

// findLabels finds the loops that have labels.
func (e *effects) findLabels() map[*types.Label]ast.Node {
	found := map[*types.Label]ast.Node{}
	for _, file := range e.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.LabeledStmt); ok {
				if loop, ok := l.Stmt.(*ast.RangeStmt); ok {
					if label, ok := e.info.Defs[l.Label].(*types.Label); ok {
						found[label] = loop.Body
					}
				}
			}
			return true
		})
	}
	return found
}
