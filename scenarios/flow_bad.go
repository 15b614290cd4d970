package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
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

// racedCreate asks for a flow while somebody else makes a table of the name of its sink, into which it can't
// write: whoever is first has the name.
func (u *flowUser) racedCreate(draw *sim.Stream) {
	u.bad++
	name := fmt.Sprintf("raced_%d_%d", u.number+1, u.bad)
	sink := "out_" + name
	wait := sim.Exp(0, 5*time.Millisecond).Sample(draw.Uint64())
	made := host.NewChan[error](u.watch.h, "table made", 1)
	u.watch.h.Go("rival of "+name, func() {
		u.watch.h.Clock().Sleep(wait)
		rival := frontend.NewClient(u.watch.h, statementTimeout+500*time.Millisecond, u.addresses(u.number+1)...)
		defer rival.Close()
		_, err := rival.Execute(context.Background(), "CREATE TABLE "+sink+" (unfit BOOLEAN)")
		made.Send(err)
	})
	_, definite, err := u.execute("CREATE FLOW " + name + " SINK TO " + sink + " AS SELECT id, k, v FROM events")
	if rivalErr, _ := made.Recv(); rivalErr == nil {
		u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "flow %s was created, and its sink is another's", name)
	}
	if err != nil && definite {
		ctx, cancel := u.watch.ask()
		defer cancel()
		var missing *catalog.NotFoundError
		if _, err := u.watch.catalog.Flow(ctx, catalog.Public(name)); err == nil || errors.As(err, &missing) {
			u.model.Holds(models.OracleCreateAtomic, err != nil, u.moment(), "flow %s was refused and is in the catalog", name)
		}
		return
	}
	// What can't run must not be in anybody's way at the end.
	if err != nil {
		u.watch.h.Clock().Sleep(murkyTime)
	}
	for {
		if _, _, err := u.execute("DROP FLOW IF EXISTS " + name); err == nil {
			return
		}
		u.watch.h.Clock().Sleep(poll)
	}
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
