package persist

import (
	"slices"
	"sort"
)

// verdict is what a transition decided about the state it was applied to.
type verdict int

const (
	// commit: make the state the next version. Also where nothing changed: a committed version
	// is what orders the command among all others.
	commit verdict = iota
	// decline: the command changes nothing, and the state at hand says all there is to answer.
	// It may be a stale one.
	decline
)

// appendResult is what became of an append.
type appendResult int

const (
	appended appendResult = iota
	// alreadyAppended: the writer's latest append that went in is this very call.
	alreadyAppended
	// upperDiffers: the upper is not the batch's lower.
	upperDiffers
	// invalidBounds: the batch's upper is before its lower.
	invalidBounds
	// emptyInterval: the batch has updates, and no time to hold them.
	emptyInterval
)

// compareAndAppend appends b if the shard's upper is b's lower. The writer's token goes into
// the same version as the batch, so that whoever finds one finds the other.
func (s *state) compareAndAppend(b batch, id WriterID, token Token, now, lease uint64) (appendResult, verdict) {
	if s.tombstone() {
		return upperDiffers, decline
	}
	if b.Upper.Before(b.Lower) {
		return invalidBounds, decline
	}
	if b.Upper == b.Lower && len(b.Parts) > 0 {
		return emptyInterval, decline
	}
	w := s.Writers[id]
	if token == w.LastToken {
		return alreadyAppended, decline
	}
	if s.upper() != b.Lower {
		return upperDiffers, decline
	}
	if b.Lower != b.Upper {
		s.push(b)
	}
	s.Writers = with(s.Writers, id, writerState{LastToken: token, LastUpper: b.Upper, Heartbeat: max(w.Heartbeat, now), Lease: lease})
	return appended, commit
}

// push adds b after the last batch. Two batches without updates become one: that the upper
// moved twice is of no interest to anyone, and a shard that is only ever ticked stays small.
func (s *state) push(b batch) {
	if n := len(s.Batches); n > 0 && len(b.Parts) == 0 && len(s.Batches[n-1].Parts) == 0 {
		s.Batches = slices.Clone(s.Batches)
		s.Batches[n-1].Upper = b.Upper
		return
	}
	s.Batches = append(slices.Clip(s.Batches), b)
}

// expireWriter forgets a writer, and tells whether it was known.
func (s *state) expireWriter(id WriterID) (existed bool, v verdict) {
	if _, existed = s.Writers[id]; !existed {
		return false, decline
	}
	s.Writers = without(s.Writers, id)
	return true, commit
}

// registerReader adds a leased reader that holds the shard's present since.
func (s *state) registerReader(id ReaderID, now, lease uint64) (Frontier, verdict) {
	return s.registerReaderAt(id, s.Since, now, lease)
}

// registerReaderAtCritical adds a leased reader that holds what the critical sinces hold, which
// may be ahead of the shard's since; without any it is registerReader.
func (s *state) registerReaderAtCritical(id ReaderID, now, lease uint64) (Frontier, verdict) {
	since := s.Since
	if len(s.Critical) > 0 {
		since = Empty()
		for _, c := range s.Critical {
			since = since.Meet(c.Since)
		}
	}
	return s.registerReaderAt(id, since, now, lease)
}

// cloneReader adds a leased reader that holds what another one does. Known is false when there
// is no such other one: its lease has expired.
func (s *state) cloneReader(of, id ReaderID, now, lease uint64) (since Frontier, known bool, v verdict) {
	if _, retried := s.Readers[id]; retried || s.tombstone() {
		since, v = s.registerReader(id, now, lease)
		return since, true, v
	}
	r, ok := s.Readers[of]
	if !ok {
		return Empty(), false, decline
	}
	since, v = s.registerReaderAt(id, r.Since, now, lease)
	return since, true, v
}

// registerReaderAt adds a leased reader that holds since. A reader that is there already keeps
// its hold: it is the same call, tried again.
func (s *state) registerReaderAt(id ReaderID, since Frontier, now, lease uint64) (Frontier, verdict) {
	if s.tombstone() {
		return Empty(), decline
	}
	r, ok := s.Readers[id]
	if !ok {
		r = readerState{Hold: s.SeqNo, Since: since}
	}
	r.Heartbeat, r.Lease = max(r.Heartbeat, now), lease
	s.Readers = with(s.Readers, id, r)
	return r.Since, commit
}

