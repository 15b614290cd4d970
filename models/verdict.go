package models

import (
	"cmp"
	"fmt"
	"slices"
)

// Verdict is what an oracle comes to.
type Verdict string

const (
	// VerdictPass: the oracle judged, and has no objection.
	VerdictPass Verdict = "pass"
	// VerdictFail: the oracle found a violation.
	VerdictFail Verdict = "fail"
	// VerdictUnknown: the oracle could not judge: there was nothing to judge, or its search
	// came to its limit. It is never read as a pass.
	VerdictUnknown Verdict = "unknown"
)

// Names that [Violation].Oracle takes beside the oracles' own.
const (
	// Vacuous marks what had nothing to judge.
	Vacuous = "vacuous"
	// Limit marks what could not be judged within its bounds.
	Limit = "limit"
)

// Violation is one thing wrong, or under [VerdictUnknown] one thing that could not be judged.
type Violation struct {
	// Oracle names what objects, or is [Vacuous] or [Limit].
	Oracle string
	// Message says which operations of which clients contradict what, with values and virtual
	// times. It depends on the history alone.
	Message string
	// AtNS is the virtual time, in ns since the start of the run, at which the contradiction
	// was complete.
	AtNS int64
	// Event is the position in the total order of events at which it was complete.
	Event uint64
}

// Judgement is an oracle's answer.
type Judgement struct {
	Oracle  string
	Verdict Verdict
	// Judged is how many operations or observations the oracle looked at. A judgement of
	// nothing is never a pass.
	Judged int
	// Violations is empty exactly when the verdict is a pass. The earliest comes first.
	Violations []Violation
}

// Oracle judges what a run recorded. It is built over the recordings and asked once they are
// complete.
type Oracle interface {
	// Name is how scenarios and reports call the oracle: "persist/linearizable".
	Name() string
	// Judge does not change the recordings; asked again it answers the same.
	Judge() Judgement
}

// Worst is the graver of two verdicts: a failure outweighs what could not be judged, which
// outweighs a pass.
func Worst(a, b Verdict) Verdict {
	weight := map[Verdict]int{VerdictPass: 0, VerdictUnknown: 1, VerdictFail: 2}
	if weight[b] > weight[a] {
		return b
	}
	return a
}

// violationsKept bounds what one oracle reports: one broken promise tends to break many
// operations, and the first few say it.
const violationsKept = 10

// judge sums up what an oracle found. Undecided violations make the verdict unknown only when
// there are no real ones.
func judge(oracle string, judged int, found, undecided []Violation) Judgement {
	j := Judgement{Oracle: oracle, Judged: judged, Verdict: VerdictPass}
	switch {
	case len(found) > 0:
		j.Verdict, j.Violations = VerdictFail, found
	case len(undecided) > 0:
		j.Verdict, j.Violations = VerdictUnknown, undecided
	case judged == 0:
		j.Verdict = VerdictUnknown
		j.Violations = []Violation{{
			Oracle:  Vacuous,
			Message: fmt.Sprintf("%s had nothing to judge: no operation of its kinds was answered", oracle),
		}}
	}
	slices.SortStableFunc(j.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Message, b.Message))
	})
	if len(j.Violations) > violationsKept {
		j.Violations = j.Violations[:violationsKept:violationsKept]
	}
	return j
}
