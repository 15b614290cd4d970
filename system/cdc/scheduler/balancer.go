package scheduler

import (
	"maps"
	"slices"
	"sync"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// findTarget returns the capture with the fewest key spans, of several the first by id; ok is false
// when there is no capture.
func findTarget(r *records, captures map[model.CaptureID]*model.CaptureInfo) (target model.CaptureID, ok bool) {
	for _, id := range slices.Sorted(maps.Keys(captures)) {
		if !ok || r.countOf(id) < r.countOf(target) {
			target, ok = id, true
		}
	}
	return target, ok
}

// findVictims returns what captures have beyond their share, the number of key spans by that of
// captures, rounded up: of each the lowest ids, in the order of captures.
func findVictims(r *records, captures map[model.CaptureID]*model.CaptureInfo) (victims []model.KeySpanID) {
	if len(captures) == 0 {
		return nil
	}
	share := (len(r.byID) + len(captures) - 1) / len(captures)
	for _, capture := range r.captures() {
		if surplus := r.countOf(capture) - share; surplus > 0 {
			victims = append(victims, r.of(capture)[:surplus]...)
		}
	}
	return victims
}

// rebalanceRequests counts the requests to rebalance, so that none is lost that comes while one is
// being met.
type rebalanceRequests struct {
	mu       sync.Mutex
	asked    uint64
	finished uint64
}

func (r *rebalanceRequests) request() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
}

func (r *rebalanceRequests) pending() (request uint64, pending bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, r.asked != r.finished
}

func (r *rebalanceRequests) finish(request uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = request
}
