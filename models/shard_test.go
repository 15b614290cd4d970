package models

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// recording records sequential operations briefly; positions are 1, 2, 3, ...
type recording struct {
	*History
	at uint64
}

func newRecording() *recording { return &recording{History: NewHistory()} }

func (r *recording) tick() (uint64, int64) {
	r.at++
	return r.at, int64(r.at) * 1e9
}

func (r *recording) begin(client int, kind string, input any) Token {
	at, ns := r.tick()
	return r.Begin(client, kind, input, at, ns)
}

func (r *recording) end(t Token, outcome Outcome, output any) {
	at, ns := r.tick()
	r.End(t, outcome, output, at, ns)
}

func (r *recording) append(client int, from, to uint64, outcome Outcome, output any, updates ...Update) {
	r.end(r.begin(client, KindCompareAndAppend, CompareAndAppend{"s", At(from), At(to), updates}), outcome, output)
}

func (r *recording) upper(client int, upper Frontier) {
	r.end(r.begin(client, KindFetchUpper, FetchUpper{"s"}), Ok, Upper{upper})
}

func (r *recording) snapshot(client int, asOf uint64, rows ...Row) {
	r.end(r.begin(client, KindSnapshot, Snapshot{Shard: "s", AsOf: asOf}), Ok, Contents{rows})
}

func (r *recording) log(t *testing.T) []*logEntry {
	shards, err := shardHistories(r.History)
	require.NoError(t, err)
	require.Len(t, shards, 1)
	return shards[0].log
}

func TestNothingToJudgeIsUnknown(t *testing.T) {
	for _, o := range []Oracle{Linearizable{History: NewHistory()}, Definite{History: NewHistory()}} {
		j := o.Judge()
		require.Equal(t, VerdictUnknown, j.Verdict)
		require.Len(t, j.Violations, 1)
		require.Equal(t, Vacuous, j.Violations[0].Oracle)
	}
	// Operations without an answer say nothing either.
	r := newRecording()
	r.append(1, 0, 5, Unknown, nil)
	r.begin(2, KindFetchUpper, FetchUpper{"s"})
	require.Equal(t, VerdictUnknown, Linearizable{History: r.History}.Judge().Verdict)
}

func TestSearchAtItsLimitIsUnknown(t *testing.T) {
	h := generate(mixture{shards: 1, clients: 4, ops: 60, tagged: true}, seededChooser(1))
	require.Equal(t, VerdictPass, Linearizable{History: h}.Judge().Verdict)
	j := Linearizable{History: h, MaxSteps: 10}.Judge()
	require.Equal(t, VerdictUnknown, j.Verdict)
	require.Equal(t, Limit, j.Violations[0].Oracle)
	require.Contains(t, j.Violations[0].Message, "gave up on upper and contents at its limit of steps")

	// What the chain checker found stands without Porcupine.
	r := newRecording()
	r.append(1, 0, 5, Ok, nil)
	r.upper(2, At(0))
	j = Linearizable{History: r.History, MaxSteps: 1}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
}

func TestShardsAreJudgedApart(t *testing.T) {
	r := newRecording()
	for _, shard := range []string{"good", "bad"} {
		r.end(r.begin(1, KindCompareAndAppend, CompareAndAppend{Shard: shard, New: At(5)}), Ok, nil)
	}
	r.end(r.begin(1, KindFetchUpper, FetchUpper{"bad"}), Ok, Upper{At(0)})
	r.end(r.begin(1, KindFetchUpper, FetchUpper{"good"}), Ok, Upper{At(5)})
	r.end(r.begin(1, "something else", nil), Ok, nil)
	j := Linearizable{History: r.History}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Equal(t, 4, j.Judged)
	require.Len(t, j.Violations, 1)
	v := j.Violations[0]
	require.True(t, strings.HasPrefix(v.Message, "shard bad: "), v.Message)
	require.Equal(t, uint64(6), v.Event, "when the wrong upper was answered")
	require.Equal(t, int64(6e9), v.AtNS)
}

