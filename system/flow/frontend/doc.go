// Package frontend executes SQL: it keeps the tables and the catalog, and tells the flow nodes what
// changes.
//
//	f := frontend.New(h, client, frontend.Config{Nodes: []string{"flow-1"}})
//	results, err := f.Execute(ctx, "INSERT INTO t VALUES (1, 'a'); SELECT * FROM t")
//
// A table is a persist shard whose updates are its rows. Each statement that changes it is one change of
// the shard, with a sequence number of its own; see package relation. Once a change is written it is
// mirrored, in a request, to every node that has a flow which reads the table, and then acknowledged
// whatever becomes of that: a node that gets the request late, twice or never finds that out by the
// sequence numbers and fetches what it lacks.
//
// A flow exists once the catalog has it. What can be wrong with it is found before; if its node refuses
// it all the same, it is taken out of the catalog again. If the node can't be reached, the outcome is
// unknown to who asked: the node finds the flow in the catalog and runs it then.
//
// A table that is dropped leaves its number in the catalog, until some frontend has given its shard up (sweep.go): that
// takes until nobody holds it any more.
//
// Any number of frontends work side by side. [Serve] makes one reachable, [Client] is the other end: of
// people, who execute SQL, and of flow nodes.
package frontend
