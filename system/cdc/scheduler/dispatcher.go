package scheduler

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// CheckpointCannotProceed is what Tick returns instead of a checkpoint when the global checkpoint must
// stay where it is for now.
const CheckpointCannotProceed = model.Ts(0)

// ScheduleDispatcher schedules the key spans of one changefeed.
type ScheduleDispatcher interface {
	// Tick is called periodically, never concurrently with itself, with the changefeed's stored
	// checkpoint, the key spans to replicate, without repetitions, and the captures that are alive. It
	// returns the checkpoint and resolved ts that may be stored next, or CheckpointCannotProceed twice.
	// The error is the communicator's.
	Tick(
		ctx context.Context,
		checkpointTs model.Ts,
		currentKeySpans []model.KeySpanID,
		captures map[model.CaptureID]*model.CaptureInfo,
	) (newCheckpointTs, newResolvedTs model.Ts, err error)

	// MoveKeySpan asks that a key span be moved to the target. It may be called from any goroutine.
	MoveKeySpan(keyspanID model.KeySpanID, target model.CaptureID)

	// Rebalance asks that captures with too many key spans give some away. It may be called from any
	// goroutine.
	Rebalance()
}

// ScheduleDispatcherCommunicator sends the dispatcher's messages to captures. Its methods must not
// wait, nor call the dispatcher. Done tells that the message is on its way; without it, and without
// an error, the dispatcher tries again at a later tick.
type ScheduleDispatcherCommunicator interface {
	// DispatchKeySpan tells the capture to add, or else remove, a key span.
	DispatchKeySpan(ctx context.Context,
		changeFeedID model.ChangeFeedID,
		keyspanID model.KeySpanID,
		captureID model.CaptureID,
		isDelete bool,
	) (done bool, err error)

	// Announce tells the capture that this process is now the owner, and asks for its state.
	Announce(ctx context.Context,
		changeFeedID model.ChangeFeedID,
		captureID model.CaptureID) (done bool, err error)
}

// BaseScheduleDispatcher is a ScheduleDispatcher. Its owner provides a communicator, and calls the On
// methods with what captures say.
type BaseScheduleDispatcher struct {
	changeFeedID model.ChangeFeedID
	communicator ScheduleDispatcherCommunicator
	moves        *moveManager
	rebalance    rebalanceRequests

	// mu is held while the communicator is called, which must neither wait nor call back. So nobody ever waits
	// for it long, and it need not be one of the host's.
	mu            sync.Mutex
	records       records
	captures      map[model.CaptureID]*model.CaptureInfo // of the last tick
	captureStatus map[model.CaptureID]*captureStatus
	checkpointTs  model.Ts // given to the last tick
	captureCount  int      // of the last tick, unknownCount before the first
}

const unknownCount = -1

// captureStatus is what is known of a capture.
type captureStatus struct {
	sync         syncStatus
	checkpointTs model.Ts
	resolvedTs   model.Ts
}

// syncStatus is how far a capture has come in telling what it replicates.
type syncStatus int

const (
	syncUninitialized syncStatus = iota // it was not asked yet
	syncSent                            // it was
	syncFinished                        // it has told
)

// NewBaseScheduleDispatcher returns a dispatcher that knows nothing but the changefeed's checkpoint.
func NewBaseScheduleDispatcher(
	changeFeedID model.ChangeFeedID,
	communicator ScheduleDispatcherCommunicator,
	checkpointTs model.Ts,
) *BaseScheduleDispatcher {
	return &BaseScheduleDispatcher{
		changeFeedID:  changeFeedID,
		communicator:  communicator,
		moves:         newMoveManager(),
		records:       newRecords(),
		captureStatus: map[model.CaptureID]*captureStatus{},
		checkpointTs:  checkpointTs,
		captureCount:  unknownCount,
	}
}

// Tick is part of ScheduleDispatcher. It panics when checkpointTs is below that of the last tick.
func (s *BaseScheduleDispatcher) Tick(
	ctx context.Context,
	checkpointTs model.Ts,
	currentKeySpans []model.KeySpanID,
	captures map[model.CaptureID]*model.CaptureInfo,
) (newCheckpointTs, resolvedTs model.Ts, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe(checkpointTs, captures)
	for _, step := range []func(context.Context, []model.KeySpanID) (done bool, err error){
		s.syncCaptures, s.dropLostCaptures, s.addMissing, s.removeSurplus, s.allNormal,
		s.moveKeySpans, s.allNormal, s.rebalanceKeySpans, s.allNormal,
	} {
		if done, err := step(ctx, currentKeySpans); !done || err != nil {
			return CheckpointCannotProceed, CheckpointCannotProceed, err
		}
	}
	newCheckpointTs, resolvedTs = s.watermarks()
	return newCheckpointTs, resolvedTs, nil
}

// observe takes in what is new with a tick, however far the tick gets.
func (s *BaseScheduleDispatcher) observe(checkpointTs model.Ts, captures map[model.CaptureID]*model.CaptureInfo) {
	s.captures = maps.Clone(captures)
	if s.captureCount != unknownCount && s.captureCount != len(captures) {
		s.rebalance.request()
	}
	s.captureCount = len(captures)
	if checkpointTs < s.checkpointTs {
		panic(fmt.Sprintf("scheduler: checkpointTs regressed from %d to %d: the changefeed's status was written by somebody else, or its owner computed too small a checkpoint", s.checkpointTs, checkpointTs))
	}
	s.checkpointTs = checkpointTs
}

