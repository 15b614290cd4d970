package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/system/host"
)

// otherNotes are the notes of the systems that come with simrun which no profile aims at.
var otherNotes = []string{"persist.batches", "persist.since", "pipeline.mirrored"}

// knownNotes are what a fault in a scenario that comes with simrun can wait for.
func knownNotes() []string {
	notes := append(slices.Clone(otherNotes), host.Declared()...)
	for _, m := range faults.Moments() {
		notes = append(notes, m.Note)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// checkMoments returns an error if a fault of a plan waits for what can't come: it would wait all the time, and the run
// pass. Notes of scenarios that others have written are not known beforehand; those are left to the summary.
func checkMoments(s *scenarios.Scenario, plan *faults.Plan) error {
	if !slices.ContainsFunc(scenarios.Builtin(), func(b *scenarios.Scenario) bool { return b.Name == s.Name }) {
		return nil
	}
	known := knownNotes()
	for i := range plan.Faults {
		f := &plan.Faults[i]
		if f.When == nil || slices.Contains(known, f.When.Note) {
			continue
		}
		if key, _, ok := strings.Cut(f.When.Note, "/"); ok && slices.Contains(known, key) {
			continue
		}
		advice := "; simrun list --faults has moments, simrun coverage the names of situations"
		if best := closest(f.When.Note, known); best != "" {
			advice = "; did you mean " + strconv.Quote(best) + "?"
		}
		return usagef("%s waits for %q, which nothing notes%s", f.ID, f.When.Note, advice)
	}
	return nil
}
