package compute_test

import (
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
)

func ExampleController() {
	t := &testing.T{}
	withWorkers(t, 1, 1, 1, func(c *cluster) {
		orders := c.table(t, "orders")
		orders.write(10, [2]int64{1, 5}, [2]int64{2, 7}, [2]int64{1, 1})

		controller, err := compute.NewController(c.w.Host(), compute.Config{Incarnation: 1, Build: build, Persist: c.client(c.w.Host())})
		if err != nil {
			panic(err)
		}
		if err := controller.AddReplica("r1", compute.ReplicaConfig{Address: "r1:compute"}); err != nil {
			panic(err)
		}
		asOf, err := controller.CreateDataflow(background, compute.Description{
			ID: 1, Plan: sums, Shards: imports("t", "orders"), Sink: protocol.Sink{Kind: protocol.Index, Key: []int{0}},
		})
		if err != nil {
			panic(err)
		}
		controller.InitializationComplete()
		peek, err := controller.Peek(compute.PeekRequest{Target: 1, Timestamp: asOf})
		if err != nil {
			panic(err)
		}
		rows, err := peek.Wait(background)
		fmt.Println(rows, err)
	})
	// Output:
	// [(1, 6):+1 (2, 7):+1] <nil>
}
