package mutants

import (
	"slices"
	"strings"
)

// Status is what became of a mutant.
type Status string

const (
	// Caught: an oracle objected, and objected again when the seed was repeated.
	Caught Status = "caught"
	// Survived: no seed failed. The oracles or the faults have a hole.
	Survived Status = "survived"
	// NotReplayable: a seed failed, but differently when it was repeated.
	NotReplayable Status = "not replayable"
	// Broken: the mutant could not be built or run.
	Broken Status = "error"
)

// Outcome is what became of one mutant: one line of `simrun mutants --json`.
type Outcome struct {
	Mutant   string `json:"mutant"`
	Scenario string `json:"scenario"`
	Status   Status `json:"status"`
	// Seeds is how many seeds it took, or how many were tried in vain.
	Seeds uint64 `json:"seeds"`
	// Unknown is how many of these could not be judged. Those count as not caught.
	Unknown uint64 `json:"unknown"`
	// Seed is the one that failed. Oracle and Message are its first failure that the mutant's
	// header expects, or else its first, with Expected false. AtNS is the virtual time of the
	// failure, VirtualNS that of the whole run.
	Seed      uint64 `json:"seed"`
	Oracle    string `json:"oracle"`
	Message   string `json:"message"`
	Expected  bool   `json:"expected"`
	AtNS      int64  `json:"at_ns"`
	VirtualNS int64  `json:"virtual_ns"`
	TraceHash string `json:"trace_hash"`
	// Repro is the command that shows the failure again.
	Repro string `json:"repro"`
	// Error says what went wrong, if Status is Broken or NotReplayable.
	Error string `json:"error"`

	// Err is the error behind Error.
	Err error `json:"-"`
}

// expected says whether the mutant's header names the oracle. A name that ends in "*" stands for
// all that begin as it does.
func (m *Mutant) expected(oracle string) bool {
	return slices.ContainsFunc(m.Expect, func(name string) bool {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			return strings.HasPrefix(oracle, prefix)
		}
		return name == oracle
	})
}
