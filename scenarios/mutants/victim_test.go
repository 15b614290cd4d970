package mutants_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// victim is a module by simrun's name, with something to break in system/ and a command line
// that understands what a hunt asks of it.
var victim = map[string]string{
	"go.mod": "module github.com/simrun-dev/simrun\n\ngo 1.24\n",
	"system/counter/counter.go": `package counter

// Counter counts.
type Counter struct{ n int }

// Inc adds one.
func (c *Counter) Inc() {
	c.n++
}

// Dec takes one away.
func (c *Counter) Dec() {
	c.n--
}

// Value is the count.
func (c *Counter) Value() int {
	return c.n
}
`,
	"internal/cli/cli.go": `package cli

var plantedMutant string

// Planted is the name of the mutant.
func Planted() string { return plantedMutant }
`,
	"cmd/simrun/main.go": `package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/system/counter"
)

func main() {
	args := strings.Join(os.Args[1:], " ")
	scenario := os.Args[2]
	var first, last int
	if _, err := fmt.Sscanf(os.Args[4], "%d-%d", &first, &last); err != nil {
		last = first
	}
	if scenario == "wrong" {
		fmt.Fprintln(os.Stderr, "simrun: no scenario \"wrong\"")
		os.Exit(2)
	}
	status := 0
	for seed := first; seed <= last; seed++ {
		verdict, hash, failures := "pass", fmt.Sprintf("%016x", seed), "[]"
		var c counter.Counter
		for range seed {
			c.Inc()
		}
		for range seed / 2 {
			c.Dec()
		}
		if seed == 2 {
			verdict, failures = "unknown", "[{\"oracle\":\"vacuous\",\"message\":\"no operation\"}]"
		}
		if want := seed - seed/2; c.Value() != want {
			verdict = "fail"
			failures = fmt.Sprintf("[{\"oracle\":\"counter/exact\",\"message\":\"%d, not %d\",\"at_ns\":%d}]", c.Value(), want, seed*1000)
		}
		if scenario == "flaky" {
			hash = fmt.Sprintf("%016x", os.Getpid())
		}
		fmt.Printf("{\"scenario\":%q,\"seed\":%d,\"verdict\":%q,\"trace_hash\":%q,\"virtual_ns\":5000,\"failures\":%s,\"repro\":%q}\n",
			scenario, seed, verdict, hash, failures, cli.Planted()+": "+args)
		if verdict == "fail" {
			status = 1
			break
		}
	}
	os.Exit(status)
}
`,
}

// newVictim writes the victim to a directory of its own.
func newVictim(t testing.TB) string {
	t.Helper()
	// The go command refers to files by their real paths.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, content := range victim {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	// The settings of whoever runs the tests are about another module.
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	return dir
}

// header is that of a valid mutant of the given name and scenario.
func header(name, scenario string) string {
	return fmt.Sprintf("Mutant: %s\nScenario: %s\nBug: Someone forgot.\n  It happens.\nExpect: counter/exact\n\n", name, scenario)
}

const counterPath = "system/counter/counter.go"

// change is a diff of counter.go with one hunk; its lines are those of a unified diff.
func change(position int, lines ...string) string {
	before, after := 0, 0
	for _, line := range lines {
		if line[0] != '+' {
			before++
		}
		if line[0] != '-' {
			after++
		}
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -%[2]d,%[3]d +%[2]d,%[4]d @@\n%[5]s\n",
		counterPath, position, before, after, strings.Join(lines, "\n"))
}

// incTwice breaks Inc. In counter.go these lines begin at 7.
func incTwice(position int) string {
	return change(position, " func (c *Counter) Inc() {", "-\tc.n++", "+\tc.n += 2", " }", " ")
}
