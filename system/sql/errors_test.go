package sql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/sql"
)

// TestRefuse: what the parser takes in, but a planner can't use, is refused by name and place.
func TestRefuse(t *testing.T) {
	const text = "SELECT a IN (1) FROM t LEFT JOIN u ON a = b WHERE EXISTS (SELECT 1) ORDER BY a LIMIT 3"
	s, err := sql.ParseStatement(text)
	require.NoError(t, err)
	var refused []string
	sql.Inspect(s, func(n sql.Node) bool {
		switch n.(type) {
		case *sql.In, *sql.Join, *sql.Exists, *sql.OrderItem:
			err := sql.Unsupported(n)
			require.ErrorIs(t, err, sql.ErrUnsupported)
			require.NotErrorIs(t, err, sql.ErrSyntax)
			refused = append(refused, err.Error())
		}
		return true
	})
	require.Equal(t, []string{
		"sql: IN is not supported at 1:10",
		"sql: LEFT JOIN is not supported at 1:24",
		"sql: EXISTS is not supported at 1:51",
		"sql: ORDER BY is not supported at 1:78",
	}, refused)
	limit := s.(*sql.Select).Limit
	require.EqualError(t, sql.UnsupportedAt(limit.Position(), "LIMIT"), "sql: LIMIT is not supported at 1:86")
}

func TestOneStatement(t *testing.T) {
	s, err := sql.ParseStatement(" ; SELECT 1 ; ; ")
	require.NoError(t, err)
	require.Equal(t, "SELECT 1", s.String())

	_, err = sql.ParseStatement("SELECT 1; SELECT 2")
	require.EqualError(t, err, "sql: syntax error at 1:11: expected the end of the statement, found SELECT")
	_, err = sql.ParseStatement("-- nothing")
	require.EqualError(t, err, "sql: syntax error at 1:11: expected a statement, found the end of the text")

	none, err := sql.Parse(" ;; /* nothing */ ")
	require.NoError(t, err)
	require.Empty(t, none)

	_, err = sql.ParseExpr("a b")
	require.ErrorIs(t, err, sql.ErrSyntax)
}

func TestNotUTF8(t *testing.T) {
	for text, message := range map[string]string{
		"SELECT \xff":      "sql: syntax error at 1:8: byte 0xff is not UTF-8",
		"SELECT 'é\xe9'":   "sql: syntax error at 1:10: byte 0xe9 in the string is not UTF-8",
		"SELECT 1\u00a0+1": `sql: syntax error at 1:9: unexpected character '\u00a0'`,
	} {
		_, err := sql.Parse(text)
		require.EqualError(t, err, message)
	}
}

// TestCaretOutsideOfText: a text other than the one that was parsed does no harm.
func TestCaretOutsideOfText(t *testing.T) {
	_, err := sql.Parse("SELECT FROM t")
	var e *sql.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "x\n ^", e.Caret("x"))
	require.Equal(t, "\n^", e.Caret(""))
}

// TestAByteOrderMarkIsNoCharacter of the first line, and anywhere else it is one too much.
func TestAByteOrderMarkIsNoCharacter(t *testing.T) {
	statements, err := sql.Parse("\ufeffSELECT 1")
	require.NoError(t, err)
	require.Equal(t, sql.Pos{Offset: 3, Line: 1, Column: 1}, statements[0].Position())
	_, err = sql.Parse("\ufeff\ufeffSELECT 1")
	require.ErrorIs(t, err, sql.ErrSyntax)
	_, err = sql.Parse("\ufeff")
	require.NoError(t, err)
}
