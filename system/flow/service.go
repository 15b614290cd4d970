package flow

import (
	"context"

	"github.com/simrun-dev/simrun/system/rpc"
)

// The methods of a flow node.
const (
	MethodHandle  rpc.Method[FlowRequest, FlowResponse]    = "flow/handle"
	MethodInserts rpc.Method[InsertRequests, FlowResponse] = "flow/inserts"
	MethodReport  rpc.Method[struct{}, FlowStat]           = "flow/report"
)

// HandleService adds the methods of a flow node to a service, answered by a manager.
func HandleService(s *rpc.Service, m *Manager) {
	MethodHandle.Handle(s, m.Handle)
	MethodInserts.Handle(s, m.HandleInserts)
	MethodReport.Handle(s, func(ctx context.Context, _ struct{}) (FlowStat, error) { return m.GenStateReport(ctx) })
}
