package simvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// fixLoop ranges over sorted keys, where the keys have an order and the map is named by something
// that can be written twice.
func (c *checker) fixLoop(cur inspector.Cursor, loop *ast.RangeStmt, m ast.Expr) *analysis.SuggestedFix {
	t, ok := c.TypesInfo.TypeOf(m).Underlying().(*types.Map)
	if !ok || m != loop.X || !isOrdered(t.Key()) || !isPath(m) {
		return nil
	}
	file := fileOf(cur)
	slicesName, mapsName, imports := c.importBoth(file, cur)
	if slicesName == "" {
		return nil
	}
	key, name := "key", types.ExprString(m)
	if !isBlank(loop.Key) {
		key = types.ExprString(loop.Key)
	}
	edits := append(imports, analysis.TextEdit{
		Pos: loop.Key.Pos(), End: loop.X.End(),
		NewText: fmt.Appendf(nil, "_, %s := range %s.Sorted(%s.Keys(%s))", key, slicesName, mapsName, name),
	})
	if !isBlank(loop.Value) {
		if isBlank(loop.Key) && mentions(loop.Body, key) {
			return nil // the name is taken
		}
		edits = append(edits, insert(loop.Body.Lbrace+1, fmt.Sprintf("\n%s := %s[%s]", types.ExprString(loop.Value), name, key)))
	}
	return &analysis.SuggestedFix{Message: "range over sorted keys", TextEdits: edits}
}

// isOrdered tells whether t is one of cmp.Ordered.
func isOrdered(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsOrdered != 0
}

// isPath tells whether e is made of names and dots only.
func isPath(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isPath(e.X)
	}
	return false
}

func fileOf(cur inspector.Cursor) *ast.File {
	for file := range cur.Enclosing((*ast.File)(nil)) {
		return file.Node().(*ast.File)
	}
	return nil
}

// importBoth returns the names of packages slices and maps in a file, with the edits that import
// them there if need be.
func (c *checker) importBoth(file *ast.File, cur inspector.Cursor) (slicesName, mapsName string, edits []analysis.TextEdit) {
	names := map[string]string{}
	var missing []string
	for _, path := range []string{"maps", "slices"} {
		names[path] = c.importName(cur, path)
		if names[path] != "" {
			continue
		}
		if _, taken := c.Pkg.Scope().Innermost(cur.Node().Pos()).LookupParent(path, token.NoPos); taken != nil {
			return "", "", nil
		}
		names[path] = path
		missing = append(missing, path)
	}
	if len(missing) > 0 {
		edits = []analysis.TextEdit{addImports(file, missing)}
	}
	return names["slices"], names["maps"], edits
}

// addImports imports packages of the standard library.
func addImports(file *ast.File, paths []string) analysis.TextEdit {
	slices.Sort(paths)
	quoted := "\"" + strings.Join(paths, "\"\n\t\"") + "\""
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT && d.Lparen.IsValid() {
			return insert(d.Lparen+1, "\n\t"+quoted)
		}
	}
	return insert(file.Name.End(), "\n\nimport (\n\t"+quoted+"\n)")
}
