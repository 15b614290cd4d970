package coord_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("coord", func(h host.Host) {
		if _, _, err := coord.Serve(h, "coord", coord.StoreConfig{}); err != nil {
			h.Logf("cannot serve: %v", err)
		}
	})
	w.Go("main", func() {
		defer w.Stop()
		w.Sleep(time.Millisecond)
		ctx, h := context.Background(), w.Host()
		client := coord.Dial(h, "coord:coord")

		// Put a key unless it is there.
		put := coord.Txn{If: []coord.Compare{coord.Absent("fruit")}, Then: []coord.Op{coord.Put("fruit", "apple")}}
		for range 2 {
			r, err := client.Txn(ctx, put)
			fmt.Println("put:", r.Succeeded, r.Revision, err)
		}

		// Lead, and write only as long as that is so.
		session, err := coord.NewSession(ctx, h, client, coord.SessionConfig{TTL: 2 * time.Second})
		if err != nil {
			fmt.Println(err)
			return
		}
		election := coord.NewElection(session, "owner/")
		fmt.Println("lead:", election.Campaign(ctx, "me"), election.Revision())
		guarded := coord.Txn{If: []coord.Compare{election.Held()}, Then: []coord.Op{coord.Put("fruit", "pear")}}
		r, err := client.Txn(ctx, guarded)
		fmt.Println("write:", r.Succeeded, err)
		session.Abandon()
		w.Sleep(3 * time.Second)
		r, err = client.Txn(ctx, guarded)
		fmt.Println("write:", r.Succeeded, err)

		// What happened.
		watcher := client.Watch(coord.One("fruit"), 1)
		events, err := watcher.Next(ctx)
		for _, e := range events {
			fmt.Println(e, err)
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// put: true 2 <nil>
	// put: false 2 <nil>
	// lead: <nil> 3
	// write: true <nil>
	// write: false <nil>
	// 2: put "fruit" = "apple" <nil>
	// 4: put "fruit" = "pear" <nil>
}
