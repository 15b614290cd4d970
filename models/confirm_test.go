package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// hasty is a counter that wrongly takes additions for reads, which are placed as soon as they can
// be: it objects where one has to come after a read that returned later.
func hasty(h *History) Oracle {
	spec := counterSpec()
	spec.prepare, spec.ReadOnly = nil, func(*Op) bool { return true }
	return Sequential[int64]{Spec: spec, History: h}
}

// hastyHistory can be explained, and hasty objects, after so many reads of 0.
func hastyHistory(reads int) *History {
	var ops []*Op
	at := uint64(1)
	for range reads {
		ops = append(ops, did(1, at, at+1, KindRead, ReadCounter{}, Count{0}))
		at += 2
	}
	return historyOf(append(ops,
		did(1, at, at+8, KindAdd, Add{"", 1}, nil),
		did(2, at+1, at+9, KindRead, ReadCounter{}, Count{0}),
	)...)
}

func TestJudgesDisagree(t *testing.T) {
	require.Equal(t, VerdictPass, Counters(hastyHistory(0)).Judge().Verdict)
	j := hasty(hastyHistory(9)).Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Len(t, j.Violations, 2)
	require.Contains(t, j.Violations[0].Message+j.Violations[1].Message,
		"the two judges disagree, so counter/linearizable is wrong or the ReadOnly or Alike of its specification is; "+
			"keep this history: Porcupine finds an order that explains everything, and it objects: ")

	// One that passes everything, because it thinks that there is nothing to search.
	blind := counterSpec()
	blind.prepare = func(ops []*Op, _ *Spec[int64]) prepared[int64] { return prepared[int64]{exact: true} }
	j = Sequential[int64]{Spec: blind, History: historyOf(did(1, 1, 2, KindRead, ReadCounter{}, Count{7}))}.Judge()
	require.Equal(t, VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, "it has no objection, and Porcupine finds no order that explains everything")
}

// What is too large for a second look is judged once.
func TestLargeObjectsAreNotConfirmed(t *testing.T) {
	require.Len(t, hasty(hastyHistory(confirmOps-2)).Judge().Violations, 2)
	require.Len(t, hasty(hastyHistory(confirmOps-1)).Judge().Violations, 1)
}
