package sql_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/sql"
)

// TestDepth: what nests deeply is refused, and neither overflows the stack nor takes long.
func TestDepth(t *testing.T) {
	const n = 100_000
	for name, text := range map[string]string{
		"parentheses":      "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"open parentheses": "SELECT " + strings.Repeat("(", n),
		"query":            strings.Repeat("(", n) + "SELECT 1" + strings.Repeat(")", n),
		"from":             "SELECT 1 FROM " + strings.Repeat("(", n) + "a",
		"derived":          strings.Repeat("SELECT 1 FROM (", n),
		"subqueries":       strings.Repeat("SELECT (", n),
		"minus":            "SELECT " + strings.Repeat("- ", n) + "a",
		"not":              "SELECT " + strings.Repeat("NOT ", n) + "a",
		"calls":            "SELECT " + strings.Repeat("f(", n),
		"case":             "SELECT " + strings.Repeat("CASE ", n),
		"in":               "SELECT " + strings.Repeat("a IN (", n),
		"exists":           "SELECT " + strings.Repeat("EXISTS (SELECT ", n),
		"joins":            "SELECT 1 FROM a" + strings.Repeat(" JOIN b", n),
		"default":          "CREATE TABLE t (a INT DEFAULT " + strings.Repeat("(", n),
		"chain":            "SELECT 1" + strings.Repeat(" + 1", n),
		"casts":            "SELECT 1" + strings.Repeat("::int", n),
		"tests":            "SELECT a" + strings.Repeat(" IS NULL", n),
		"unions":           "SELECT 1" + strings.Repeat(" UNION SELECT 1", n),
		"joined":           "SELECT 1 FROM a" + strings.Repeat(" JOIN b ON c", n),
		// Chains whose sum is too tall, though none is.
		"sum of chains": "SELECT " + strings.Repeat("(", 100) + "1" + strings.Repeat(strings.Repeat(" + 1", 100)+")", 100),
		"explain":       "EXPLAIN SELECT " + strings.Repeat("(", n),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sql.Parse(text)
			require.ErrorIs(t, err, sql.ErrUnsupported)
			require.ErrorContains(t, err, "nesting deeper than 5000 levels is not supported at 1:")
		})
	}
}

// TestLength: what is long but flat is not refused.
func TestLength(t *testing.T) {
	const n = 10_000
	for name, text := range map[string]string{
		"rows":       "INSERT INTO t VALUES " + strings.Repeat("(1, 'a', -2.5), ", n),
		"columns":    "SELECT " + strings.Repeat("a + 1, ", n),
		"in":         "SELECT a IN (" + strings.Repeat("1, ", n) + "1)",
		"statements": strings.Repeat("SELECT 1;", n),
		"whens":      "SELECT CASE" + strings.Repeat(" WHEN a THEN b", n) + " END",
		"condition":  "SELECT a FROM t WHERE a = 1" + strings.Repeat(" OR a = 1", sql.MaxDepth-10),
		"nesting":    "SELECT " + strings.Repeat("(", sql.MaxDepth-10) + "1" + strings.Repeat(")", sql.MaxDepth-10),
		"comment":    strings.Repeat("/*", n) + strings.Repeat("*/", n),
		"semicolons": strings.Repeat(";", n),
	} {
		t.Run(name, func(t *testing.T) {
			list, err := sql.Parse(text)
			require.NoError(t, err)
			for _, s := range list[:min(len(list), 1)] {
				again, err := sql.ParseStatement(s.String())
				require.NoError(t, err)
				require.Equal(t, s.String(), again.String())
			}
		})
	}
}
