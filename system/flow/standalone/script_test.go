package standalone_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/standalone"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/sql"
)

var rewrite = flag.Bool("rewrite", false, "write what the cases of testdata answer into their files, to be looked at")

// TestScripts runs the cases of testdata. A case is a heading, "=== name", and steps: statements, a line
// "----", and what they answer up to an empty line. A step that is "restart" restarts the server over what
// is stored, one that is "sleep 1h" lets time go by. Each case has a world of its own.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	cases := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var out strings.Builder
		for i, section := range strings.Split(string(text), "=== ") {
			if i == 0 {
				out.WriteString(section)
				continue
			}
			cases++
			name, body, _ := strings.Cut(section, "\n")
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+name, func(t *testing.T) {
				got := runCase(t, body)
				out.WriteString("=== " + name + "\n" + got)
				if !*rewrite {
					require.Equal(t, strings.TrimSpace(body), strings.TrimSpace(got))
				}
			})
		}
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644))
		}
	}
	require.GreaterOrEqual(t, cases, 60)
}

// runCase runs the steps of a case and returns them with their answers.
func runCase(t *testing.T, body string) string {
	var out strings.Builder
	w := sim.New(sim.Config{Seed: 1, MaxTime: 1000 * time.Hour})
	defer w.Close()
	w.Go("case", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		cfg := flow.Config{RunInterval: time.Minute, CatchUpInterval: time.Hour, ReconcileInterval: time.Hour}
		s, err := standalone.Start(h, client, cfg)
		require.NoError(t, err)
		for _, step := range steps(body) {
			fmt.Fprintf(&out, "%s\n----\n", step)
			word, arg, _ := strings.Cut(step, " ")
			switch word {
			case "restart":
				s.Close()
				s, err = standalone.Start(h, client, cfg)
				require.NoError(t, err)
			case "sleep":
				d, err := time.ParseDuration(arg)
				require.NoError(t, err)
				w.Sleep(d)
			default:
				out.WriteString(answer(s, step))
			}
			out.WriteString("\n")
		}
	})
	require.NoError(t, w.Run())
	require.Empty(t, w.Failures())
	return out.String()
}

func steps(body string) []string {
	var list []string
	for _, part := range strings.Split(body, "\n\n") {
		step, _, _ := strings.Cut(part, "\n----")
		if step = strings.TrimSpace(step); step != "" {
			list = append(list, step)
		}
	}
	return list
}

// answer are the rows and plans that the statements return; an error with its place ends them.
func answer(s *standalone.Server, text string) string {
	var b strings.Builder
	statements, err := sql.Parse(text)
	for _, statement := range statements {
		var r frontend.Result
		if r, err = s.ExecuteStatement(context.Background(), statement); err != nil {
			break
		}
		if _, explained := statement.(*sql.Explain); explained || r.Columns != nil {
			fmt.Fprintln(&b, r)
		}
	}
	if err != nil {
		var invalid *planner.InvalidQuery
		var wrong *sql.Error
		switch {
		case errors.As(err, &invalid):
			fmt.Fprintln(&b, invalid)
		case errors.As(err, &wrong):
			fmt.Fprintln(&b, wrong)
		default:
			fmt.Fprintln(&b, "error:", err)
		}
	}
	return b.String()
}
