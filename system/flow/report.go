package flow

import (
	"context"
	"errors"
	"maps"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// GenStateReport asks the workers what their flows hold. A worker that does not answer is left out, and
// the error tells of it.
func (m *Manager) GenStateReport(ctx context.Context) (FlowStat, error) {
	all := FlowStat{StateBytes: map[catalog.FlowID]int{}, LastRunTick: map[catalog.FlowID]int64{}}
	var errs []error
	for _, w := range m.workers {
		s, err := w.QueryStateSize(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		maps.Copy(all.StateBytes, s.StateBytes)
		maps.Copy(all.LastRunTick, s.LastRunTick)
	}
	return all, errors.Join(errs...)
}

// startStateReportHandler starts a task, one of those that tasks waits for, that answers requests for state
// reports until their channel or shutdown is closed.
func (m *Manager) startStateReportHandler(tasks *host.WaitGroup, shutdown *host.Chan[struct{}]) {
	requests := m.reports
	if requests == nil {
		return
	}
	m.reports = nil
	tasks.Go(m.h, "state reports", func() {
		for {
			var r StateRequest
			var ok bool
			if host.SelectFirst(m.h, closed(shutdown), requests.OnRecv(&r, &ok)) == 0 || !ok {
				return
			}
			s, err := m.GenStateReport(context.Background())
			if err != nil {
				m.h.Logf("flow: state report: %v", err)
			}
			if !r.Answer.Offer(s) {
				m.h.Logf("flow: nobody waits for a state report any more")
			}
		}
	})
}
