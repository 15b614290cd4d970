package cdc

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// rest is why a processor that failed is not made anew at once.
type rest struct {
	until time.Time
	// times is how often in a row it has failed without the changefeed's checkpoint, of the last failure, having
	// got any further.
	times      int
	checkpoint model.Ts
	// told is when the changefeed's info was put, if making the processor anew does not mend the failure: then
	// that is the owner's to look at, and the processor rests until somebody puts the info again.
	told coord.Revision
}

// over tells whether it is time for a processor of a changefeed.
func (r rest) over(f *feedEntry, now time.Time) bool {
	return f.infoRev != r.told && !now.Before(r.until)
}

// mostDoublings bounds how long a processor that fails again and again rests: 32 times as long as at first.
const mostDoublings = 5

// again is the rest after one more failure: each twice as long as the one before, until the checkpoint moves. A
// failure that may pass never fails the changefeed, however often it comes: nobody but time mends it, and what a
// failed changefeed needs on top is an operator, and history that is held until one comes. It shows as a checkpoint
// that stands still.
func (r rest) again(checkpoint model.Ts, now time.Time, delay time.Duration) rest {
	times := 0
	if r.times > 0 && checkpoint == r.checkpoint {
		times = min(r.times, mostDoublings)
	}
	return rest{until: now.Add(delay << times), times: times + 1, checkpoint: checkpoint}
}

// process is the task that ticks the processors.
func (l *life) process() {
	resting := map[model.ChangeFeedID]rest{}
	defer func() {
		for _, id := range slices.Sorted(maps.Keys(l.processors)) {
			l.closeProcessor(id)
		}
	}()
	listed := false
	for turn := 0; l.ctx.Err() == nil; turn++ {
		if v := l.view.get(); v != nil {
			_, here := v.captures[l.id]
			listed = listed || here
			for _, id := range slices.Sorted(maps.Keys(v.captures)) {
				l.node.Add(id, v.captures[id].info.AdvertiseAddr)
			}
			// Before the capture is listed nobody gives it anything to do.
			if listed {
				l.tickProcessors(v, turn, resting)
			}
		}
		_ = host.Sleep(l.ctx, l.h, l.cfg.ProcessorInterval)
	}
}

// tickProcessors closes the processors that are not wanted, or are another incarnation's, and makes and ticks
// the others. Each turn begins with another changefeed: all share the queue to the owner, which may not have
// room for what each has to say.
func (l *life) tickProcessors(v *picture, turn int, resting map[model.ChangeFeedID]rest) {
	for _, id := range slices.Sorted(maps.Keys(l.processors)) {
		f := v.feeds[id]
		again := f != nil && f.incarnation != l.processors[id].incarnation
		l.h.Sometimes("cdc: a processor is of an incarnation that is gone", again)
		if f == nil || again || !f.runs() {
			l.closeProcessor(id)
		}
	}
	maps.DeleteFunc(resting, func(id model.ChangeFeedID, _ rest) bool { return v.feeds[id] == nil })
	ids := slices.Sorted(maps.Keys(v.feeds))
	for i := range ids {
		id := ids[(turn+i)%len(ids)]
		if f := v.feeds[id]; f.runs() && l.ctx.Err() == nil && resting[id].over(f, l.h.Clock().Now()) {
			if err := l.tickProcessor(v, id, f); err != nil {
				resting[id] = l.failed(id, f, err, resting[id])
			}
		}
	}
}

// tickProcessor ticks a changefeed's processor, which it makes if there is none, and the one before it has ended.
func (l *life) tickProcessor(v *picture, id model.ChangeFeedID, f *feedEntry) error {
	p := l.processors[id]
	if p == nil {
		if l.ends(id) {
			l.h.Sometimes("cdc: a changefeed waits for its last processor to end", true)
			return nil
		}
		p = newProcessor(l.ctx, l, id, f)
		l.mu.Lock()
		l.processors[id] = p
		l.mu.Unlock()
	}
	return p.tick(v, f)
}

// failed ends a processor that failed, and what there is of it. If making it anew would not help it tells the
// owner. Last is the rest after the failure before.
func (l *life) failed(id model.ChangeFeedID, f *feedEntry, err error, last rest) rest {
	l.h.Logf("cdc: the processor of changefeed %s failed: %v", id, err)
	position, infoRev := model.TaskPosition{CheckPointTs: f.status.CheckpointTs, ResolvedTs: f.status.ResolvedTs}, f.infoRev
	if p := l.processors[id]; p != nil {
		infoRev = p.infoRev
		if checkpoint, resolved := p.progress(); checkpoint < math.MaxUint64 {
			position.CheckPointTs, position.ResolvedTs = checkpoint, resolved
		}
		l.closeProcessor(id)
	}
	r := last.again(f.status.CheckpointTs, l.h.Clock().Now(), l.cfg.RestartDelay)
	l.h.Sometimes("cdc: a processor fails again before the checkpoint has moved", r.times > 1)
	if position.Error, _ = lastingError(err, l.addr()); position.Error != nil {
		l.h.Sometimes("cdc: a capture can't go on with a changefeed", true)
		r.told = infoRev
		p := failedPosition{Feed: id, InfoRevision: infoRev, Position: position}
		l.tasks.Go(l.h, "cdc tell a failure", func() { l.tellFailure(p) })
		return r
	}
	l.h.Sometimes("cdc: a processor failed and is made anew", true)
	return r
}

// closeProcessor ends a processor. From here on its agent hears nothing. A task of its own waits for it: pipelines
// that are slow to end hold up no other changefeed, only the next processor of their own.
func (l *life) closeProcessor(id model.ChangeFeedID) {
	l.mu.Lock()
	p := l.processors[id]
	delete(l.processors, id)
	l.ending[id] = true
	l.mu.Unlock()
	l.tasks.Go(l.h, "cdc end a processor", func() {
		p.close()
		l.mu.Lock()
		delete(l.ending, id)
		l.mu.Unlock()
	})
}

// ends tells whether a changefeed's last processor has still to end.
func (l *life) ends(id model.ChangeFeedID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending[id]
}
