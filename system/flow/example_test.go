package flow_test

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// A cluster of a frontend and a flow node, which find each other by name.
func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("frontend", func(h host.Host) {
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		f := frontend.New(h, client, frontend.Config{Nodes: []string{"flows"}})
		if _, err := frontend.Serve(f, frontend.Port); err != nil {
			h.Logf("%v", err)
		}
	})
	node := w.NewNode("flows", func(h host.Host) {
		backend := frontend.NewClient(h, 0, host.JoinAddr("frontend", frontend.Port))
		if _, err := flow.StartNode(h, backend, flow.Config{}, nil); err != nil {
			h.Logf("%v", err)
		}
	})
	w.Go("user", func() {
		defer w.Stop()
		user := frontend.NewClient(w.Host(), 0, host.JoinAddr("frontend", frontend.Port))
		execute := func(text string) frontend.Result {
			results, err := user.Execute(context.Background(), text)
			if err != nil {
				fmt.Println(err)
				return frontend.Result{}
			}
			return results[len(results)-1]
		}
		execute("CREATE TABLE visits (page STRING, ms BIGINT) WITH (append_mode = true)")
		execute("CREATE FLOW load SINK TO pages AS SELECT page, count(*) AS n, avg(ms) AS mean FROM visits GROUP BY page")
		execute("INSERT INTO visits VALUES ('home', 10), ('home', 30), ('search', 70)")
		execute("FLUSH FLOW load")
		fmt.Println(execute("SELECT page, n, mean FROM pages"))

		node.Crash() // and all that the flow knew with it
		node.Restart()
		execute("DELETE FROM visits WHERE page = 'search'; INSERT INTO visits VALUES ('home', 20)")
		w.Sleep(5e9)
		execute("FLUSH FLOW load")
		fmt.Println(execute("SELECT page, n, mean FROM pages"))
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// page   | n | mean
	// home   | 2 | 20.0
	// search | 1 | 70.0
	// page | n | mean
	// home | 3 | 20.0
}
