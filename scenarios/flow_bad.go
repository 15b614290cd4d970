package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
	"github.com/simrun-dev/simrun/system/sql"
)

// canonical is the text of a query as the catalog has it.
func canonical(query string) string {
	s, err := sql.ParseStatement(query)
	if err != nil {
		panic(err) // it was made here
	}
	return s.String()
}

// badCreate asks for a flow that can't be, of a frontend or of a node, and looks whether it leaves anything
// behind.
func (u *flowUser) badCreate(draw *sim.Stream) bool {
	u.bad++
	name := fmt.Sprintf("bad_%d_%d", u.number+1, u.bad)
	sink := "out_" + name
	if draw.N(2) == 0 {
		return u.badRequest(name, sink, draw)
	}
	_, definite, err := u.execute([]string{
		"CREATE FLOW " + name + " SINK TO " + sink + " AS SELECT k, nothing FROM events",
		"CREATE FLOW " + name + " SINK TO " + sink + " AS SELECT k FROM nowhere",
		"CREATE FLOW " + name + " SINK TO " + sink + " AS SELECT sum(k) AS s FROM events",
		"CREATE FLOW " + name + " SINK TO state AS SELECT k, v, id FROM events",
		"CREATE OR REPLACE FLOW " + name + " SINK TO " + sink + " AS SELECT e.k FROM events e JOIN state s ON e.k = s.k",
		"CREATE FLOW " + name + " SINK TO events AS SELECT id, k, v, ts FROM events",
	}[draw.N(6)])
	if err != nil && !definite {
		return false
	}
	u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "flow %s was created, and can't be", name)
	return u.leavesNothing(name, sink)
}

// badRequest asks a node, which the frontends would not have asked.
func (u *flowUser) badRequest(name, sink string, draw *sim.Stream) bool {
	node := u.nodes[u.nodeNames[draw.N(uint64(len(u.nodeNames)))]]
	args := flow.CreateFlowArgs{
		ID: catalog.FlowID(1<<40 + u.number<<20 + u.bad), Name: catalog.Public(name), Sink: catalog.Public(sink),
		Sources: []catalog.TableID{u.lonely}, CreateIfNotExists: true, OrReplace: draw.N(2) == 0, ExpireAfter: catalog.NoExpiry,
		SQL: "SELECT id, nothing FROM lonely",
	}
	if draw.N(2) == 0 {
		args.SQL, args.Sink = "SELECT id, k, v FROM lonely", catalog.Public(stateTable)
	}
	client := rpc.NewClient(u.watch.h, host.JoinAddr(node.name, flow.Port), rpc.ClientOptions{CallTimeout: statementTimeout})
	defer client.Close()
	_, err := flow.MethodHandle.Call(context.Background(), client, flow.FlowRequest{Create: &args})
	if err != nil && !flow.IsRefused(err) {
		return false
	}
	u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "%s runs flow %s, which can't be", node.name, name)
	return u.leavesNothing(name, sink)
}

// leavesNothing judges that there is nothing of a flow that was refused; it tells whether that could be
// found out.
func (u *flowUser) leavesNothing(name, sink string) bool {
	ctx, cancel := u.watch.ask()
	defer cancel()
	var missing *catalog.NotFoundError
	_, err := u.watch.catalog.Flow(ctx, catalog.Public(name))
	if err != nil && !errors.As(err, &missing) {
		return false
	}
	u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "flow %s was refused and is in the catalog", name)
	_, err = u.watch.catalog.Table(ctx, catalog.Public(sink))
	if err != nil && !errors.As(err, &missing) {
		return false
	}
	u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "flow %s was refused, and its sink %s was made", name, sink)
	return true
}
