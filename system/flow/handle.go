package flow

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// Handle carries out a request. A request for nothing is [ErrUnexpected]; the errors of the others are
// those of [Manager.CreateFlow], [Manager.RemoveFlow] and [Manager.FlushFlow].
func (m *Manager) Handle(ctx context.Context, r FlowRequest) (FlowResponse, error) {
	switch {
	case r.Create != nil:
		id, err := m.CreateFlow(ctx, *r.Create)
		if err != nil {
			return FlowResponse{}, fmt.Errorf("create flow %s: %w", r.Create.Name, err)
		}
		if id == nil {
			return FlowResponse{}, nil
		}
		return FlowResponse{Affected: []catalog.FlowID{*id}}, nil
	case r.Drop != nil:
		return FlowResponse{}, m.RemoveFlow(ctx, *r.Drop)
	case r.Flush != nil:
		rows, err := m.FlushFlow(ctx, *r.Flush)
		if err != nil {
			return FlowResponse{}, err
		}
		return FlowResponse{Affected: []catalog.FlowID{r.Flush.ID}, Rows: rows}, nil
	}
	return FlowResponse{}, fmt.Errorf("%w: neither to create nor to drop nor to flush", ErrUnexpected)
}
