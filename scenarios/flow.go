package scenarios

import (
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/host"
)

var flowSettings = []Setting{
	{Name: "frontends", Default: "2", Doc: "machines that execute SQL", Check: atLeastOne},
	{Name: "flownodes", Default: "2", Doc: "machines that run flows", Check: atLeastOne},
	{Name: "users", Default: "3", Doc: "clients that insert, delete, and create, replace, drop and flush flows of their own", Check: atLeastOne},
	{Name: "flows", Default: "6", Doc: "flows there are at most, beside two that share a sink", Check: atLeastOne},
	{Name: "pace", Default: "150ms", Doc: "mean time between two statements of a user"},
}

// flows is the scenario of flows over shared tables.
func flows() *Scenario {
	return &Scenario{
		Name:     "flow",
		Doc:      "users change tables and create, replace, drop and flush flows over them, whose nodes come and go",
		Settings: flowSettings,
		Oracles:  append(models.FlowOracles(), oracleDurable),
		Build:    buildFlows,
	}
}

func buildFlows(r *Run) {
	c := &flowCluster{persistCluster: addPersist(r), model: models.NewFlows(), nodes: map[string]*flowMachine{}}
	c.addFrontends()
	c.addNodes()
	c.addFaults()
	c.watch = newFlowWatch(c)
	users := make([]*flowUser, r.Int("users"))
	for i := range users {
		users[i] = &flowUser{
			flowCluster: c, number: i, choices: r.World.NewStream("workload", fmt.Sprintf("user-%d", i+1)),
			moments: host.NewChan[*flowSlot](r.World.Host(), "moments", 1),
		}
		c.users = append(c.users, users[i])
	}
	for i := range r.Int("flows") {
		var fixed *flowTemplate
		if i == 0 {
			fixed = &flowTemplates[0]
		}
		u := users[i%len(users)]
		u.slots = append(u.slots, newSlot(fmt.Sprintf("f%d", i+1), fixed))
	}
	for i := range sharedTemplates {
		t := &sharedTemplates[i]
		u := users[1%len(users)]
		u.slots = append(u.slots, newSlot("shared_"+t.table, t))
	}
	users[1%len(users)].sharer = r.World.NewStream("workload", "sharer").N(3) == 0
	r.World.Go("setup", c.setup)
	r.Ready("the tables being created", func() bool { return c.ready })
	for _, u := range users {
		r.World.Go(fmt.Sprintf("user %d", u.number+1), u.run)
		r.Ready(fmt.Sprintf("user %d having inserted something", u.number+1), func() bool { return u.begun })
		r.Settled(fmt.Sprintf("user %d ending its last statement", u.number+1), func() bool { return u.done })
	}
	r.Count(func() (int, int) { return c.ops, c.succeeded })
	r.Final(c.final)
	for _, o := range c.model.Oracles() {
		r.Judge(o)
	}
}

// How long things may take in the scenario, so that outcomes become known within it.
const (
	statementTimeout = 2500 * time.Millisecond
	flowCallTimeout  = 700 * time.Millisecond
	// murkyTime is after how long nothing of a statement whose outcome is unknown will happen any more.
	murkyTime = 5 * time.Second
	// convergeTime is how long, on a healed system, a flow may take to have all in its sink.
	convergeTime = 30 * time.Second
)
