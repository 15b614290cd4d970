package mutants

import (
	"errors"
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
	// Seeds is how many seeds it took, or how many were tried in vain: of several campaigns, the
	// median. Cut says that in the campaign in the middle they were tried in vain.
	Seeds uint64 `json:"seeds"`
	Cut   bool   `json:"cut,omitempty"`
	// Unknown is how many of these could not be judged. Those count as not caught.
	Unknown uint64 `json:"unknown"`
	// Seed is the one that failed, in the first campaign that caught it. Oracle and Message are its first failure that the mutant's
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
	// Survives is why the mutant's header says that it is not caught; "" if it does not say so.
	Survives string `json:"survives,omitempty"`
	// Campaigns are all campaigns, if there were several.
	Campaigns []Chase `json:"campaigns,omitempty"`

	// Err is the error behind Error.
	Err error `json:"-"`
}

// outcome is what the campaigns against a mutant, at least one, have come to.
func (m *Mutant) outcome(chases []Chase) Outcome {
	middle := median(chases)
	o := Outcome{
		Mutant: m.Name, Scenario: m.Scenario, Status: Survived, Survives: m.Survives,
		Seeds: middle.Tried,
	}
	if len(chases) > 1 {
		o.Campaigns = chases
	}
	for _, c := range chases {
		o.Unknown += c.Unknown
		if !c.Caught {
			continue
		}
		if o.Status == Survived {
			o.Status, o.Cut = Caught, !middle.Caught
			o.Seed, o.Oracle, o.Message, o.Expected = c.Seed, c.Oracle, c.Message, c.Expected
			o.AtNS, o.VirtualNS, o.TraceHash, o.Repro = c.AtNS, c.VirtualNS, c.TraceHash, c.Repro
		}
		if c.NotReplayable != "" && o.Error == "" {
			o.Status, o.Error, o.Err = NotReplayable, c.NotReplayable, errors.New(c.NotReplayable)
		}
	}
	return o
}

// CaughtBy are the oracles that caught the mutant, in the order of the campaigns.
func (o *Outcome) CaughtBy() []string {
	oracles := []string{}
	if o.Oracle != "" {
		oracles = append(oracles, o.Oracle)
	}
	for _, c := range o.Campaigns {
		if c.Caught && !slices.Contains(oracles, c.Oracle) {
			oracles = append(oracles, c.Oracle)
		}
	}
	return oracles
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
