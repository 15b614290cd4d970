package simvet

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	driver "golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Options say what [Check] does.
type Options struct {
	// Dir is where the patterns are understood; "" is the working directory.
	Dir string
	// Tests makes it look at test files too.
	Tests bool
	// Only are the names of the analyzers to run; none is all of them.
	Only []string
	// Skip are the names of analyzers not to run.
	Skip []string
}

// Finding is something that the simulator can't decide.
type Finding struct {
	Position token.Position // absolute
	Check    string         // the analyzer's name
	Message  string         // what is wrong, why, and what to do instead
}

// LoadError says that packages could not be checked because they could not be found or compiled.
type LoadError struct{ Problems []string }

// Error is the first problem, and how many more there are.
func (e *LoadError) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0]
	}
	return fmt.Sprintf("%s (and %d more: see go build)", e.Problems[0], len(e.Problems)-1)
}

// Check runs the analyzers over packages, named as for the go command, and returns what they find,
// sorted. In a test it keeps a module's own code simulable:
//
//	findings, err := simvet.Check(t.Context(), simvet.Options{}, "./...")
//
// It fails with a *[LoadError].
func Check(ctx context.Context, opt Options, patterns ...string) ([]Finding, error) {
	analyzers, err := opt.analyzers()
	if err != nil {
		return nil, err
	}
	roots, err := load(ctx, opt, patterns)
	if err != nil {
		return nil, err
	}
	graph, err := driver.Analyze(analyzers, roots, nil)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, fmt.Errorf("simvet: %s: %w", act, act.Err)
		}
		for _, d := range act.Diagnostics {
			found = append(found, Finding{
				Position: act.Package.Fset.Position(d.Pos), Check: act.Analyzer.Name,
				Message: strings.TrimSuffix(d.Message, nameSuffix(act.Analyzer.Name)),
			})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		p, q := a.Position, b.Position
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column),
			cmp.Compare(a.Check, b.Check), cmp.Compare(a.Message, b.Message))
	})
	// A package is analysed once more together with its test files.
	return slices.Compact(found), nil
}

// analyzers are those that the options leave.
func (opt Options) analyzers() ([]*analysis.Analyzer, error) {
	all := Analyzers()
	known := names(all)
	for _, name := range slices.Concat(opt.Only, opt.Skip) {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("simvet: there is no analyzer %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	var chosen []*analysis.Analyzer
	for _, a := range all {
		if err := a.Flags.Set(TestsFlag, fmt.Sprint(opt.Tests)); err != nil {
			return nil, err
		}
		if (len(opt.Only) == 0 || slices.Contains(opt.Only, a.Name)) && !slices.Contains(opt.Skip, a.Name) {
			chosen = append(chosen, a)
		}
	}
	return chosen, nil
}

// load loads the packages and all that they import, from source: what functions of other packages
// do is part of the question.
func load(ctx context.Context, opt Options, patterns []string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: opt.Dir, Tests: opt.Tests, Mode: packages.LoadAllSyntax | packages.NeedModule,
	}, patterns...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &LoadError{[]string{strings.TrimSpace(err.Error())}}
	}
	failed := &LoadError{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			failed.Problems = append(failed.Problems, strings.TrimPrefix(e.Error(), "-: "))
		}
	})
	if len(failed.Problems) > 0 {
		return nil, failed
	}
	// The main functions of test binaries are generated, and real.
	loaded = slices.DeleteFunc(loaded, func(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") })
	if len(loaded) == 0 {
		return nil, &LoadError{[]string{"no packages match " + strings.Join(patterns, " ")}}
	}
	return loaded, nil
}
