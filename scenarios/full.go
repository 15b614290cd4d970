package scenarios

import (
	"slices"

	"github.com/simrun-dev/simrun/models"
)

// full is everything that the system has so far, in one world under all faults at once.
func full() *Scenario {
	return &Scenario{
		Name:     "full",
		Doc:      "the whole system: direct operations on shards and DifferentialWriteTasks, on the same servers",
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
