package simvet

import (
	"go/ast"
	"iter"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// checker is one analyzer at work on one package: a pass that knows which files are to be looked at
// and which findings are ignored.
type checker struct {
	*analysis.Pass
	root       inspector.Cursor
	directives *directives
	heeded     heeded
	tests      bool // whether test files are looked at
}

func newChecker(pass *analysis.Pass) (*checker, error) {
	tests, err := includesTests(pass.Analyzer)
	return &checker{
		Pass:       pass,
		root:       pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(),
		directives: pass.ResultOf[directivesAnalyzer].(*directives),
		heeded:     heeded{},
		tests:      tests,
	}, err
}

// nodes are the nodes of the given types in the files that are to be looked at.
func (c *checker) nodes(types ...ast.Node) iter.Seq[inspector.Cursor] {
	return func(yield func(inspector.Cursor) bool) {
		for file := range c.root.Children() {
			if c.skips(c.Fset.File(file.Node().(*ast.File).FileStart).Name()) {
				continue
			}
			for cur := range file.Preorder(types...) {
				if !yield(cur) {
					return
				}
			}
		}
	}
}

// skips tells whether a file is not to be looked at.
func (c *checker) skips(file string) bool { return !c.tests && strings.HasSuffix(file, "_test.go") }

// finding is something to report.
type finding struct {
	at      ast.Node
	message string
	fix     *analysis.SuggestedFix
}

// report reports a finding, unless a directive says that it is none. The message ends in the name
// that such a directive needs: what `go vet` prints does not have it.
func (c *checker) report(f finding) {
	if d := c.directives.covering(c.Fset, c.Analyzer.Name, f.at.Pos()); d != nil {
		c.heeded[d.comment.Pos()] = true
		return
	}
	d := analysis.Diagnostic{
		Pos: f.at.Pos(), End: f.at.End(),
		Message: f.message + nameSuffix(c.Analyzer.Name),
	}
	if f.fix != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{*f.fix}
	}
	c.Report(d)
}

func nameSuffix(analyzer string) string { return " (" + analyzer + ")" }
