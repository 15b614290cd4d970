package simvet

import (
	"fmt"
	"go/ast"
	"go/types"
)

// call takes up the effects of a call.
func (r *region) call(call *ast.CallExpr) {
	info := r.e.info
	if info.Types[call.Fun].IsType() {
		return // a conversion
	}
	if b, ok := info.Uses[calledIdent(call)].(*types.Builtin); ok {
		r.builtin(call, b.Name())
		return
	}
	if _, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return // its body is walked as part of the region
	}
	s, args := r.e.summaryOf(call), arguments(info, call)
	name := types.ExprString(call.Fun)
	if fn := callee(info, call); fn == nil {
		var known bool
		if s, known = r.value(call.Fun); !known {
			r.add(outside, shows, call.Pos(), fmt.Sprintf("calls %s, a function that may do anything", name))
			return
		}
	} else if r.isContains(fn) {
		r.accounted[ast.Unparen(call.Args[0])] = true
	}
	r.apply(s, args, call, name)
	for _, arg := range args {
		r.passed(arg, call)
	}
}

// apply takes up what a summary says of a call.
func (r *region) apply(s *summary, args []ast.Expr, call *ast.CallExpr, name string) {
	revealed := s.Reveals && !r.accounted[call]
	r.reveals = r.reveals || revealed
	r.take(outside, s.Outside, s.Why, call, name, revealed)
	for i, arg := range args {
		if i >= len(s.Params) {
			return
		}
		p := s.Params[i]
		if p.Outcome == 0 || !hasPointers(r.e.info.TypeOf(arg)) && !r.addressed(call, i) {
			continue
		}
		r.take(r.ownerOf(arg, true), p.Outcome, p.Why, call, name, revealed)
	}
}

// take takes up one of the effects of a call; revealed tells that the call's result, which is used,
// depends on what the function counts.
func (r *region) take(on owner, o outcome, why string, call *ast.CallExpr, name string, revealed bool) {
	switch {
	case o == 0:
	case on == entry:
		r.add(entry, fills, call.Pos(), "calls "+name)
	case o == counts && revealed && r.over != "":
		r.add(on, shows, call.Pos(), fmt.Sprintf("uses the result of %s, which is another with each call", name))
	case o == shows:
		if why == "" || r.over != "" {
			why = callReason(name, why)
		}
		r.add(on, shows, call.Pos(), why)
	default:
		r.add(on, o, call.Pos(), "calls "+name)
	}
}

// callReason says why a call's order shows; why is what the function does, however many calls down.
func callReason(name, why string) string {
	if why == "" {
		return "calls " + name
	}
	return fmt.Sprintf("calls %s, which %s", name, why)
}

// addressed tells whether argument i is the variable that a method with a pointer receiver is called
// on: the compiler takes its address.
func (r *region) addressed(call *ast.CallExpr, i int) bool {
	if i != 0 {
		return false
	}
	fn := callee(r.e.info, call)
	return fn != nil && fn.Signature().Recv() != nil && isPointer(fn.Signature().Recv().Type())
}

// arguments are a call's arguments, with what a method is called on first.
func arguments(info *types.Info, call *ast.CallExpr) []ast.Expr {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s := info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
			return append([]ast.Expr{sel.X}, call.Args...)
		}
	}
	return call.Args
}

// passed takes up that a function is passed on, and so perhaps called. The bodies of function
// literals are walked anyway, and of function values it is assumed that they only compare and convert.
func (r *region) passed(arg ast.Expr, call *ast.CallExpr) {
	name := types.ExprString(arg)
	switch obj := variable(r.e.info, arg).(type) {
	case *types.Func:
		s := r.e.of(obj.Origin())
		r.take(outside, s.Outside, s.Why, call, name, false)
		if sel, ok := ast.Unparen(arg).(*ast.SelectorExpr); ok && r.e.info.Selections[sel] != nil && len(s.Params) > 0 {
			r.take(r.ownerOf(sel.X, true), s.Params[0].Outcome, s.Params[0].Why, call, name, false)
		}
	case *types.Var:
		if s, known := r.value(arg); known {
			r.take(outside, s.Outside, s.Why, call, name, false)
		}
	}
}

// value is the summary of a function value, known if it is a variable that only ever holds one
// function literal, or a parameter, whose callers look at what they pass.
func (r *region) value(fun ast.Expr) (s *summary, known bool) {
	v, ok := variable(r.e.info, fun).(*types.Var)
	if !ok {
		return nil, false
	}
	if _, given := r.vars[v]; given && r.over == "" && !v.IsField() {
		return &summary{}, true
	}
	if v.Kind() == types.ParamVar && r.isLocal(v) {
		return &summary{}, true // of a function literal in the region; its callers look
	}
	if lit := r.literals[v]; lit != nil {
		return &summary{}, true // walked where it stands, in the region
	}
	if lit := r.e.literals[v]; lit != nil {
		return r.e.ofLiteral(lit), true
	}
	return nil, false
}

func (r *region) builtin(call *ast.CallExpr, name string) {
	switch name {
	case "delete":
		r.remove(call)
	case "clear":
		r.add(r.ownerOf(call.Args[0], true), settles, call.Pos(), "clears "+types.ExprString(call.Args[0]))
	case "copy":
		dst := call.Args[0]
		if on := r.ownerOf(dst, true); on == entry {
			r.add(entry, fills, call.Pos(), "copies to "+types.ExprString(dst))
		} else {
			r.add(on, shows, call.Pos(), "copies to "+types.ExprString(dst))
		}
	case "close":
		r.add(outside, shows, call.Pos(), "closes a channel")
	case "print", "println":
		r.add(outside, shows, call.Pos(), "prints")
	}
}

// remove takes up a delete.
func (r *region) remove(call *ast.CallExpr) {
	m, key := types.ExprString(ast.Unparen(call.Args[0])), call.Args[1]
	if r.over != "" && m == r.over && !r.isKey(key) {
		r.add(outside, shows, call.Pos(), fmt.Sprintf("removes other entries of %s, which were visited or not", m))
		return
	}
	if r.over != "" && !r.tied(key) {
		r.add(r.ownerOf(call.Args[0], true), settles, call.Pos(), "removes from "+m)
		return
	}
	r.add(r.ownerOf(call.Args[0], true), fills, call.Pos(), "removes from "+m)
}

// isContains tells whether a function asks whether a slice has an element: to append what is not
// there yet is to build a set.
func (r *region) isContains(fn *types.Func) bool {
	path, name := qualified(fn)
	return path == "slices" && (name == "Contains" || name == "ContainsFunc")
}
