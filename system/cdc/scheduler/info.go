package scheduler

import "github.com/simrun-dev/simrun/system/cdc/model"

// InfoProvider tells what a scheduler believes, for people and tests.
type InfoProvider interface {
	// GetTaskStatuses returns, for each capture with key spans, which it has and what is under way.
	GetTaskStatuses() (map[model.CaptureID]*model.TaskStatus, error)

	// GetTaskPositions returns how far each capture has come, also of those without key spans.
	GetTaskPositions() (map[model.CaptureID]*model.TaskPosition, error)
}

// GetTaskStatuses is part of InfoProvider. The error is nil.
func (s *BaseScheduleDispatcher) GetTaskStatuses() (map[model.CaptureID]*model.TaskStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	statuses := map[model.CaptureID]*model.TaskStatus{}
	for _, r := range s.records.all() {
		status := statuses[r.capture]
		if status == nil {
			status = &model.TaskStatus{
				KeySpans:  map[model.KeySpanID]*model.KeySpanReplicaInfo{},
				Operation: map[model.KeySpanID]*model.KeySpanOperation{},
			}
			statuses[r.capture] = status
		}
		status.KeySpans[r.id] = &model.KeySpanReplicaInfo{}
		if r.status != running {
			status.Operation[r.id] = &model.KeySpanOperation{Delete: r.status == removing, Status: model.OperDispatched}
		}
	}
	return statuses, nil
}

// GetTaskPositions is part of InfoProvider. The error is nil.
func (s *BaseScheduleDispatcher) GetTaskPositions() (map[model.CaptureID]*model.TaskPosition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	positions := make(map[model.CaptureID]*model.TaskPosition, len(s.captureStatus))
	for id, status := range s.captureStatus {
		positions[id] = &model.TaskPosition{CheckPointTs: status.checkpointTs, ResolvedTs: status.resolvedTs}
	}
	return positions, nil
}

var (
	_ ScheduleDispatcher = (*BaseScheduleDispatcher)(nil)
	_ InfoProvider       = (*BaseScheduleDispatcher)(nil)
)
