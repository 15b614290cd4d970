package persist

import (
	"fmt"
	"slices"
)

// state is one version of a shard: everything there is to know of it, apart from the updates
// themselves, which lie in blobs.
//
// A state that was committed is never changed. A command clones it and applies one of the
// transitions of transitions.go to the clone, and the clone becomes the next version if
// Consensus takes it. Transitions do no I/O and know no clock: what time it is, is an argument.
type state struct {
	SeqNo SeqNo `cbor:"1,keyasint"`
	// Walltime is when the version was made, in milliseconds of the clock of whoever made it,
	// but after all versions before it.
	Walltime uint64 `cbor:"2,keyasint"`
	// Since: reads as of times at or beyond it are right, history before it may be merged.
	Since Frontier `cbor:"3,keyasint"`
	// Batches follow one another without a gap, from [0] to the upper.
	Batches  []batch                      `cbor:"4,keyasint"`
	Writers  map[WriterID]writerState     `cbor:"5,keyasint,omitempty"`
	Readers  map[ReaderID]readerState     `cbor:"6,keyasint,omitempty"`
	Critical map[CriticalID]criticalState `cbor:"7,keyasint,omitempty"`
	// Rollups are the complete states kept in Blob, by their version. One is of a version
	// before this one, which could not know of its own.
	Rollups map[SeqNo]rollup `cbor:"8,keyasint,omitempty"`
	// Asked: see assign.
	Asked asked `cbor:"9,keyasint"`
	// Final is the version at which the shard was finalised, 0 as long as it is not.
	Final SeqNo `cbor:"10,keyasint,omitempty"`

	tally tally // of the entries above; see checksum
	// encoded is the hash of this version as Consensus has it, 0 while that is not known.
	encoded uint64
}

// writerState is what the shard remembers of a writer.
type writerState struct {
	_         struct{} `cbor:",toarray"`
	LastToken Token    // of its latest append that went in
	LastUpper Frontier // of that append; [0] before the first
	Heartbeat uint64   // ms
	Lease     uint64   // ms
}

// readerState is a leased reader.
type readerState struct {
	_ struct{} `cbor:",toarray"`
	// Hold is the oldest version whose blobs the reader may still fetch.
	Hold      SeqNo
	Since     Frontier
	Heartbeat uint64 // ms
	Lease     uint64 // ms
}

// criticalState is a critical since.
type criticalState struct {
	_         struct{} `cbor:",toarray"`
	Since     Frontier
	Opaque    Opaque
	LastToken Token // of the latest downgrade that went in
}

// initialState is the first version of a shard.
func initialState(now uint64) *state { return &state{SeqNo: 1, Walltime: now} }

// clone returns a copy to which transitions can be applied, which replace what they change of its entries
// and batches: it shares them with s. They leave its tally behind: propose makes it good.
func (s *state) clone() *state {
	c := *s
	return &c
}

// equal tells whether the two are the same version, with the same entries.
func (s *state) equal(t *state) bool {
	return s.SeqNo == t.SeqNo && s.Walltime == t.Walltime && s.Since == t.Since && s.Asked == t.Asked && s.Final == t.Final &&
		slices.EqualFunc(s.Batches, t.Batches, func(b, c batch) bool { return b.equal(c) }) &&
		equalEntries(s.Writers, t.Writers) && equalEntries(s.Readers, t.Readers) &&
		equalEntries(s.Critical, t.Critical) && equalEntries(s.Rollups, t.Rollups)
}

// upper is the frontier of the times not written yet.
func (s *state) upper() Frontier {
	if len(s.Batches) == 0 {
		return Frontier{}
	}
	return s.Batches[len(s.Batches)-1].Upper
}

// tombstone tells whether the shard is gone for good: closed for writing and for reading, with
// nobody left. No version follows such a one.
func (s *state) tombstone() bool {
	return s.upper().IsEmpty() && s.Since.IsEmpty() &&
		len(s.Writers) == 0 && len(s.Readers) == 0 && len(s.Critical) == 0
}

// seqnoSince is the oldest version whose blobs somebody may still fetch.
func (s *state) seqnoSince() SeqNo {
	oldest := s.SeqNo
	for _, r := range s.Readers {
		oldest = min(oldest, r.Hold)
	}
	return oldest
}

// newestRollup is the newest version of which there is a rollup, 0 for none.
func (s *state) newestRollup() (SeqNo, rollup) { return s.rollupAtMost(s.SeqNo) }

// rollupAtMost is the newest version up to v of which there is a rollup, 0 for none.
func (s *state) rollupAtMost(v SeqNo) (newest SeqNo, r rollup) {
	for n := range s.Rollups {
		if n <= v {
			newest = max(newest, n)
		}
	}
	return newest, s.Rollups[newest]
}

// blobs adds the keys of all blobs that the version refers to.
func (s *state) blobs(into map[string]bool) {
	for i := range s.Batches {
		for _, p := range s.Batches[i].Parts {
			into[p.Key] = true
		}
	}
	for _, r := range s.Rollups {
		into[r.Key] = true
	}
}

// holdsPart tells whether one of the batches has the part of that key.
func (s *state) holdsPart(key string) bool {
	for i := range s.Batches {
		for _, p := range s.Batches[i].Parts {
			if p.Key == key {
				return true
			}
		}
	}
	return false
}

