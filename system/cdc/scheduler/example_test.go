package scheduler_test

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
)

// printer is a communicator whose messages are always on their way.
type printer struct{}

func (printer) DispatchKeySpan(_ context.Context, _ model.ChangeFeedID, id model.KeySpanID, capture model.CaptureID, isDelete bool) (bool, error) {
	fmt.Println("to", capture, "key span", id, "delete:", isDelete)
	return true, nil
}

func (printer) Announce(_ context.Context, _ model.ChangeFeedID, capture model.CaptureID) (bool, error) {
	fmt.Println("to", capture, "what do you have?")
	return true, nil
}

func Example() {
	ctx := context.Background()
	captures := map[model.CaptureID]*model.CaptureInfo{"a": {ID: "a"}, "b": {ID: "b"}}
	wanted := []model.KeySpanID{1, 2}
	d := scheduler.NewBaseScheduleDispatcher("feed", printer{}, 10)
	tick := func() {
		checkpoint, resolved, err := d.Tick(ctx, 10, wanted, captures)
		fmt.Println("tick:", checkpoint, resolved, err)
	}
	tick()
	d.OnAgentSyncTaskStatuses("a", nil, nil, nil)
	d.OnAgentSyncTaskStatuses("b", []model.KeySpanID{2}, nil, nil) // from before this owner's time
	tick()
	d.OnAgentFinishedKeySpanOperation("a", 1)
	d.OnAgentCheckpoint("a", 15, 18)
	d.OnAgentCheckpoint("b", 12, 20)
	tick()
	// Output:
	// to a what do you have?
	// to b what do you have?
	// tick: 0 0 <nil>
	// to a key span 1 delete: false
	// tick: 0 0 <nil>
	// tick: 12 18 <nil>
}

// silent is a communicator that does nothing.
type silent struct{}

func (silent) DispatchKeySpan(context.Context, model.ChangeFeedID, model.KeySpanID, model.CaptureID, bool) (bool, error) {
	return true, nil
}

func (silent) Announce(context.Context, model.ChangeFeedID, model.CaptureID) (bool, error) {
	return true, nil
}