func TestMistypedOperationsAreNotJudged(t *testing.T) {
	for name, record := range map[string]func(r *recording){
		"input of type *models.Snapshot; record it with models.Snapshot": func(r *recording) {
			r.end(r.begin(1, KindSnapshot, &Snapshot{}), Ok, Contents{})
		},
		"outcome ok with an output of type models.Since": func(r *recording) {
			r.end(r.begin(1, KindFetchUpper, FetchUpper{"s"}), Ok, Since{})
		},
		"outcome fail with an output of type models.SinceError": func(r *recording) {
			r.append(1, 0, 5, Fail, SinceError{})
		},
		"outcome ok with an output of type models.UpperMismatch": func(r *recording) {
			r.append(1, 0, 5, Ok, UpperMismatch{})
		},
		"outcome ok without an output": func(r *recording) {
			r.end(r.begin(1, KindSnapshot, Snapshot{Shard: "s"}), Ok, nil)
		},
	} {
		r := newRecording()
		record(r)
		for _, o := range []Oracle{Linearizable{History: r.History}, Definite{History: r.History}} {
			j := o.Judge()
			require.Equal(t, VerdictUnknown, j.Verdict)
			require.Contains(t, j.Violations[0].Message, name)
		}
	}
}

func TestEveryKindChecksItsTypes(t *testing.T) {
	for _, kind := range []string{
		KindCompareAndAppend, KindFetchUpper, KindSnapshot, KindOpenReader, KindDowngradeSince,
		KindOpenCritical, KindCompareAndDowngradeSince,
	} {
		r := newRecording()
		r.end(r.begin(1, kind, "text"), Ok, nil)
		_, err := shardHistories(r.History)
		require.ErrorContains(t, err, "input of type string", kind)
	}
	inputs := map[string]any{
		KindCompareAndAppend: CompareAndAppend{}, KindFetchUpper: FetchUpper{}, KindSnapshot: Snapshot{},
		KindOpenReader: OpenReader{}, KindDowngradeSince: DowngradeSince{},
		KindOpenCritical: OpenCritical{}, KindCompareAndDowngradeSince: CompareAndDowngradeSince{},
	}
	for kind, input := range inputs {
		r := newRecording()
		r.end(r.begin(1, kind, input), Ok, "text")
		_, err := shardHistories(r.History)
		require.ErrorContains(t, err, "output of type string", kind)
	}
	for _, kind := range []string{KindCompareAndAppend, KindSnapshot, KindDowngradeSince, KindCompareAndDowngradeSince} {
		r := newRecording()
		r.end(r.begin(1, kind, inputs[kind]), Fail, "text")
		_, err := shardHistories(r.History)
		require.ErrorContains(t, err, "output of type string", kind)
	}
}

// TestDisagreement plays both sides: no history is known on which the checkers differ.
func TestDisagreement(t *testing.T) {
	s := &shardHistory{shard: "s"}
	objection := Violation{Oracle: OracleLinearizable, Message: "no good", Event: 7, AtNS: 8}
	explain := func() Violation { return objection }
	for _, c := range []struct {
		found     []Violation
		exact     bool
		result    porcupine.CheckResult
		want      int
		disagree  bool
		undecided bool
	}{
		{nil, true, porcupine.Ok, 0, false, false},
		{[]Violation{objection}, true, porcupine.Illegal, 1, false, false},
		{nil, false, porcupine.Illegal, 1, false, false},
		{nil, true, porcupine.Illegal, 2, true, false},
		{[]Violation{objection}, true, porcupine.Ok, 2, true, false},
		{[]Violation{objection}, false, porcupine.Ok, 2, true, false},
		{nil, true, porcupine.Unknown, 0, false, true},
		{[]Violation{objection}, true, porcupine.Unknown, 1, false, true},
	} {
		found, undecided := reconcile(s, "since", c.found, c.exact, c.result, explain)
		require.Len(t, found, c.want, "%+v", c)
		require.Equal(t, c.disagree, strings.Contains(fmt.Sprint(found), "the two checkers disagree about since"), "%+v", c)
		require.Equal(t, c.undecided, len(undecided) > 0, "%+v", c)
		for _, v := range found {
			require.Equal(t, uint64(7), v.Event)
			require.Contains(t, v.Message, "no good")
		}
	}
}

