package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// fixer suggests how to mend a use, or returns nil where that takes thought.
type fixer func(*fixSite) *analysis.SuggestedFix

// fixSite is a use to be mended, where a host is in sight.
type fixSite struct {
	c    *checker
	use  inspector.Cursor // the identifier or selector
	obj  types.Object
	host string // an expression for the host, such as "h" or "s.host"
}

// call is the call of which the use is the function, or nil.
func (s *fixSite) call() *ast.CallExpr {
	if s.use.ParentEdgeKind() != edge.CallExpr_Fun {
		return nil
	}
	return s.use.Parent().Node().(*ast.CallExpr)
}

// replaceWith puts an expression in the place of the use; %s in it stands for the host.
func replaceWith(format string) fixer {
	return func(s *fixSite) *analysis.SuggestedFix {
		text := fmt.Sprintf(format, s.host)
		return &analysis.SuggestedFix{
			Message:   "use " + text,
			TextEdits: []analysis.TextEdit{replace(s.use.Node(), text)},
		}
	}
}

// replaceStatement is replaceWith where the result, which has another type, is not used.
func replaceStatement(format string) fixer {
	return func(s *fixSite) *analysis.SuggestedFix {
		if s.call() == nil || s.use.Parent().ParentEdgeKind() != edge.ExprStmt_X {
			return nil
		}
		return replaceWith(format)(s)
	}
}

// callHost calls a function of package host instead, which takes the host as its first argument.
func callHost(name string) fixer {
	return func(s *fixSite) *analysis.SuggestedFix {
		call := s.call()
		pkg := s.c.importName(s.use, hostPath)
		if call == nil || len(call.Args) == 0 || pkg == "" {
			return nil
		}
		return &analysis.SuggestedFix{
			Message: "use " + pkg + "." + name,
			TextEdits: []analysis.TextEdit{
				replace(s.use.Node(), pkg+"."+name),
				insert(call.Args[0].Pos(), s.host+", "),
			},
		}
	}
}

func replace(n ast.Node, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: n.Pos(), End: n.End(), NewText: []byte(text)}
}

func insert(at token.Pos, text string) analysis.TextEdit {
	return analysis.TextEdit{Pos: at, End: at, NewText: []byte(text)}
}

// hostAt is an expression for a host that can be used at cur: a variable, or a field of a method's
// receiver. It is "" when there is none.
func (c *checker) hostAt(cur inspector.Cursor) string {
	at := cur.Node().Pos()
	for scope := c.Pkg.Scope().Innermost(at); scope != nil && scope != c.Pkg.Scope(); scope = scope.Parent() {
		for _, name := range scope.Names() {
			if v, ok := scope.Lookup(name).(*types.Var); ok && isHost(v.Type()) && v.Pos() < at && c.visible(v, cur) {
				return name
			}
		}
	}
	for fn := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		if recv := fn.Node().(*ast.FuncDecl).Recv; recv != nil && len(recv.List[0].Names) > 0 {
			return c.hostField(recv.List[0].Names[0], cur)
		}
	}
	return ""
}

func (c *checker) hostField(recv *ast.Ident, cur inspector.Cursor) string {
	v, ok := c.TypesInfo.Defs[recv].(*types.Var)
	if !ok || !c.visible(v, cur) {
		return ""
	}
	named := namedType(v.Type())
	if named == nil {
		return ""
	}
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for f := range s.Fields() {
		if isHost(f.Type()) && f.Pkg() == c.Pkg {
			return recv.Name + "." + f.Name()
		}
	}
	return ""
}

// visible tells whether v's name means v at cur.
func (c *checker) visible(v *types.Var, cur inspector.Cursor) bool {
	at := cur.Node().Pos()
	_, found := c.Pkg.Scope().Innermost(at).LookupParent(v.Name(), at)
	return found == v
}

func isHost(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == hostPath && named.Obj().Name() == "Host"
}

// importName is the name by which the file around cur knows a package, or "".
func (c *checker) importName(cur inspector.Cursor, path string) string {
	for file := range cur.Enclosing((*ast.File)(nil)) {
		for _, spec := range file.Node().(*ast.File).Imports {
			if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != path {
				continue
			}
			pkg := c.TypesInfo.PkgNameOf(spec)
			if pkg == nil || pkg.Name() == "_" || pkg.Name() == "." {
				return ""
			}
			// It must not be hidden by something of the same name.
			at := cur.Node().Pos()
			if _, found := c.Pkg.Scope().Innermost(at).LookupParent(pkg.Name(), at); found == pkg {
				return pkg.Name()
			}
		}
	}
	return ""
}
