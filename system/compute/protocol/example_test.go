package protocol_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// A replica that connects again is not told of what is over.
func ExampleHistory() {
	var h protocol.History
	for _, cmd := range []protocol.Command{
		flow(1, 5), protocol.Schedule{ID: 1},
		protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1}, Timestamp: 8},
		protocol.CancelPeek{ID: "p"},
		protocol.AllowCompaction{ID: 1, Frontier: persist.At(8)},
	} {
		h.Push(cmd)
	}
	h.Reduce()
	for _, cmd := range h.Commands() {
		switch cmd := cmd.(type) {
		case protocol.CreateDataflow:
			fmt.Println("create", cmd.Dataflow.ID, "as of", cmd.Dataflow.AsOf)
		case protocol.Schedule:
			fmt.Println("schedule", cmd.ID)
		}
	}
	// Output:
	// create c1 as of [8]
	// schedule c1
}
