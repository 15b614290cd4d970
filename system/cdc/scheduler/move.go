package scheduler

import (
	"maps"
	"slices"
	"sync"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// moveManager holds the moves of key spans that were asked for: first a span is removed from where it
// is, then added at the target.
type moveManager struct {
	mu   sync.Mutex
	jobs map[model.KeySpanID]*moveJob
}

type moveJob struct {
	target  model.CaptureID
	removed bool // the removal was dispatched
}

type removeResult int

const (
	removeOK removeResult = iota
	removeUnavailable
	removeGiveUp
)

func newMoveManager() *moveManager { return &moveManager{jobs: map[model.KeySpanID]*moveJob{}} }

// add takes in a move, unless there is one of the key span, and tells whether it did.
func (m *moveManager) add(id model.KeySpanID, target model.CaptureID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs[id] != nil {
		return false
	}
	m.jobs[id] = &moveJob{target: target}
	return true
}

// remove calls fn for each move whose removal was not dispatched. It is done when all were, or were
// given up.
func (m *moveManager) remove(fn func(model.KeySpanID, model.CaptureID) (removeResult, error)) (done bool, err error) {
	for _, id := range m.received() {
		target, ok := m.receivedTarget(id)
		if !ok {
			continue
		}
		// The lock is not held: whom fn calls may ask for a move.
		result, err := fn(id, target)
		if err != nil {
			return false, err
		}
		switch result {
		case removeOK:
			m.markRemoved(id)
		case removeGiveUp:
			m.finish(id)
		case removeUnavailable:
			return false, nil
		}
	}
	return true, nil
}

func (m *moveManager) received() []model.KeySpanID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.jobs))
}

func (m *moveManager) receivedTarget(id model.KeySpanID) (model.CaptureID, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	job := m.jobs[id]
	if job == nil || job.removed {
		return "", false
	}
	return job.target, true
}

func (m *moveManager) markRemoved(id model.KeySpanID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[id].removed = true
}

// target is where a key span is to be added, if a move of it has come that far.
func (m *moveManager) target(id model.KeySpanID) (target model.CaptureID, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if job := m.jobs[id]; job != nil && job.removed {
		return job.target, true
	}
	return "", false
}

// onDropped forgets the moves whose removal was dispatched and whose key span is not wanted any more: should it be
// wanted again, that is nothing the move was asked for.
func (m *moveManager) onDropped(wanted []model.KeySpanID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.jobs, func(id model.KeySpanID, job *moveJob) bool {
		return job.removed && !slices.Contains(wanted, id)
	})
}

// finish forgets the move of a key span.
func (m *moveManager) finish(id model.KeySpanID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, id)
}

// onCapturesLost forgets the moves to captures that were lost, and those whose removal was dispatched
// and whose target is not alive, so that the key span goes elsewhere instead of waiting for it. Others
// are given up when their turn comes.
func (m *moveManager) onCapturesLost(lost []model.CaptureID, alive map[model.CaptureID]*model.CaptureInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.jobs, func(_ model.KeySpanID, job *moveJob) bool {
		_, there := alive[job.target]
		return job.removed && !there || slices.Contains(lost, job.target)
	})
}
