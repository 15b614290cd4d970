package cdc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
)

// Each changefeed holds history upstream under a name of its own, which no other incarnation has. So a call that
// comes late, of a deposed owner or of this one, can't pass anybody else's start; and of the changefeed itself
// only a checkpoint that was stored, which keeps more than need be.

// HoldOf is the name under which the owners of a changefeed hold history upstream.
func HoldOf(id model.ChangeFeedID, incarnation coord.Revision) string {
	return fmt.Sprintf("cdc/%d/%s", incarnation, id)
}

// creatingHold begins the names under which history is held until an owner has taken up a new changefeed. A
// number drawn at random follows.
const creatingHold = "cdc/creating/"

// hold is a hold on history as the upstream store has confirmed it. That it is still there does not follow: the
// store measures its time by a clock of its own.
type hold struct {
	ts model.Ts
	at time.Time // when it was asked for; the zero time while there is none
}

// covers tells whether history was held from a ts on, and not from an earlier one.
func (h hold) covers(ts model.Ts) bool { return !h.at.IsZero() && h.ts == ts }

// needed is the ts from which on history is needed to go on from a checkpoint: one less, so that whoever starts
// there finds what was there at it, too.
func needed(checkpoint model.Ts) model.Ts { return max(checkpoint, 1) - 1 }

// hold tells the upstream store to keep the history that the changefeed may have to read again: from its
// checkpoint on, as it is stored. That of one that has failed is held until nobody was heard for the SafepointTTL;
// what has come to its target needs none. Whether it succeeds does not matter for long: what is not held shows when
// the key spans are read.
func (f *feed) hold(ctx context.Context, entry *feedEntry) {
	finished := entry.info.State == model.StateFinished
	if finished && !f.finished {
		f.o.loose[HoldOf(f.id, f.incarnation)] = true
	}
	f.finished = finished
	if finished || entry.info.State == model.StateFailed {
		f.held = hold{}
		return
	}
	asked := needed(entry.checkpoint())
	now, ttl := f.o.h.Clock().Now(), f.o.cfg.SafepointTTL
	if f.held.covers(asked) && !now.Before(f.held.at) && now.Sub(f.held.at) < ttl/4 {
		return
	}
	kept, err := f.o.cfg.Upstream.Safepoint(ctx, HoldOf(f.id, f.incarnation), asked, ttl)
	if err != nil {
		return
	}
	f.o.cfg.Observer.Observe(SafepointMoved{
		Feed: f.id, Incarnation: f.incarnation, Epoch: f.o.epoch, Asked: asked, Kept: kept,
	})
	if kept > asked {
		f.held = hold{} // it came too late
		return
	}
	f.held = hold{ts: asked, at: now}
	if entry.info.Hold != "" && !f.released {
		// What the creator held is held now. If letting go of it fails for good it ends by itself.
		f.released = true
		f.o.loose[entry.info.Hold] = true
	}
}

// release lets go of what is not needed any more, as far as that can be done now.
func (o *owner) release(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(o.loose)) {
		if o.cfg.Upstream.Release(ctx, name) != nil {
			return
		}
		delete(o.loose, name)
	}
}
