package scenarios

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
)

// refused is told that the sink of a changefeed's life refuses something.
func (w *cdcWatch) refused(life string) {
	w.catchUp()
	w.refusals[life] = true
}

// fails is told of the description of a changefeed that is in the service now, and judges whether it has failed for
// a reason.
func (w *cdcWatch) fails(feed string, life *feedLife, info model.ChangeFeedInfo) {
	check := w.c.failed
	refused := w.refusals[life.id]
	delete(w.refusals, life.id)
	if life.failure = nil; info.State != model.StateFailed {
		check.Holds(info.Error == nil, "changefeed %s: its state is %q, and it has the error %+v", feed, info.State, info.Error)
		return
	}
	if !check.Holds(info.Error != nil, "changefeed %s has failed, and nothing says why", feed) {
		life.failure = cdc.ErrFeedFailed
		return
	}
	life.failure = &cdc.FailedError{Feed: feed, Cause: *info.Error}
	if errors.Is(life.failure, source.ErrGC) {
		from := max(w.stored[life.id], w.begun[life.id])
		w.safepoint()
		check.Holds(w.kept >= from, "changefeed %s has failed since its history is gone, and that is kept from %d on, its checkpoint is %d: %v",
			feed, w.kept, from, life.failure)
		return
	}
	check.Holds(refused, "changefeed %s has failed, and its sink has refused nothing: %v", feed, life.failure)
}

// keeps tells the model from where on the source keeps history. A changefeed whose owners may not have been heard of
// for as long as the source waits has no right to it, and may have lost it.
func (w *cdcWatch) keeps(kept model.Ts, m models.Moment) {
	for _, feed := range slices.Sorted(maps.Keys(w.lives)) {
		life := w.lives[feed].id
		needed := w.lives[feed].state != model.StateFinished // it holds none, and needs none
		if needed && !w.lost[life] && kept > max(w.stored[life], w.begun[life]) && w.lapsed(life) {
			w.lost[life] = true
			w.host().Sometimes(situationLapsed, true)
			w.model.Ended(life)
		}
	}
	w.model.Safepoint(kept, m)
}

// lapsed tells whether the source may have stopped waiting for a changefeed's owners, by its own clock. Until one was
// heard it waits for as long as it was asked to when the changefeed was created.
func (w *cdcWatch) lapsed(life string) bool {
	since, patience := w.begunAt[life], creationHold
	if at, ok := w.heard[w.holds[life]]; ok {
		since, patience = at, w.c.shape.config.SafepointTTL
	}
	unheard := w.c.r.World.Now() - since
	if w.c.r.clockMayBeWrong(sourceNode) {
		unheard += farthestJump
	}
	return unheard >= patience
}

const (
	// creationHold is less than how long the source waits for the first owner of a changefeed.
	creationHold = 9 * time.Minute
	// farthestJump is more than faults put clocks wrong by.
	farthestJump = time.Minute
)
