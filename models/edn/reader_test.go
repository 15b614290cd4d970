package edn

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func readAll(text string) (values []any, lines []int, err error) {
	r := NewReader(strings.NewReader(text))
	for {
		value, line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return values, lines, nil
		}
		if err != nil {
			return values, lines, err
		}
		values, lines = append(values, value), append(lines, line)
	}
}

func TestValues(t *testing.T) {
	large, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for text, want := range map[string]any{
		"nil": nil, "true": true, "false": false,
		"42": int64(42), "-7": int64(-7), "+7": int64(7), "0": int64(0), "42N": int64(42),
		"123456789012345678901234567890": large, "1.5": 1.5, "-2e3": -2000.0, "1.5M": 1.5, "1/4": 0.25,
		`"a\n\"b\" \u00e9"`: "a\n\"b\" é", `""`: "", `#"x+"`: "x+",
		`\a`: Char('a'), `\newline`: Char('\n'), `\u0041`: Char('A'), `\(`: Char('('),
		":invoke": Keyword("invoke"), ":a/b": Keyword("a/b"), "-": Symbol("-"), "a.b": Symbol("a.b"),
		"[[1 nil]]": Vector{int64(1), nil}, "[(1, 2)]": List{int64(1), int64(2)},
		"#{1 2}":        Set{int64(1), int64(2)},
		"{:a 1, 2 [3]}": Map{{Keyword("a"), int64(1)}, {int64(2), Vector{int64(3)}}},
		`#inst "2020"`:  Tagged{"inst", "2020"},
		"#a.B{:x 1}":    Tagged{"a.B", Map{{Keyword("x"), int64(1)}}},
		"#_ 1 ; no\n 2": int64(2), "#_#_1 2 3": int64(3),
	} {
		values, _, err := readAll(text)
		require.NoError(t, err, text)
		require.Equal(t, []any{want}, values, text)
	}
}

func TestLines(t *testing.T) {
	for _, text := range []string{
		"{:a 1}\n; note\n\n{:b\n 2} {:c 3}\n",
		"[{:a 1}\n; note\n\n{:b\n 2} {:c 3}]\n",
		"({:a 1}\n; note\n\n{:b\n 2} {:c 3}\n)",
	} {
		values, lines, err := readAll(text)
		require.NoError(t, err)
		require.Len(t, values, 3)
		require.Equal(t, []int{1, 4, 5}, lines)
		got, ok := values[1].(Map).Get("b")
		require.True(t, ok)
		require.Equal(t, int64(2), got)
		_, ok = values[1].(Map).Get("a")
		require.False(t, ok)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{:a 1}\n{:a":                   "line 2: the input ends within a value",
		"{:a 1}\n{:a}":                  "line 2: a map has a key without a value",
		"{:a 1\n:a 2}":                  "line 2: a map has the key :a twice",
		"\n\n}":                         "line 3: '}' closes nothing",
		"[1 2":                          "line 1: the input ends before the closing ']'",
		"[1 2]\n3":                      "line 2: there is more after the closing bracket of the whole",
		`"a\qb"`:                        `line 1: \q means nothing in a string`,
		`"\u00zz"`:                      `line 1: \u00zz is no character`,
		`\abc`:                          `line 1: \abc is no character`,
		"12x":                           `line 1: "12x" is no number`,
		":":                             "line 1: a keyword without a name",
		"# a":                           "line 1: # is followed by nothing it could mark",
		"##Inf":                         "line 1: the input ends within a value",
		"#_":                            "line 1: the input ends within a value",
		"a \xff":                        "line 1: not UTF-8",
		"{" + strings.Repeat("[", 2000): "line 1: nested deeper than 1000",
	} {
		_, _, err := readAll(text)
		require.ErrorIs(t, err, ErrSyntax, text)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Contains(t, err.Error(), want, text)
	}
}

// Whatever comes in, the reader ends, and errors are its own.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]rune("{}[]()\"\\#_:;a1 -.\nuN")), 0, 40)
		_, _, err := readAll(string(letters.Draw(t, "text")))
		if err != nil {
			require.ErrorIs(t, err, ErrSyntax)
		}
	})
}

type brokenStream struct{}

func (brokenStream) Read([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

func TestStreamErrorsComeThrough(t *testing.T) {
	_, _, err := NewReader(brokenStream{}).Next()
	require.ErrorIs(t, err, errBroken)
	_, _, err = NewReader(io.MultiReader(strings.NewReader("{:a "), brokenStream{})).Next()
	require.ErrorIs(t, err, errBroken)
}

func ExampleReader() {
	r := NewReader(strings.NewReader("{:type :invoke, :f :read}\n{:type :ok, :f :read, :value 3}"))
	for {
		value, line, err := r.Next()
		if err != nil {
			break
		}
		kind, _ := value.(Map).Get("type")
		fmt.Println(line, kind)
	}
	// Output:
	// 1 invoke
	// 2 ok
}

func BenchmarkReader(b *testing.B) {
	text := strings.Repeat("{:process 3, :type :ok, :f :cas, :value [1 2], :time 123456789, :index 7}\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		values, _, err := readAll(text)
		if err != nil || len(values) != 1000 {
			b.Fatal(err)
		}
	}
}
