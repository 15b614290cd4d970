package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const aScript = `-- what people try first
CREATE TABLE t (k STRING, v BIGINT) WITH (append_mode = true);
CREATE FLOW f SINK TO out AS SELECT k, sum(v) AS s FROM t GROUP BY k;
INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);
FLUSH FLOW f;
SELECT k, s FROM out ORDER BY s DESC;
`

func TestSQLRunsAScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.sql")
	require.NoError(t, os.WriteFile(file, []byte(aScript), 0o644))
	got := call(t, "sql", file)
	require.Equal(t, 0, got.status, got.stderr)
	require.Equal(t, `> CREATE TABLE t (k STRING, v BIGINT) WITH ('append_mode' = TRUE)
created table t

> CREATE FLOW f SINK TO out AS SELECT k, sum(v) AS s FROM t GROUP BY k
created flow f

> INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3)
inserted 3 rows

> FLUSH FLOW f
flushed flow f

> SELECT k, s FROM out ORDER BY s DESC
k | s
a | 4
b | 2

`, got.stdout)
	require.Equal(t, got.stdout, callWith(t, t.Context(), aScript, "sql", "-").stdout)
}

func TestSQLSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"SELEC", "simrun: sql: -:1:1: syntax error: expected a statement, found \"SELEC\", at: SELEC\n"},
		{"CREATE TABLE t (a BIGINT);\nSELECT nope FROM t;", "simrun: sql: -:2:8: there is no column \"nope\" in t, which has a, at: nope FROM t;\n"},
		{"CREATE TABLE t (a BIGINT);\n CREATE FLOW f SINK TO o AS\nSELECT a FROM t JOIN u ON a = b", "simrun: sql: -:3:17: JOIN is not supported, at: JOIN u ON a = b\n"},
		{"SELECT (1", "simrun: sql: -:1:10: syntax error: expected ), found the end of the text, at: the end of the script\n"},
		{"CREATE TABLE t (a BIGINT); DROP TABLE u", "simrun: sql: -:1:39: there is no table u, at: u\n"},
	} {
		got := callWith(t, t.Context(), c.script, "sql", "-")
		require.Equal(t, 2, got.status, c.script)
		require.Equal(t, c.want, got.stderr)
	}
	got := callWith(t, t.Context(), "SELECT \x1b[31mred\xff "+strings.Repeat("x", 1<<20), "sql", "-")
	require.Equal(t, 2, got.status)
	require.NotContains(t, got.stderr, "\x1b", "what a terminal would obey")
	require.Less(t, len(got.stderr), 1000)
	long := callWith(t, t.Context(), "SELECT '"+strings.Repeat("x", 1<<20)+"' = 'y' AS same", "sql", "-")
	require.Zero(t, long.status, long.stderr)
	require.Less(t, len(long.stdout), 2000)
	for _, args := range [][]string{{"sql"}, {"sql", "a", "b"}, {"sql", filepath.Join(t.TempDir(), "nothing.sql")}} {
		got := call(t, args...)
		require.Equal(t, 2, got.status, args)
		require.NotEmpty(t, got.stderr)
	}
}
