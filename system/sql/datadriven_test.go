package sql_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/sql"
)

var update = flag.Bool("update", false, "write what was found into testdata as what is expected")

// TestData runs the cases of testdata: a directive, its input, ---- and the output, up to an
// empty line. Directives are parse (output is the statements as they are printed), tree (their
// nodes with positions), expr and interval.
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			cases := strings.Split(strings.TrimSpace(string(text)), "\n\n")
			for i, c := range cases {
				question, expected, ok := strings.Cut(c, "\n----\n")
				if !ok {
					require.True(t, strings.HasPrefix(c, "#"), "no ---- in %q", c)
					continue
				}
				directive, input, _ := strings.Cut(question, "\n")
				found := strings.TrimRight(run(t, directive, input), "\n")
				cases[i] = question + "\n----\n" + found
				if !*update {
					require.Equal(t, expected, found, "%s", question)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(cases, "\n\n")+"\n"), 0o644))
			}
		})
	}
}

func run(t *testing.T, directive, input string) string {
	var out strings.Builder
	switch directive {
	case "parse", "tree":
		list, err := sql.Parse(input)
		if err != nil {
			return explain(t, err, input)
		}
		for _, s := range list {
			if directive == "tree" {
				dump(&out, s)
			} else {
				fmt.Fprintln(&out, s)
			}
		}
	case "expr":
		e, err := sql.ParseExpr(input)
		if err != nil {
			return explain(t, err, input)
		}
		fmt.Fprintln(&out, grouped(e))
	case "interval":
		v, err := sql.ParseInterval(input)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&out, "%d months, %d days, %d ns = %d s\n%v\n", v.Months, v.Days, v.Nanoseconds, v.Seconds(), v)
	default:
		require.Fail(t, "unknown directive", directive)
	}
	return out.String()
}

// explain returns an error's message and picture.
func explain(t *testing.T, err error, input string) string {
	var e *sql.Error
	require.ErrorAs(t, err, &e)
	require.NotEqual(t, errors.Is(err, sql.ErrSyntax), errors.Is(err, sql.ErrUnsupported))
	require.NotContains(t, err.Error(), "\n")
	return err.Error() + "\n" + e.Caret(input)
}
