package mutants

import (
	"cmp"
	"context"
	"slices"

	"github.com/simrun-dev/simrun/scenarios"
)

// Chase is one campaign against a mutant: up to the first seed that fails.
type Chase struct {
	// First is the first seed tried. Tried is how many were until one failed, or in vain, and Unknown
	// how many of these could not be judged, which count as not caught.
	First   uint64 `json:"first"`
	Tried   uint64 `json:"tried"`
	Unknown uint64 `json:"unknown"`
	Caught  bool   `json:"caught"`
	// What follows is of the run that failed. Oracle and Message are its first failure that the
	// mutant's header expects, or else its first, with Expected false.
	Seed      uint64 `json:"seed,omitempty"`
	Oracle    string `json:"oracle,omitempty"`
	Message   string `json:"message,omitempty"`
	Expected  bool   `json:"expected,omitempty"`
	AtNS      int64  `json:"at_ns,omitempty"`
	VirtualNS int64  `json:"virtual_ns,omitempty"`
	TraceHash string `json:"trace_hash,omitempty"`
	Repro     string `json:"repro,omitempty"`
	// NotReplayable says how the run differed when it was repeated; "" if in nothing.
	NotReplayable string `json:"not_replayable,omitempty"`
}

// chase runs one campaign, and repeats the seed that fails.
func (h *Hunt) chase(ctx context.Context, binary string, m *Mutant, seeds scenarios.Seeds) (Chase, error) {
	c := Chase{First: seeds.At(0)}
	var caught *scenarios.Result
	err := h.campaign(ctx, binary, m, seeds, func(r scenarios.Result) {
		if caught != nil {
			return
		}
		c.Tried++
		switch r.Verdict {
		case scenarios.Unknown:
			c.Unknown++
		case scenarios.Fail:
			caught = &r
		}
	})
	if err != nil || caught == nil {
		return c, err
	}
	failure, expected := m.tellingFailure(caught)
	c.Caught = true
	c.Seed, c.Oracle, c.Message, c.Expected = caught.Seed, failure.Oracle, failure.Message, expected
	c.AtNS, c.VirtualNS, c.TraceHash, c.Repro = failure.AtNS, caught.VirtualNS, caught.TraceHash, caught.Repro

	h.phase(m, "repeating the failure of")
	var again *scenarios.Result
	one := scenarios.Seeds{{First: caught.Seed, Last: caught.Seed}}
	if err := h.campaign(ctx, binary, m, one, func(r scenarios.Result) { again = &r }); err != nil {
		return c, err
	}
	if err := sameFailure(caught, again); err != nil {
		c.NotReplayable = err.Error()
	}
	return c, nil
}

// shifted are the seeds of the n-th campaign, from 0: as many as those of the first, from where the
// campaign before it ends.
func shifted(seeds scenarios.Seeds, n int) scenarios.Seeds {
	by := uint64(n) * seeds.Len()
	moved := make(scenarios.Seeds, len(seeds))
	for i, r := range seeds {
		moved[i] = scenarios.SeedRange{First: r.First + by, Last: r.Last + by}
	}
	return moved
}

// median is the chase in the middle, by how many seeds it took: those in vain took more than any
// other. Of an even number it is the lower one of the two.
func median(chases []Chase) Chase {
	sorted := slices.Clone(chases)
	slices.SortStableFunc(sorted, func(a, b Chase) int {
		return cmp.Or(boolCompare(b.Caught, a.Caught), cmp.Compare(a.Tried, b.Tried))
	})
	return sorted[(len(sorted)-1)/2]
}

// boolCompare orders false before true.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
