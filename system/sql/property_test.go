package sql_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/sql"
)

// TestPrintedTreesParse: any tree prints to SQL that parses to the same tree.
func TestPrintedTreesParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := generator{t}.statement()
		text := tree.String()
		parsed, err := sql.ParseStatement(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, tree, bare(parsed), "%s", text)
		require.Equal(t, text, parsed.String())
	})
}

// TestPositionsPointIntoTheText: each node of a parsed text has the position of one of its tokens.
func TestPositionsPointIntoTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(generator{t}.statement().String(), " ", rapid.SampledFrom([]string{" ", "\n", "\t\n  "}).Draw(t, "blank"))
		parsed, err := sql.ParseStatement(text)
		require.NoError(t, err, "%s", text)
		sql.Inspect(parsed, func(n sql.Node) bool {
			at := n.Position()
			require.Less(t, at.Offset, len(text))
			before := text[:at.Offset]
			require.Equal(t, 1+strings.Count(before, "\n"), at.Line, "%T", n)
			require.Equal(t, 1+len([]rune(before[strings.LastIndexByte(before, '\n')+1:])), at.Column, "%T", n)
			require.NotContains(t, " \n\t", text[at.Offset:at.Offset+1], "%T", n)
			require.NotEmpty(t, sql.Construct(n))
			return true
		})
	})
}

// tokens are what TestNoise makes texts of.
var tokens = strings.Fields("SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET UNION ALL JOIN LEFT ON USING CREATE TABLE FLOW " +
	"SINK TO EXPIRE AFTER COMMENT AS INTERVAL TIME INDEX PRIMARY KEY DEFAULT NOT NULL INSERT INTO VALUES DELETE CASE WHEN THEN " +
	"ELSE END CAST IN BETWEEN AND OR LIKE IS EXISTS OVER IF ( ( ) ) , , . ; * + - / % = < > :: || a b t ts f 1 2.5 1e400 99999999999999999999 " +
	"'s' '1_hour' \"d\" `q` ' \" ` /* */ -- $ @ é \xff \x00")

// TestNoise: no text makes the parser panic, and what it accepts prints to what it accepts.
func TestNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 30).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "damage") {
			// A good statement with some tokens lost or doubled.
			words = strings.Fields(generator{t}.statement().String())
			for range rapid.IntRange(1, 3).Draw(t, "losses") {
				i := rapid.IntRange(0, len(words)-1).Draw(t, "i")
				words[i] = rapid.SampledFrom([]string{"", words[i] + " " + words[i], "(", ")", ","}).Draw(t, "instead")
			}
		}
		checkText(t, strings.Join(words, " "))
	})
}

// checkText parses a text and checks what must hold for any.
func checkText(t require.TestingT, text string) {
	list, err := sql.Parse(text)
	if err != nil {
		require.Nil(t, list)
		var e *sql.Error
		require.ErrorAs(t, err, &e)
		require.NotContains(t, err.Error(), "\n")
		require.LessOrEqual(t, e.At.Offset, len(text))
		require.Len(t, strings.Split(e.Caret(text), "\n"), 2)
		return
	}
	for _, s := range list {
		printed := s.String()
		again, err := sql.ParseStatement(printed)
		require.NoError(t, err, "%s", printed)
		require.Equal(t, printed, again.String())
		require.Equal(t, bare(s), bare(again))
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		for c := range strings.SplitSeq(string(text), "\n\n") {
			question, _, _ := strings.Cut(c, "\n----\n")
			_, input, _ := strings.Cut(question, "\n")
			f.Add(input)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}
