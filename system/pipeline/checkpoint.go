package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// Checkpoint is the global checkpoint as it is published: stored in the coordination service by an owner that
// held the election when it did. What an owner believes and has not stored, is not. It fails with
// ErrNoCheckpoint, or as coord does.
func Checkpoint(ctx context.Context, c coord.Client, feed model.ChangeFeedID) (model.Ts, error) {
	kv, ok, err := coord.ReadKey(ctx, c, cdc.StatusKey(feed))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, ErrNoCheckpoint
	}
	var status model.ChangeFeedStatus
	if err := json.Unmarshal([]byte(kv.Value), &status); err != nil {
		return 0, fmt.Errorf("pipeline: the status of changefeed %s: %w", feed, err)
	}
	return status.CheckpointTs, nil
}
