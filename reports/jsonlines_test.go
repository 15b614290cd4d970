package reports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// readAll reads all results, and the error with which they end.
func readAll(r io.Reader) (results []scenarios.Result, err error) {
	for result, e := range reports.ReadResults(r) {
		if e != nil {
			return results, e
		}
		results = append(results, result)
	}
	return results, nil
}

func TestResultKeys(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, reports.NewJSONLines(&out).Result(scenarios.Result{Scenario: "shard", Seed: 1<<64 - 1, Verdict: scenarios.Pass}))
	require.Equal(t, `{"scenario":"shard","seed":18446744073709551615,"verdict":"pass","trace_hash":"","events":0,"virtual_ns":0,`+
		`"wall_ns":0,"ops":0,"faults":{},"failures":[],"sometimes":{},"settings":{},"repro":""}`+"\n", out.String(),
		"exactly these keys; empty maps and lists are not null")
}

func TestNothingIsNull(t *testing.T) {
	var out bytes.Buffer
	j := reports.NewJSONLines(&out)
	require.NoError(t, j.Scenario(reports.ScenarioInfo{Name: "bare"}))
	require.NoError(t, j.Fault(reports.FaultInfo{Kind: "node.pause"}))
	require.NoError(t, j.Mutant(mutants.Outcome{Mutant: "m"}))
	require.NotContains(t, out.String(), "null")
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
}

// Whatever is in a result, it is one line, written in one go, and reads back the same.
func TestRoundTrip(t *testing.T) {
	counts := rapid.MapOfN(rapid.String(), rapid.Int(), 0, 3)
	result := rapid.Custom(func(t *rapid.T) scenarios.Result {
		failure := rapid.Custom(func(t *rapid.T) scenarios.Failure {
			return scenarios.Failure{
				Oracle: rapid.String().Draw(t, "oracle"), Message: rapid.String().Draw(t, "message"),
				AtNS: rapid.Int64().Draw(t, "at"), Event: rapid.Uint64().Draw(t, "event"),
			}
		})
		return scenarios.Result{
			Scenario: rapid.StringN(1, 9, -1).Draw(t, "scenario"), Seed: rapid.Uint64().Draw(t, "seed"),
			Verdict:   rapid.SampledFrom([]scenarios.Verdict{scenarios.Pass, scenarios.Fail, scenarios.Unknown}).Draw(t, "verdict"),
			TraceHash: rapid.StringMatching("[0-9a-f]{16}").Draw(t, "hash"), Events: rapid.Uint64().Draw(t, "events"),
			VirtualNS: rapid.Int64().Draw(t, "virtual"), WallNS: rapid.Int64().Draw(t, "wall"), Ops: rapid.Int().Draw(t, "ops"),
			Faults: counts.Draw(t, "faults"), Failures: rapid.SliceOfN(failure, 0, 3).Draw(t, "failures"),
			Sometimes: counts.Draw(t, "sometimes"),
			Settings:  rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "settings"), Repro: rapid.String().Draw(t, "repro"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(result, 0, 4).Draw(t, "results")
		var out countingWriter
		j := reports.NewJSONLines(&out)
		for _, r := range want {
			require.NoError(t, j.Result(r))
		}
		require.Equal(t, len(want), out.writes)
		require.Equal(t, len(want), bytes.Count(out.Bytes(), []byte("\n")))
		got, err := readAll(iotest.OneByteReader(&out))
		require.NoError(t, err)
		require.True(t, slices.EqualFunc(want, got, func(a, b scenarios.Result) bool {
			x, errX := json.Marshal(a)
			y, errY := json.Marshal(b)
			return errX == nil && errY == nil && bytes.Equal(x, y)
		}), "want %+v\ngot  %+v", want, got)
	})
}

type countingWriter struct {
	bytes.Buffer
	writes int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.writes++
	return w.Buffer.Write(p)
}

func TestReadResults(t *testing.T) {
	const pass = `{"scenario":"shard","seed":1,"verdict":"pass","trace_hash":"00000000000000aa"}`
	for name, test := range map[string]struct {
		text    string
		results int
		line    int // of the error; 0 is none
		want    string
	}{
		"nothing":          {"", 0, 0, ""},
		"no newline":       {pass, 1, 0, ""},
		"empty lines":      {"\n" + pass + "\r\n\n  \n" + pass + "\n", 2, 0, ""},
		"unknown key":      {`{"scenario":"shard","verdict":"fail","trace_hash":"00000000000000aa","colour":"red"}`, 1, 0, ""},
		"not JSON":         {pass + "\nFAIL shard seed 17\n" + pass, 1, 2, "line 2: not the record of a run: it is not JSON from column 1 on"},
		"cut short":        {pass + "\n" + pass[:20], 1, 2, "line 2: the record is cut off"},
		"cut in between":   {pass[:20] + "\n" + pass, 0, 1, "line 1: not the record of a run: it is not JSON from column 21 on"},
		"wrong type":       {`{"scenario":"shard","verdict":"pass","seed":"x"}`, 0, 1, "line 1: not the record of a run: seed cannot be string"},
		"negative":         {`{"scenario":"shard","verdict":"pass","seed":-1}`, 0, 1, "line 1: not the record of a run: seed cannot be number -1"},
		"no hash":          {`{"scenario":"shard","verdict":"pass"}`, 0, 1, `line 1: not the record of a run: trace_hash "" is not 16 hexadecimal digits`},
		"something else":   {`{"name":"shard","doc":"clients"}`, 0, 1, "it has no scenario"},
		"unheard verdict":  {`{"scenario":"shard","verdict":"maybe"}`, 0, 1, `verdict "maybe" is none of pass, fail, unknown`},
		"list, not object": {`[` + pass + `]`, 0, 1, "line 1: not the record of a run, which is an object, but array"},
	} {
		t.Run(name, func(t *testing.T) {
			results, err := readAll(strings.NewReader(test.text))
			require.Len(t, results, test.results)
			if test.line == 0 {
				require.NoError(t, err)
				return
			}
			var line *reports.LineError
			require.ErrorAs(t, err, &line)
			require.Equal(t, test.line, line.Line)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, name == "cut short", errors.Is(err, reports.ErrCutOff))
		})
	}
}

func TestReadResultsPassesOnErrors(t *testing.T) {
	broken := errors.New("broken disk")
	_, err := readAll(io.MultiReader(strings.NewReader("\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}

func BenchmarkJSONLines(b *testing.B) {
	j := reports.NewJSONLines(io.Discard)
	r := failed()
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Result(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadResults(b *testing.B) {
	var line bytes.Buffer
	require.NoError(b, reports.NewJSONLines(&line).Result(failed()))
	b.ReportAllocs()
	b.SetBytes(int64(line.Len()))
	for b.Loop() {
		results, err := readAll(bytes.NewReader(line.Bytes()))
		if err != nil || len(results) != 1 {
			b.Fatal(len(results), err)
		}
	}
}

// zeros is a file without an end, or a line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// What has no lines is refused before it fills the memory.
func TestResultsWithoutLines(t *testing.T) {
	for _, err := range reports.ReadResults(zeros{}) {
		require.ErrorIs(t, err, reports.ErrLineTooLong)
		require.EqualError(t, err, "line 1: the line is longer than 16 MiB, which no record is")
	}
}
