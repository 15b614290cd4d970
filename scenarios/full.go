package scenarios

import (
	"slices"

	"github.com/simrun-dev/simrun/models"
)

// full is the whole system, under all faults at once.
func full() *Scenario {
	return &Scenario{
		Name:     "full",
		Doc:      "the whole system: a source is replicated, flows and views compute on it, and what is served as of any time is held against the source",
		Settings: pipelineSettings,
		Oracles:  append(models.PipelineOracles(), oracleDurable),
		Build:    func(r *Run) { addPipeline(r, 1) },
	}
}

// together is all that uses shards directly, in one world under all faults at once.
func together() *Scenario {
	return &Scenario{
		Name:     "collections",
		Doc:      "direct operations on shards, and the tasks that keep collections in them, on the same servers",
		Settings: slices.Concat(shardSettings, differentialSettings),
		Oracles:  append(slices.Clone(shardOracles), models.OracleResponders, models.OracleConverges, oracleAppendOnly),
		Build: func(r *Run) {
			c := addPersist(r)
			names := shardNames("s", r.Int("shards"))
			rec := addShardClients(r, c, names)
			targets, machines := addCollections(r, c)
			more, managing := addManagers(r, c)
			c.rivals(slices.Concat(shardRivals(c, rec, names), targets, more))
			c.unreliable(slices.Concat(clientNames(r), machines, managing, []string{rivalNode})...)
		},
	}
}
