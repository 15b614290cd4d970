package reports

import (
	"slices"

	"github.com/simrun-dev/simrun/scenarios"
)

// Campaign is what a campaign came to, for reports that are read later and elsewhere.
type Campaign struct {
	scenarios.Summary
	// Seeds are those that were asked for.
	Seeds scenarios.Seeds
	// Settings are all settings of its runs.
	Settings map[string]string
	// Command returns the command that runs a seed again.
	Command func(seed uint64) string
}

// violationsFirst are the groups of failures, what could not be judged behind the violations.
func (c *Campaign) violationsFirst() []scenarios.FailureGroup {
	groups := slices.Clone(c.Groups)
	slices.SortStableFunc(groups, func(a, b scenarios.FailureGroup) int {
		return rankOf(a.Verdict) - rankOf(b.Verdict)
	})
	return groups
}

func rankOf(v scenarios.Verdict) int {
	if v == scenarios.Fail {
		return 0
	}
	return 1
}
