package storage

import "github.com/simrun-dev/simrun/system/persist"

// tickUpper moves the upper to now, so that the collection stays readable at recent times. What
// is left to write goes along with it: it is what the last tick found to differ, or what a
// command could not get written.
//
// It tries once. When it finds another upper it learns what is in the shard, and leaves the
// rest to the next tick: the upper has just been moved by somebody else.
func (t *DifferentialWriteTask) tickUpper() error {
	if t.readOnly {
		return nil
	}
	if len(t.toWrite) == 0 && t.now() <= t.currentUpper {
		return nil
	}
	t.h.Sometimes("storage: a tick writes what differs", len(t.toWrite) > 0)
	current, err := t.write()
	if err != nil || current == nil {
		return err
	}
	t.h.Sometimes("storage: a tick found that somebody else wrote", true)
	return t.syncToPersist()
}

// write makes one attempt to write toWrite. Current is the shard's upper if it was not what
// was expected, and nil if the write succeeded.
//
// The updates get the old upper as their time, the earliest that is not written yet. The new
// upper is now, but where the clock is behind the old upper, the next time after it.
func (t *DifferentialWriteTask) write() (current *persist.Frontier, err error) {
	newUpper := max(t.now(), t.currentUpper+1)
	err = t.writer.CompareAndAppend(t.life, stamp(t.toWrite, t.currentUpper), persist.At(t.currentUpper), persist.At(newUpper))
	switch mismatch, outcome := classify(err); outcome {
	case written:
		t.currentUpper = newUpper
		t.toWrite = nil
		return nil, nil
	case mismatched:
		if mismatch.Current.IsEmpty() {
			return nil, &ShardClosed{ID: t.id}
		}
		return &mismatch.Current, nil
	case ambiguous:
		// It was written or not; reading the shard tells, and takes the place of the answer.
		t.h.Sometimes("storage: a write of unknown outcome was settled by reading", true)
		upper := persist.At(t.currentUpper)
		return &upper, nil
	case invalid:
		panic("storage: collection " + string(t.id) + ": " + err.Error())
	}
	return nil, t.failure(err)
}