// check states what holds of every version, and tells what does not.
func (s *state) check() error {
	lower := Frontier{}
	for i, b := range s.Batches {
		switch {
		case b.Lower != lower:
			return fmt.Errorf("batch %d begins at %v, the one before ends at %v", i, b.Lower, lower)
		case !b.Lower.Before(b.Upper):
			return fmt.Errorf("batch %d covers no time: [%v, %v)", i, b.Lower, b.Upper)
		case s.Since.Before(b.Since):
			return fmt.Errorf("since is %v, batch %d was merged up to %v", s.Since, i, b.Since)
		}
		lower = b.Upper
	}
	if err := firstWrong(s.Readers, s.checkReader); err != nil {
		return err
	}
	if err := firstWrong(s.Critical, s.checkCritical); err != nil {
		return err
	}
	newest := SeqNo(0)
	for of := range s.Rollups {
		newest = max(newest, of)
	}
	if newest != 0 && newest >= s.SeqNo {
		return fmt.Errorf("there is a rollup of version %d", newest)
	}
	return firstWrong(s.Writers, s.checkWriter)
}

func (s *state) checkReader(id ReaderID, r readerState) error {
	switch {
	case r.Since.Before(s.Since):
		return fmt.Errorf("since is %v, past the hold of reader %s at %v", s.Since, id, r.Since)
	case r.Hold > s.SeqNo:
		return fmt.Errorf("reader %s holds version %d, which is not made yet", id, r.Hold)
	}
	return nil
}

func (s *state) checkCritical(id CriticalID, c criticalState) error {
	if c.Since.Before(s.Since) {
		return fmt.Errorf("since is %v, past the critical hold %s at %v", s.Since, id, c.Since)
	}
	return nil
}

func (s *state) checkWriter(id WriterID, w writerState) error {
	if s.upper().Before(w.LastUpper) {
		return fmt.Errorf("writer %s wrote up to %v, the upper is %v", id, w.LastUpper, s.upper())
	}
	return nil
}

// checkSuccessor states what holds between a version and a later one, and tells what does not.
func (s *state) checkSuccessor(later *state) error {
	switch {
	case later.upper().Before(s.upper()):
		return fmt.Errorf("upper went back from %v at version %d to %v at %d", s.upper(), s.SeqNo, later.upper(), later.SeqNo)
	case later.Since.Before(s.Since):
		return fmt.Errorf("since went back from %v at version %d to %v at %d", s.Since, s.SeqNo, later.Since, later.SeqNo)
	case later.Walltime <= s.Walltime:
		return fmt.Errorf("walltime went from %d at version %d to %d at %d", s.Walltime, s.SeqNo, later.Walltime, later.SeqNo)
	case later.seqnoSince() < s.seqnoSince():
		return fmt.Errorf("blobs were kept from version %d on at version %d, from %d on at %d", s.seqnoSince(), s.SeqNo, later.seqnoSince(), later.SeqNo)
	case later.Asked.Collect < s.Asked.Collect:
		return fmt.Errorf("collection up to version %d was asked for at version %d, up to %d at %d", s.Asked.Collect, s.SeqNo, later.Asked.Collect, later.SeqNo)
	case s.Final != 0 && (later.Final != s.Final || !later.tombstone()):
		return fmt.Errorf("version %d follows on the shard's final one, %d, and is not final", later.SeqNo, s.Final)
	}
	if !same(s.Readers, later.Readers) {
		if err := firstWrong(later.Readers, func(id ReaderID, r readerState) error { return s.checkReaderLater(id, r, later) }); err != nil {
			return err
		}
	}
	if same(s.Writers, later.Writers) {
		return nil
	}
	return firstWrong(later.Writers, func(id WriterID, w writerState) error { return s.checkWriterLater(id, w, later) })
}

func (s *state) checkReaderLater(id ReaderID, r readerState, later *state) error {
	was, ok := s.Readers[id]
	// One that was forgotten in between, and is registered again, tells the time of its clock anew.
	aged := later.SeqNo == s.SeqNo+1 && r.Heartbeat < was.Heartbeat
	if ok && (r.Since.Before(was.Since) || r.Hold < was.Hold || aged) {
		return fmt.Errorf("reader %s went back from %v at version %d to %v at %d", id, was, s.SeqNo, r, later.SeqNo)
	}
	return nil
}

func (s *state) checkWriterLater(id WriterID, w writerState, later *state) error {
	was, ok := s.Writers[id]
	// A writer that was forgotten in between, and is back, tells the time of its clock anew.
	aged := later.SeqNo == s.SeqNo+1 && w.Heartbeat < was.Heartbeat
	if ok && (w.LastUpper.Before(was.LastUpper) || aged) {
		return fmt.Errorf("writer %s went back from %v at version %d to %v at %d", id, was, s.SeqNo, w, later.SeqNo)
	}
	return nil
}

// checkNewcomers states that the readers that s, made at the time now, has and the version before it has
// not were heard of then, and tells which was not: its lease would be over sooner than it thinks.
func (s *state) checkNewcomers(before *state, now uint64) error {
	if same(before.Readers, s.Readers) {
		return nil
	}
	return firstWrong(s.Readers, func(id ReaderID, r readerState) error {
		if _, ok := before.Readers[id]; !ok && r.Heartbeat < now {
			return fmt.Errorf("reader %s is registered at %d ms as one that was heard of at %d ms", id, now, r.Heartbeat)
		}
		return nil
	})
}
