package host_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each name that a package of the system passes to Sometimes or Reachable is declared in it, and
// nothing else is. Names are sorted, and given once.
func TestSituationsAreDeclared(t *testing.T) {
	called, declared := map[string]string{}, map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "hosttest") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Sometimes", "Reachable", "Declare"}, sel.Sel.Name) {
				return true
			}
			previous := ""
			for i, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				name, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				if sel.Sel.Name == "Declare" {
					require.Less(t, previous, name, "%s: sort the names", path)
					previous = name
					declared[name] = filepath.Dir(path)
				} else if i == 0 {
					called[name] = filepath.Dir(path)
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, called)
	require.Equal(t, called, declared)
}
