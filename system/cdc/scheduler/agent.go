package scheduler

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// OnAgentFinishedKeySpanOperation is called when a capture has added or removed a key span, as
// dispatched. It is ignored from a capture that is gone, and of a key span that is not recorded. It
// panics when the key span is another capture's, or when nothing is under way with it.
func (s *BaseScheduleDispatcher) OnAgentFinishedKeySpanOperation(captureID model.CaptureID, keyspanID model.KeySpanID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, alive := s.captures[captureID]; !alive {
		return
	}
	r, recorded := s.records.get(keyspanID)
	if !recorded {
		return
	}
	if r.capture != captureID {
		panic(fmt.Sprintf("scheduler: capture %s finished an operation on key span %d, which is on capture %s", captureID, keyspanID, r.capture))
	}
	switch r.status {
	case adding:
		s.records.setStatus(keyspanID, running)
	case removing:
		s.records.remove(keyspanID)
	default:
		panic(fmt.Sprintf("scheduler: capture %s finished an operation on key span %d, which had none", captureID, keyspanID))
	}
}

// OnAgentSyncTaskStatuses is called when a capture has told all that it replicates, which replaces
// what was recorded of it. From a capture that is not tracked it is otherwise ignored. It panics when
// a key span is in it twice, or is recorded for another capture.
func (s *BaseScheduleDispatcher) OnAgentSyncTaskStatuses(captureID model.CaptureID, runningIDs, addingIDs, removingIDs []model.KeySpanID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records.removeOf(captureID)
	status, tracked := s.captureStatus[captureID]
	if !tracked {
		return
	}
	for _, list := range []struct {
		ids    []model.KeySpanID
		status recordStatus
	}{{addingIDs, adding}, {runningIDs, running}, {removingIDs, removing}} {
		for _, id := range list.ids {
			s.records.add(record{id: id, capture: captureID, status: list.status})
		}
	}
	status.sync = syncFinished
}

// OnAgentCheckpoint is called when a capture tells how far it has come. It is ignored unless the
// capture has told what it replicates. The values may be lower than before: a capture is as far as the
// last of its key spans, and gets new ones.
func (s *BaseScheduleDispatcher) OnAgentCheckpoint(captureID model.CaptureID, checkpointTs model.Ts, resolvedTs model.Ts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, tracked := s.captureStatus[captureID]
	if !tracked || status.sync != syncFinished {
		return
	}
	status.checkpointTs, status.resolvedTs = checkpointTs, resolvedTs
}
