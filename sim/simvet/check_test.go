package simvet_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim/simvet"
)

// writeModule writes a module of the given files into a new directory.
func writeModule(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/bank\n\ngo 1.26\n"
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func bank(t testing.TB) string {
	return writeModule(t, map[string]string{
		"teller/teller.go": `package teller

import "time"

func Serve(c chan int) {
	go func() {}()
	c <- time.Now().Second()
}
`,
		"teller/teller_test.go": `package teller

import (
	"testing"
	"time"
)

func TestServe(t *testing.T) { time.Sleep(1) }
`,
		"teller/outside_test.go": `package teller_test

import (
	"testing"
	"time"
)

func TestOutside(t *testing.T) { time.Sleep(1) }
`,
		"vault/vault.go": "package vault\n\nfunc Open() {}\n",
	})
}

// places are the findings, short.
func places(t testing.TB, dir string, findings []simvet.Finding) []string {
	t.Helper()
	list := make([]string, len(findings))
	for i, f := range findings {
		rel, err := filepath.Rel(dir, f.Position.Filename)
		require.NoError(t, err)
		f.Position.Filename = filepath.ToSlash(rel)
		list[i] = f.Position.String() + " " + f.Check
	}
	return list
}

func TestCheck(t *testing.T) {
	dir := bank(t)
	all := []string{"teller/teller.go:6:2 simgo", "teller/teller.go:7:2 simchan", "teller/teller.go:7:7 simtime"}
	tests := []string{"teller/outside_test.go:8:34 simtime"}
	inTests := []string{"teller/teller_test.go:8:32 simtime"}
	for name, c := range map[string]struct {
		opt      simvet.Options
		patterns []string
		want     []string
	}{
		"all":           {simvet.Options{}, []string{"./..."}, all},
		"tests":         {simvet.Options{Tests: true}, []string{"./..."}, append(append(tests, all...), inTests...)},
		"only":          {simvet.Options{Only: []string{"simgo", "simtime"}}, []string{"./teller"}, []string{all[0], all[2]}},
		"skip":          {simvet.Options{Skip: []string{"simgo"}}, []string{"example.com/bank/teller"}, all[1:]},
		"only and skip": {simvet.Options{Only: []string{"simgo"}, Skip: []string{"simgo"}}, []string{"./..."}, []string{}},
		"clean":         {simvet.Options{}, []string{"./vault"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.Dir = dir
			findings, err := simvet.Check(t.Context(), c.opt, c.patterns...)
			require.NoError(t, err)
			require.Equal(t, c.want, places(t, dir, findings))
		})
	}
}

// What is wrong with the packages is told apart from what is wrong in them.
func TestCheckFails(t *testing.T) {
	dir := bank(t)
	for _, name := range []string{"broken", "empty"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken", "broken.go"), []byte("package broken\n\nvar a, b = c, d\n"), 0o644))
	for pattern, want := range map[string]string{
		"./gone":      "gone",
		"./broken":    "broken.go:3:12: undefined: c (and 1 more: see go build)",
		"./empty/...": "no packages match ./empty/...",
	} {
		_, err := simvet.Check(t.Context(), simvet.Options{Dir: dir}, pattern)
		var load *simvet.LoadError
		require.ErrorAs(t, err, &load, pattern)
		require.ErrorContains(t, err, want)
	}
	_, err := simvet.Check(t.Context(), simvet.Options{Dir: dir, Skip: []string{"simclock"}}, ".")
	require.ErrorContains(t, err, `there is no analyzer "simclock": there are simgo, simtime, `)

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := os.ErrClosed
	cancel(cause)
	_, err = simvet.Check(ctx, simvet.Options{Dir: dir}, "./...")
	require.ErrorIs(t, err, cause)
}
