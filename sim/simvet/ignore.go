package simvet

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"
)

const directivePrefix = "//simvet:ignore"

// directive is a comment that switches checks off.
type directive struct {
	comment   *ast.Comment
	names     []string
	reason    string
	file      string
	line      int  // the line that it is about
	wholeFile bool // it stands before the package clause
}

// directives are those of a package.
type directives struct{ all []*directive }

// heeded are the positions of the directives that kept an analyzer from reporting.
type heeded map[token.Pos]bool

var directivesAnalyzer = &analysis.Analyzer{
	Name:       "simdirectives",
	Doc:        "find //simvet:ignore comments",
	ResultType: reflect.TypeFor[*directives](),
	Run: func(pass *analysis.Pass) (any, error) {
		found := &directives{}
		for _, file := range pass.Files {
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if d := parseDirective(pass, file, comment); d != nil {
						found.all = append(found.all, d)
					}
				}
			}
		}
		return found, nil
	},
}

func parseDirective(pass *analysis.Pass, file *ast.File, comment *ast.Comment) *directive {
	text, ok := strings.CutPrefix(comment.Text, directivePrefix)
	if !ok || text != "" && text[0] != ' ' && text[0] != '\t' {
		return nil
	}
	names, reason := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(names, unicode.IsSpace); i >= 0 {
		names, reason = names[:i], names[i:]
	}
	at := pass.Fset.PositionFor(comment.Pos(), false)
	d := &directive{
		comment: comment, reason: strings.TrimSpace(reason),
		file: at.Filename, line: at.Line, wholeFile: comment.Pos() < file.Package,
	}
	if names != "" {
		d.names = strings.Split(names, ",")
	}
	content, err := pass.ReadFile(at.Filename)
	if err != nil {
		return d
	}
	// A comment that is alone on its line is about the next line that is not a comment.
	lines := bytes.Split(content, []byte("\n"))
	for d.line <= len(lines) && isComment(lines[d.line-1]) {
		d.line++
	}
	return d
}

func isComment(line []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) }

// valid tells whether a directive is heeded at all.
func (d *directive) valid() bool { return d.reason != "" && len(d.names) > 0 }

// covering returns the directive that is about the given check at the given place, or nil.
func (ds *directives) covering(fset *token.FileSet, name string, pos token.Pos) *directive {
	at := fset.PositionFor(pos, false)
	for _, d := range ds.all {
		if d.valid() && d.file == at.Filename && (d.wholeFile || d.line == at.Line) && slices.Contains(d.names, name) {
			return d
		}
	}
	return nil
}

// runIgnore finds directives that can't be right: no reason, no such check, nothing to ignore. The last
// would hide what comes to stand there later.
func runIgnore(c *checker) error {
	for _, d := range c.directives.all {
		if c.skips(d.file) {
			continue
		}
		if problem := c.problem(d); problem != "" {
			c.report(finding{at: d.comment, message: problem})
		}
	}
	return nil
}

// families are the analyzers whose findings can be ignored.
func (c *checker) families() []*analysis.Analyzer {
	var all []*analysis.Analyzer
	for _, a := range c.Analyzer.Requires {
		if _, ok := c.ResultOf[a].(heeded); ok {
			all = append(all, a)
		}
	}
	return all
}

func (c *checker) problem(d *directive) string {
	const form = directivePrefix + " NAME why this is none"
	if len(d.names) == 0 {
		return "this comment names no check: write " + form
	}
	families, used := c.families(), false
	for _, name := range d.names {
		i := slices.IndexFunc(families, func(a *analysis.Analyzer) bool { return a.Name == name })
		if i < 0 {
			return fmt.Sprintf("there is no check %q: there are %s", name, strings.Join(names(families), ", "))
		}
		used = used || c.ResultOf[families[i]].(heeded)[d.comment.Pos()]
	}
	switch {
	case d.reason == "":
		return fmt.Sprintf("this comment gives no reason, and so is not heeded: write %s %s and why",
			directivePrefix, strings.Join(d.names, ","))
	case !used:
		return fmt.Sprintf("there is nothing here for %s to report: remove this comment", strings.Join(d.names, ","))
	}
	return ""
}

func names(analyzers []*analysis.Analyzer) []string {
	all := make([]string, len(analyzers))
	for i, a := range analyzers {
		all[i] = a.Name
	}
	return all
}