// TestRowsThatDoNotTellAppendsApart: two appends of unknown outcome with the same row, one of
// which must have taken effect. The chain cannot tell which, and leaves the verdict to
// Porcupine.
func TestRowsThatDoNotTellAppendsApart(t *testing.T) {
	record := func(seen ...Row) *recording {
		r := newRecording()
		r.append(1, 0, 5, Unknown, nil, Update{"a", 0, 1})
		r.append(2, 0, 6, Unknown, nil, Update{"a", 1, 1}, Update{"b", 1, 1})
		r.snapshot(3, 4, seen...)
		return r
	}
	for _, r := range []*recording{record(), record(Row{"a", 1}), record(Row{"a", 1}, Row{"b", 1}), record(Row{"b", 1})} {
		v := judgeParts(t, r.History)
		require.False(t, v.exact)
		require.Equal(t, plainVerdict(r.History), v.closed)
	}
	// With neither in effect the upper is not past 4, and an order is needed.
	require.Equal(t, VerdictFail, Linearizable{History: record().History}.Judge().Verdict)
	require.Equal(t, VerdictPass, Linearizable{History: record(Row{"a", 1}).History}.Judge().Verdict)
	j := Linearizable{History: record(Row{"b", 1}).History}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, "no order of the operations explains the answer of #3")
	require.NotContains(t, j.Violations[0].Message, "disagree")
}

func TestVisualize(t *testing.T) {
	h := generate(mixture{shards: 2, clients: 3, ops: 40, unknown: 10, tagged: true, holds: true}, seededChooser(3))
	var page bytes.Buffer
	require.NoError(t, Linearizable{History: h}.Visualize(&page))
	require.Contains(t, page.String(), "compare_and_append")
	require.Contains(t, page.String(), "shard s1")

	r := newRecording()
	r.append(1, 0, 5, Ok, SinceError{})
	require.ErrorContains(t, Linearizable{History: r.History}.Visualize(&page), "operation #1")
}

// TestJudgingIsAFunction: judging twice gives the same, messages included.
func TestJudgingIsAFunction(t *testing.T) {
	for seed := range uint64(30) {
		choose := seededChooser(seed)
		h := generate(mixture{shards: 3, clients: 5, ops: 200, unknown: 15, tagged: true, holds: true}, choose)
		for range 5 {
			h = mutate(h, choose)
			h = mutateHolds(h, choose)
		}
		for _, o := range []Oracle{Linearizable{History: h}, Definite{History: h, StrictSince: true}} {
			require.Equal(t, o.Judge(), o.Judge())
		}
	}
}

func TestWorst(t *testing.T) {
	require.Equal(t, VerdictFail, Worst(VerdictUnknown, VerdictFail))
	require.Equal(t, VerdictFail, Worst(VerdictFail, VerdictUnknown))
	require.Equal(t, VerdictUnknown, Worst(VerdictPass, VerdictUnknown))
	require.Equal(t, VerdictPass, Worst(VerdictPass, VerdictPass))
}

func TestViolationsAreFewAndInOrder(t *testing.T) {
	var many []Violation
	for i := range 3 * violationsKept {
		many = append(many, Violation{Event: uint64(100 - i)})
	}
	j := judge("o", 1, many, []Violation{{Oracle: Limit}})
	require.Equal(t, VerdictFail, j.Verdict)
	require.Len(t, j.Violations, violationsKept)
	require.Equal(t, uint64(71), j.Violations[0].Event)
}
