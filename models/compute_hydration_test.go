package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/persist"
)

// hydratingRun is a connection over which a controller tells of dataflows 11, 12 and 13, which begin at 10 and of which
// so many may hydrate at a time.
type hydratingRun struct {
	*computeRun
	limit int
}

func (r *hydratingRun) wants(collections ...uint64) {
	for _, id := range collections {
		r.TellsDataflow("r", r.epoch(1), id, persist.At(10), true, r.now())
		r.TellsSchedule("r", r.epoch(1), id, r.limit, r.now())
	}
}

func (r *hydratingRun) runs(collections ...uint64) {
	for _, id := range collections {
		r.Rendered("r", r.epoch(1), id, persist.At(10), r.now())
		r.Scheduled("r", r.epoch(1), id, r.limit, r.now())
	}
}

func (r *hydratingRun) hears(collection, output uint64) {
	r.Told("r", r.epoch(1), collection, models.CollectionFrontiers{Output: persist.At(output), Write: persist.At(output), Input: persist.At(output)}, r.now())
	r.Hears("r", r.epoch(1), collection, persist.At(output), r.now())
}

func (r *hydratingRun) drops(collection uint64) {
	r.TellsDrop("r", r.epoch(1), collection, r.now())
	r.Discarded("r", r.epoch(1), collection, r.now())
}

// peeks asks and answers, by which it shows how far the replica has come.
func (r *hydratingRun) peeks(peek string) {
	r.TellsPeek("r", r.epoch(1), peek, r.now())
	r.Answered("r", r.epoch(1), peek, r.now())
}

func TestHydrationProgress(t *testing.T) {
	for name, c := range map[string]struct {
		limit int // default 1
		does  func(r *hydratingRun)
		says  string // "" is no objection
	}{
		"one of three": {does: func(r *hydratingRun) { r.wants(11, 12, 13); r.runs(11); r.peeks("q") }},
		"none of three": {
			does: func(r *hydratingRun) { r.wants(11, 12, 13); r.peeks("q") },
			says: "comes to Peek q, and of the dataflows [11 12 13], of which 1 may hydrate, it was told to run 0",
		},
		"two of three": {limit: 2, does: func(r *hydratingRun) { r.wants(11, 12, 13); r.runs(11, 12); r.peeks("q") }},
		"one of two that may": {
			limit: 2, does: func(r *hydratingRun) { r.wants(11, 12, 13); r.runs(11); r.peeks("q") }, says: "of which 2 may hydrate, it was told to run 1",
		},
		"the next one, when one is hydrated": {does: func(r *hydratingRun) { r.wants(11, 12); r.runs(11); r.hears(11, 11); r.runs(12); r.peeks("q") }},
		"no next one, when one is hydrated": {
			does: func(r *hydratingRun) { r.wants(11, 12); r.runs(11); r.hears(11, 11); r.peeks("q") }, says: "the dataflows [12]",
		},
		"computed up to its beginning is not hydrated": {does: func(r *hydratingRun) { r.wants(11, 12); r.runs(11); r.hears(11, 10); r.peeks("q") }},
		"the next one, when one is dropped":            {does: func(r *hydratingRun) { r.wants(11, 12); r.runs(11); r.drops(11); r.runs(12); r.peeks("q") }},
		"no next one, when one is dropped": {
			does: func(r *hydratingRun) { r.wants(11, 12); r.runs(11); r.drops(11); r.peeks("q") }, says: "the dataflows [12]",
		},
		"a drop shows it too": {
			does: func(r *hydratingRun) { r.wants(11, 12, 13); r.runs(11); r.drops(11); r.drops(13) }, says: "comes to AllowCompaction c13",
		},
		"and so does another dataflow": {
			does: func(r *hydratingRun) { r.wants(11, 12); r.wants(13); r.runs(13) }, says: "comes to CreateDataflow c13",
		},
		"what is transient does not count": {does: func(r *hydratingRun) {
			r.TellsDataflow("r", r.epoch(1), 11, persist.At(10), false, r.now())
			r.TellsSchedule("r", r.epoch(1), 11, 1, r.now())
			r.peeks("q")
		}},
		"what has not arrived yet": {does: func(r *hydratingRun) {
			r.TellsPeek("r", r.epoch(1), "q", r.now())
			r.wants(11)
			r.Answered("r", r.epoch(1), "q", r.now())
		}},
		"another connection": {does: func(r *hydratingRun) {
			r.wants(11)
			r.TellsPeek("r", r.epoch(2), "q", r.now())
			r.Answered("r", r.epoch(2), "q", r.now())
		}},
		"the initialisation": {
			does: func(r *hydratingRun) {
				r.TellsDataflow("r", r.epoch(2), 11, persist.At(10), true, r.now())
				r.TellsSchedule("r", r.epoch(2), 11, 1, r.now())
				r.Complete("r", r.epoch(2), r.now())
				r.Rendered("r", r.epoch(2), 11, persist.At(10), r.now()) // before the others of its order
				r.Reconciled("r", r.epoch(2), r.now())
			},
			says: "comes to InitializationComplete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &hydratingRun{newComputeRun(), max(c.limit, 1)}
			c.does(r)
			found := r.objections()
			if c.says == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, found[models.OracleHydrationProgress], c.says)
			require.Len(t, found, 1)
		})
	}
}
