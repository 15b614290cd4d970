package models

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recordings of observations get the verdict in their names, and are the same when they are written again.
func TestRecordedCheckpoints(t *testing.T) {
	m, err := Lookup("checkpoint")
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/checkpoint/*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		h := readHistory(t, "checkpoint", file)
		verdict, found := VerdictPass, map[string]bool{}
		for _, j := range m.Judge(h, Bounds{}) {
			if verdict = Worst(verdict, j.Verdict); j.Verdict == VerdictFail {
				found[j.Oracle] = true
			}
		}
		require.Equal(t, verdictInName(strings.TrimSuffix(file, ".jsonl")), verdict, file)
		if verdict == VerdictFail {
			require.Equal(t, map[string]bool{OracleSingleReplication: true, OracleCheckpointSources: true}, found)
		} else {
			require.Len(t, m.Oracles(h), len(CheckpointOracles()), "%s: every oracle has something to judge", file)
		}
		var again bytes.Buffer
		require.NoError(t, m.WriteHistory(&again, h))
		back, err := m.Read(&again, FormatAuto)
		require.NoError(t, err)
		require.Equal(t, listing(h), listing(back))
	}
}

// Oracles that a recording says nothing to are left out.
func TestCheckpointsOfPart(t *testing.T) {
	m, err := Lookup("checkpoint")
	require.NoError(t, err)
	h, err := m.Read(strings.NewReader(`{"client":1,"kind":"store","input":{"feed":"f","epoch":2,"checkpoint":7,"resolved":9},"outcome":"ok","call":1,"return":1}
{"client":1,"kind":"store","input":{"feed":"f","epoch":2,"checkpoint":6,"resolved":9},"outcome":"ok","call":2,"return":2}`), FormatAuto)
	require.NoError(t, err)
	verdicts := map[string]Verdict{}
	for _, j := range m.Judge(h, Bounds{}) {
		verdicts[j.Oracle] = j.Verdict
	}
	require.Equal(t, map[string]Verdict{OracleCheckpointMonotone: VerdictFail, OracleCheckpointLeResolved: VerdictPass}, verdicts)
}

// A checkpoint that is stored by itself is held against those before it, and against no resolved timestamp.
func TestCheckpointsWithoutResolved(t *testing.T) {
	m, err := Lookup("checkpoint")
	require.NoError(t, err)
	const store = `{"client":1,"kind":"store","input":{"feed":"f","epoch":2,"checkpoint":7},"outcome":"ok","call":1,"return":1}`
	h, err := m.Read(strings.NewReader(store), FormatAuto)
	require.NoError(t, err)
	judged := m.Judge(h, Bounds{})
	require.Len(t, judged, 1)
	require.Equal(t, OracleCheckpointMonotone, judged[0].Oracle)
	require.Equal(t, VerdictPass, judged[0].Verdict)
	require.Contains(t, m.Schema.Operations(), "store {feed, epoch, checkpoint, resolved?}")

	// A resolved timestamp of 0 is one.
	h, err = m.Read(strings.NewReader(strings.Replace(store, `:7}`, `:7,"resolved":0}`, 1)), FormatAuto)
	require.NoError(t, err)
	require.Equal(t, VerdictFail, m.Judge(h, Bounds{})[0].Verdict)
}

func TestCheckpointsWronglyRecorded(t *testing.T) {
	m, err := Lookup("checkpoint")
	require.NoError(t, err)
	for line, want := range map[string]string{
		`{"client":1,"kind":"stored","input":{},"outcome":"ok","call":1,"return":1}`:                                                           `unknown kind "stored"`,
		`{"client":1,"kind":"safepoint","input":{"ts":-4},"outcome":"ok","call":1,"return":1}`:                                                 "want a whole number, not negative",
		`{"client":1,"kind":"safepoint","input":{"at":4},"outcome":"ok","call":1,"return":1}`:                                                  `unknown field "at"`,
		`{"client":1,"kind":"safepoint","input":{"ts":4},"outcome":"unknown","call":1}`:                                                        "what did not happen, or may not have, was not observed",
		`{"client":1,"kind":"safepoint","input":{"ts":4},"outcome":"fail","call":1,"return":1}`:                                                "outcome fail",
		`{"client":1,"kind":"safepoint","input":{"ts":4},"outcome":"ok","call":1,"return":2}`:                                                  "return is 2 and call 1",
		`{"client":0,"kind":"store","input":{},"outcome":"ok","call":2,"return":2}`:                                                            "store: feed is missing",
		`{"client":0,"kind":"store","input":{"feed":"f","epoch":1},"outcome":"ok","call":2,"return":2}`:                                        "store: checkpoint is missing",
		`{"client":0,"kind":"safepoint","input":{"ts":null},"outcome":"ok","call":2,"return":2}`:                                               "safepoint: ts is missing",
		`{"client":0,"kind":"written","input":{"feed":"f","span":1,"capture":"a","changes":[{"key":"x"}]},"outcome":"ok","call":2,"return":2}`: "written: changes.0.ts is missing",
		`{"client":0,"kind":"contents","input":{"feed":"f","as_of":4},"outcome":"ok","output":{"rows_read":{}},"call":2,"return":2}`:           "contents: output rows_read: rows is missing",
		`{"client":0,"kind":"store","input":{"feed":7,"epoch":1,"checkpoint":7},"outcome":"ok","call":2,"return":2}`:                           "feed is a number; want a string",
		`{"client":1,"kind":"contents","input":{"feed":"f","as_of":4},"outcome":"ok","call":1,"return":1}`:                                     `say {"rows_read":{"rows":{...}}}`,
		`{"client":1,"kind":"safepoint","input":{"ts":4},"outcome":"ok","output":{"rows_read":{"rows":{}}},"call":1,"return":1}`:               "only contents have one",
	} {
		_, err := m.Read(strings.NewReader("# model checkpoint\n"+line+"\n"), FormatAuto)
		var bad *FormatError
		require.ErrorAs(t, err, &bad, line)
		require.Equal(t, 2, bad.Line)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "Observed", "the name of a Go type")
	}
}

// What can't have been observed in that order is not judged.
func TestCheckpointsOutOfOrder(t *testing.T) {
	m, err := Lookup("checkpoint")
	require.NoError(t, err)
	h := NewHistory()
	for i, ts := range []uint64{12, 11} {
		token := h.Begin(1, KindCommit, CommitObserved{Span: 1, Key: "x", TS: ts}, uint64(i), 0)
		h.End(token, Ok, nil, uint64(i), 0)
	}
	judged := m.Judge(h, Bounds{})
	require.Len(t, judged, 1)
	require.Equal(t, VerdictUnknown, judged[0].Verdict)
	require.Contains(t, judged[0].Violations[0].Message, "operation #2 commits at 11 in span 1 after operation #1 committed at 12")

	strange := NewHistory()
	strange.End(strange.Begin(1, KindCommit, DropObserved{}, 1, 0), Ok, nil, 1, 0)
	require.Contains(t, m.Judge(strange, Bounds{})[0].Violations[0].Message, "is no observation")
}

func BenchmarkCheckpoints(b *testing.B) {
	file, err := os.ReadFile("testdata/checkpoint/moved-ok.jsonl")
	require.NoError(b, err)
	m := checkpointModel()
	for b.Loop() {
		h, err := m.Read(bytes.NewReader(file), FormatJSONL)
		require.NoError(b, err)
		m.Judge(h, Bounds{})
	}
}
