package pgcheck

import (
	"errors"
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/sql"
)

// Where the two differ on purpose.
var (
	// PostgreSQL takes a SELECT without items, which makes rows without columns.
	noItems = regexp.MustCompile(`\(items\)`)
	// It takes most keywords as an alias without AS (SELECT a IN FROM t), and some as the name of
	// a function or of a literal's type (SELECT LIKE(a), SELECT LIKE 'a').
	keywordAsName = regexp.MustCompile(`(?i)( as:|\(cast |\(call )(ALL|AND|AS|ASC|BETWEEN|BY|CASE|CAST|CROSS|CURRENT_DATE|CURRENT_TIMESTAMP|DATE|DESC|DISTINCT|ELSE|END|` +
		`ESCAPE|EXISTS|FALSE|FIRST|FULL|ILIKE|IN|INNER|INTERVAL|IS|JOIN|LAST|LEFT|LIKE|NOT|NULL|NULLS|OR|OUTER|RIGHT|SELECT|THEN|TRUE|UNKNOWN|USING|WHEN)[ )]`)
	// It has nodes that the dialect has no counterpart of, such as functions in FROM.
	otherNode = "(other "
	// It takes a star behind a table, which once meant: with the tables that inherit from it.
	tableStar = regexp.MustCompile(`(?i)(FROM|JOIN|,|\() [a-z]( \. [a-z])* \*`)
	// The dialect takes a comma after the last item.
	trailingComma = regexp.MustCompile(`, (FROM|WHERE|GROUP|HAVING|ORDER|LIMIT|OFFSET|UNION|EXCEPT|INTERSECT|\)|$)`)
)

var toPostgres = strings.NewReplacer("`", `"`, " AS STRING)", " AS TEXT)", " AS DOUBLE)", " AS DOUBLE PRECISION)", " AS FLOAT)", " AS REAL)")

// compare parses a text with both parsers and returns what became of it.
func compare(t *testing.T, text string) string {
	ours, err := sql.ParseStatement(text)
	theirs, theirErr := PostgresShape(text)
	switch {
	case errors.Is(err, sql.ErrUnsupported):
		return "unsupported"
	case err != nil && theirErr != nil:
		return "both reject"
	case err != nil:
		if noItems.MatchString(theirs) || keywordAsName.MatchString(theirs) || strings.Contains(theirs, otherNode) || tableStar.MatchString(text) {
			return "differ on purpose"
		}
		require.Fail(t, "PostgreSQL accepts what we reject", "%s\n%v\n%s", text, err, theirs)
	}
	query, ok := ours.(sql.Query)
	require.True(t, ok, "%s", text)
	if theirErr != nil {
		require.Regexp(t, trailingComma, text, "we accept what PostgreSQL rejects: %v\n%s", theirErr, Shape(query))
		return "differ on purpose"
	}
	// PostgreSQL folds the case of names that the dialect keeps.
	require.Equal(t, strings.ToLower(theirs), strings.ToLower(Shape(query)), "%s", text)

	// What we print means the same to PostgreSQL, once quotes and names of types are its own.
	printed := toPostgres.Replace(query.String())
	again, err := PostgresShape(printed)
	require.NoError(t, err, "%s", printed)
	require.Equal(t, strings.ToLower(theirs), strings.ToLower(again), "%s", printed)
	return "both accept"
}

var queries = flag.Uint64("queries", 2000, "how many queries to generate")

func TestGenerated(t *testing.T) {
	seen := map[string]int{}
	for seed := range *queries {
		g := &generator{rand: rand.New(rand.NewPCG(seed, 0))}
		g.query(g.rand.IntN(4))
		if g.chance(30) {
			g.damage()
		}
		seen[compare(t, g.text())]++
		if t.Failed() {
			break
		}
	}
	t.Log(seen)
	require.Greater(t, seen["both accept"], int(*queries)/3)
	require.Greater(t, seen["both reject"], int(*queries)/10)
}

// TestChosen: texts in which trees are easily got wrong.
func TestChosen(t *testing.T) {
	for _, text := range []string{
		"SELECT sum(number), date_bin(INTERVAL '1 second', ts) AS window_start FROM t WHERE n > 10 GROUP BY window_start",
		"SELECT -2::int, - 2 ^ 2, -(5), - -5, -9223372036854775808, +1, a<-1, a<>-1, 5--3\n",
		"SELECT a = b IS NULL = c, a IS NULL IS NULL, a IN (1) IN (2), a = NOT b AND c, NOT a = b",
		"SELECT a BETWEEN b < c AND d, a LIKE b || c ESCAPE '!' AND d, a < b LIKE c, a NOT BETWEEN 1 AND 2 OR b",
		"SELECT a AND b AND (c AND d) OR e OR (f OR g)",
		"SELECT ((SELECT 1) UNION SELECT 2) + 1, ((SELECT 1)), (((SELECT 1)) UNION SELECT 2 ORDER BY 1), a IN ((SELECT 1)), a IN ((SELECT 1), 2)",
		"SELECT 1 FROM ((SELECT 1) AS s JOIN t ON true), ((SELECT 1) UNION SELECT 2) AS u, (((SELECT 1))) AS v",
		"SELECT 1 FROM a JOIN b JOIN c ON x ON y LEFT JOIN d USING (e) CROSS JOIN f",
		"(SELECT a ORDER BY a) LIMIT 1",
		"(SELECT a LIMIT 1) UNION (SELECT b UNION SELECT c) INTERSECT SELECT d ORDER BY 1",
		"SELECT CASE WHEN a THEN b END IS NULL, CASE a WHEN 1 THEN 2 ELSE 3 END::int",
		"SELECT /* a /* nested */ comment */ 1 -- end",
	} {
		require.Equal(t, "both accept", compare(t, text), "%s", text)
	}
	for _, text := range []string{
		"SELECT a < b < c", "SELECT a = b = c", "SELECT a LIKE b LIKE c", "SELECT a BETWEEN 1 AND 2 BETWEEN 3 AND 4",
		"SELECT a LIKE b IN (1)", "SELECT a IS DISTINCT FROM b IS NULL", "SELECT a BETWEEN 1 AND 2 IN (3)",
		"SELECT 12abc", "SELECT 1 FROM (t)", "SELECT f(a,)", "SELECT a IN ()", "SELECT 1 FROM a JOIN b", "(SELECT a LIMIT 1) LIMIT 2", "(SELECT a OFFSET 1) LIMIT 2",
		"SELECT a FROM t ORDER BY a UNION SELECT 1", "SELECT \"\"", "SELECT 'a", "SELECT /* a", "SELECT CASE a END", "SELECT a..b",
	} {
		require.Equal(t, "both reject", compare(t, text), "%s", text)
	}
}