// downgradeReader moves a reader's hold forward to since, if that is forward, and counts as a
// heartbeat. outstanding is the oldest version the reader still fetches blobs of, 0 for none.
// ok is false when there is no such reader: its lease has expired.
func (s *state) downgradeReader(id ReaderID, outstanding SeqNo, since Frontier, now uint64) (held Frontier, ok bool, v verdict) {
	r, ok := s.Readers[id]
	if !ok {
		return Empty(), false, decline
	}
	r.Heartbeat = max(r.Heartbeat, now)
	hold := s.SeqNo
	if outstanding != 0 {
		hold = min(hold, outstanding)
	}
	r.Hold = max(r.Hold, hold)
	moved := r.Since.Before(since)
	r.Since = r.Since.Join(since)
	s.Readers = with(s.Readers, id, r)
	if moved {
		s.recomputeSince()
	}
	return r.Since, true, commit
}

// expireReader removes a leased reader and tells whether it was there. It leaves the since
// alone: when all the readers of a crashed process expire one after the other, the since would
// otherwise jump to that of the last, past what the process needs when it comes back. The
// next downgrade of a reader that remains moves it.
func (s *state) expireReader(id ReaderID) (existed bool, v verdict) {
	if _, existed = s.Readers[id]; !existed {
		return false, decline
	}
	s.Readers = without(s.Readers, id)
	return true, commit
}

// registerCritical adds a critical since at the shard's since, or returns the one that is
// there: a process that was restarted picks up its hold.
func (s *state) registerCritical(id CriticalID, initial Opaque) (criticalState, verdict) {
	if s.tombstone() {
		return criticalState{Since: Empty(), Opaque: initial}, decline
	}
	c, ok := s.Critical[id]
	if !ok {
		c = criticalState{Since: s.Since, Opaque: initial}
		s.Critical = with(s.Critical, id, c)
	}
	return c, commit
}

// downgradeResult is what became of a critical downgrade.
type downgradeResult int

const (
	downgraded downgradeResult = iota
	// opaqueDiffers: somebody else holds the critical since.
	opaqueDiffers
	// noCritical: there is no critical since of that id.
	noCritical
)

// compareAndDowngrade moves a critical hold to since, if that is forward, and leaves next with
// it, provided that it is still held under expected. The call's token is kept as well: a
// retry of a call that went in finds next in place of expected, and without the token would
// take itself for a rival.
func (s *state) compareAndDowngrade(id CriticalID, expected, next Opaque, since Frontier, token Token) (criticalState, downgradeResult, verdict) {
	if s.tombstone() {
		return criticalState{Since: Empty(), Opaque: next}, downgraded, decline
	}
	c, ok := s.Critical[id]
	switch {
	case !ok:
		return criticalState{}, noCritical, decline
	case c.LastToken == token:
		return c, downgraded, decline
	case c.Opaque != expected:
		return c, opaqueDiffers, commit
	}
	c = criticalState{Since: c.Since.Join(since), Opaque: next, LastToken: token}
	s.Critical = with(s.Critical, id, c)
	s.recomputeSince()
	return c, downgraded, commit
}

// expireCritical removes a critical since and tells whether it was there. Like expireReader it
// leaves the shard's since alone.
func (s *state) expireCritical(id CriticalID) (existed bool, v verdict) {
	if _, existed = s.Critical[id]; !existed {
		return false, decline
	}
	s.Critical = without(s.Critical, id)
	return true, commit
}

// recomputeSince moves the since to the meet of all holds. Without any it stays.
func (s *state) recomputeSince() {
	if len(s.Readers)+len(s.Critical) == 0 {
		return
	}
	meet := Empty()
	for _, r := range s.Readers {
		meet = meet.Meet(r.Since)
	}
	for _, c := range s.Critical {
		meet = meet.Meet(c.Since)
	}
	s.Since = s.Since.Join(meet)
}

// expireLeases removes the readers and writers not heard of for longer than their lease. It is
// applied to the new state of every version, after the command: one that has just let itself
// be heard of stays. Like expireReader it leaves the since alone.
func (s *state) expireLeases(now uint64) (readers, writers int) {
	s.Readers, readers = withoutAll(s.Readers, func(_ ReaderID, r readerState) bool { return overdue(r.Heartbeat, r.Lease, now) })
	s.Writers, writers = withoutAll(s.Writers, func(_ WriterID, w writerState) bool { return overdue(w.Heartbeat, w.Lease, now) })
	return readers, writers
}

// overdue tells whether heartbeat+lease < now, without overflow.
func overdue(heartbeat, lease, now uint64) bool { return now > heartbeat && now-heartbeat > lease }

// snapshotBatches are the batches that may have updates at or before asOf. The since and the
// upper must have been checked.
func (s *state) snapshotBatches(asOf uint64) []batch {
	n := 0
	for n < len(s.Batches) && s.Batches[n].Lower.LessEqual(asOf) {
		n++
	}
	return s.Batches[:n:n]
}

// batchAt is the batch that the time f lies in. The upper must be past it.
func (s *state) batchAt(f Frontier) batch {
	i := sort.Search(len(s.Batches), func(i int) bool { return f.Before(s.Batches[i].Upper) })
	return s.Batches[i]
}