// syncCaptures asks each capture that is new what it replicates, and is done when all have told.
func (s *BaseScheduleDispatcher) syncCaptures(ctx context.Context, _ []model.KeySpanID) (done bool, err error) {
	for id := range s.captureStatus {
		if _, alive := s.captures[id]; !alive {
			delete(s.captureStatus, id)
		}
	}
	for id := range s.captures {
		if _, known := s.captureStatus[id]; !known {
			s.captureStatus[id] = &captureStatus{checkpointTs: s.checkpointTs, resolvedTs: s.checkpointTs}
		}
	}
	done = true
	for _, id := range slices.Sorted(maps.Keys(s.captureStatus)) {
		status := s.captureStatus[id]
		if status.sync == syncUninitialized {
			sent, err := s.communicator.Announce(ctx, s.changeFeedID, id)
			if err != nil {
				return false, err
			}
			if sent {
				status.sync = syncSent
			}
		}
		done = done && status.sync == syncFinished
	}
	return done, nil
}

// dropLostCaptures frees the key spans of captures that are gone, and forgets moves to them.
func (s *BaseScheduleDispatcher) dropLostCaptures(context.Context, []model.KeySpanID) (done bool, err error) {
	var lost []model.CaptureID
	for _, id := range s.records.captures() {
		if _, alive := s.captures[id]; !alive {
			s.records.removeOf(id)
			lost = append(lost, id)
		}
	}
	s.moves.onCapturesLost(lost, s.captures)
	return true, nil
}

// addMissing dispatches the adding of the wanted key spans that are not recorded.
func (s *BaseScheduleDispatcher) addMissing(ctx context.Context, wanted []model.KeySpanID) (done bool, err error) {
	s.moves.onDropped(wanted)
	missing := slices.DeleteFunc(slices.Clone(wanted), func(id model.KeySpanID) bool {
		_, recorded := s.records.get(id)
		return recorded
	})
	slices.Sort(missing)
	for _, id := range slices.Compact(missing) {
		target, manual := s.moves.target(id)
		if !manual {
			var some bool
			if target, some = findTarget(&s.records, s.captures); !some {
				continue
			}
		}
		done, err := s.communicator.DispatchKeySpan(ctx, s.changeFeedID, id, target, false)
		if !done || err != nil {
			return false, err
		}
		if manual {
			s.moves.finish(id)
		}
		s.records.add(record{id: id, capture: target, status: adding})
	}
	return true, nil
}

// removeSurplus dispatches the removal of the running key spans that are not wanted.
func (s *BaseScheduleDispatcher) removeSurplus(ctx context.Context, wanted []model.KeySpanID) (done bool, err error) {
	keep := make(map[model.KeySpanID]bool, len(wanted))
	for _, id := range wanted {
		keep[id] = true
	}
	for _, r := range s.records.all() {
		if keep[r.id] || r.status != running {
			continue
		}
		if done, err := s.remove(ctx, r); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// remove dispatches the removal of a running key span.
func (s *BaseScheduleDispatcher) remove(ctx context.Context, r record) (done bool, err error) {
	if r.status != running {
		panic(fmt.Sprintf("scheduler: key span %d on capture %s is not running and can't be removed", r.id, r.capture))
	}
	done, err = s.communicator.DispatchKeySpan(ctx, s.changeFeedID, r.id, r.capture, true)
	if done && err == nil {
		s.records.setStatus(r.id, removing)
	}
	return done, err
}

// allNormal is done when all wanted key spans run, and nothing else is under way.
func (s *BaseScheduleDispatcher) allNormal(_ context.Context, wanted []model.KeySpanID) (done bool, err error) {
	return s.records.count(running) == len(wanted) && s.records.count(adding) == 0 && s.records.count(removing) == 0, nil
}

// moveKeySpans dispatches the removals with which requested moves begin.
func (s *BaseScheduleDispatcher) moveKeySpans(ctx context.Context, _ []model.KeySpanID) (done bool, err error) {
	return s.moves.remove(func(id model.KeySpanID, target model.CaptureID) (removeResult, error) {
		r, recorded := s.records.get(id)
		if !recorded {
			return removeGiveUp, nil
		}
		if _, alive := s.captures[target]; !alive {
			return removeGiveUp, nil
		}
		switch done, err := s.remove(ctx, r); {
		case err != nil:
			return removeUnavailable, err
		case !done:
			return removeUnavailable, nil
		}
		return removeOK, nil
	})
}

// rebalanceKeySpans dispatches the removal of what captures have too much of, if that was asked for.
func (s *BaseScheduleDispatcher) rebalanceKeySpans(ctx context.Context, _ []model.KeySpanID) (done bool, err error) {
	request, pending := s.rebalance.pending()
	if !pending {
		return true, nil
	}
	for _, id := range findVictims(&s.records, s.captures) {
		r, _ := s.records.get(id)
		if done, err := s.remove(ctx, r); !done || err != nil {
			return false, err
		}
	}
	s.rebalance.finish(request)
	return true, nil
}

// watermarks are the least checkpoint and resolved ts of the captures that have key spans, the largest
// Ts when none has.
func (s *BaseScheduleDispatcher) watermarks() (checkpointTs, resolvedTs model.Ts) {
	checkpointTs, resolvedTs = math.MaxUint64, math.MaxUint64
	for id, status := range s.captureStatus {
		if s.records.countOf(id) > 0 {
			checkpointTs = min(checkpointTs, status.checkpointTs)
			resolvedTs = min(resolvedTs, status.resolvedTs)
		}
	}
	return checkpointTs, resolvedTs
}

// MoveKeySpan is part of ScheduleDispatcher. While a move of the key span is under way others are
// ignored; a move of an unknown key span or to an unknown capture is given up.
func (s *BaseScheduleDispatcher) MoveKeySpan(keyspanID model.KeySpanID, target model.CaptureID) {
	s.moves.add(keyspanID, target)
}

// Rebalance is part of ScheduleDispatcher.
func (s *BaseScheduleDispatcher) Rebalance() { s.rebalance.request() }
