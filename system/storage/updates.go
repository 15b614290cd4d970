package storage

import (
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// handleUpdates applies a batch of commands and writes it, as a whole: what the collection was
// between two commands of a batch is never to be seen. It lasts at least the batch duration,
// which bounds the rate of writes; commands that arrive meanwhile make up the next batch.
func (t *DifferentialWriteTask) handleUpdates(batch []command) error {
	begun := t.h.Clock().Now()
	responders := make([]Responder, len(batch))
	for i, c := range batch {
		t.applyWriteOp(c.op)
		responders[i] = c.respond
	}
	t.desired = Consolidate(t.desired)
	t.toWrite = Consolidate(t.toWrite)
	t.h.Sometimes("storage: several commands were written at once", len(batch) > 1)

	// The write moves the upper: the next tick is due a whole interval from now.
	t.ticker.Reset(t.cfg.UpperTickInterval)
	t.takeTick()

	if err := t.writeToPersist(responders); err != nil {
		return err
	}
	if left := t.cfg.BatchDuration - t.h.Clock().Since(begun); left > 0 {
		return t.pause(min(left, t.cfg.BatchDuration))
	}
	return nil
}

// takeTick takes a tick that came due before the ticker was reset.
func (t *DifferentialWriteTask) takeTick() { host.TrySelect(t.h, t.tick()) }

// applyWriteOp applies a command to desired and toWrite.
func (t *DifferentialWriteTask) applyWriteOp(op WriteOp) {
	switch op := op.(type) {
	case Append:
		t.desired = append(t.desired, op.Updates...)
		t.toWrite = append(t.toWrite, op.Updates...)
	case Delete:
		kept := t.desired[:0]
		for _, r := range t.desired {
			if op.Filter(r.Row) {
				t.toWrite = append(t.toWrite, RowDiff{Row: r.Row, Diff: -r.Diff})
			} else {
				kept = append(kept, r)
			}
		}
		clear(t.desired[len(kept):])
		t.desired = kept
	default:
		panic("storage: unknown WriteOp")
	}
}

// writeToPersist writes toWrite and answers the responders: all of them, on every path. Each
// time it finds another upper it learns what is in the shard and tries again, until its
// retries are used up. Then what is left to write stays so, for the next command or tick.
func (t *DifferentialWriteTask) writeToPersist(responders []Responder) error {
	if t.readOnly {
		answerAll(responders, &ReadOnly{ID: t.id})
		return nil
	}
	retries := retries{cfg: t.cfg.Retry}
	for {
		current, err := t.write()
		if err != nil {
			answerAll(responders, err)
			return err
		}
		if current == nil {
			answerAll(responders, nil)
			return nil
		}
		wait, ok := retries.next(t.h.Clock().Now())
		if !ok {
			t.h.Sometimes("storage: a write gave up because the upper kept changing", true)
			t.h.Logf("storage: collection %s: giving up a write for now, the upper kept changing, it is %v", t.id, *current)
			answerAll(responders, &InvalidUppers{ID: t.id, Current: *current})
			return nil
		}
		if err := t.pause(wait); err != nil {
			answerAll(responders, t.rejection(err))
			return err
		}
		if err := t.syncToPersist(); err != nil {
			answerAll(responders, err)
			return err
		}
		t.h.Sometimes("storage: a write is tried again after somebody else's", true)
	}
}

// retries is the schedule of one write's retries. Waits are counted from one retry to the
// next, so what an attempt takes is part of the wait.
type retries struct {
	cfg   RetryConfig
	used  int
	last  time.Time
	delay time.Duration
}

// next is how long to wait before the next retry; ok is false when there is none.
func (r *retries) next(now time.Time) (wait time.Duration, ok bool) {
	if r.used == r.cfg.Tries {
		return 0, false
	}
	r.used++
	switch r.used {
	case 1:
		r.last = now
		return 0, true
	case 2:
		r.delay = r.cfg.Initial
	default:
		r.delay = min(r.cfg.Max, r.delay*5/4)
	}
	wait = max(0, min(r.delay, r.delay-now.Sub(r.last)))
	r.last = now.Add(wait)
	return wait, true
}

// syncToPersist takes toWrite anew, as the difference between desired and what is in the
// shard, and takes over the shard's upper. Most of the two cancel out.
//
// It panics when the shard's since is past what it has to read, which is impossible while its
// reader holds it back: somebody has given up history that is not written yet.
func (t *DifferentialWriteTask) syncToPersist() error {
	contents, upper, err := t.contents()
	var since *persist.SinceError
	if errors.As(err, &since) {
		panic("storage: collection " + string(t.id) + ": " + err.Error())
	}
	if err != nil {
		return t.failure(err)
	}
	current, ok := upper.Time()
	if !ok {
		return &ShardClosed{ID: t.id}
	}
	toWrite := make([]RowDiff, 0, len(t.desired)+len(contents))
	toWrite = append(toWrite, t.desired...)
	for _, r := range contents {
		toWrite = append(toWrite, RowDiff{Row: r.Row, Diff: -r.Diff})
	}
	t.toWrite = Consolidate(toWrite)
	t.currentUpper = current
	t.h.Sometimes("storage: a sync found nothing to write", len(t.toWrite) == 0)
	return nil
}
