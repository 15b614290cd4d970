package persist

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"
)

// A state's checksum says whether two processes that came to a version on different ways have the
// same state. It adds up the hashes of the entries (batches, writers, readers, critical sinces,
// rollups), so that a difference changes it by what it takes out and puts in, however large the
// state is. Addition and not xor: what is there twice must not cancel out. The idea is that of
// incremental hashing (Bellare and Micciancio 1997); what is found out is damage, not malice.
//
// The order of batches needs no hash: each one's bounds are in its own, and apply insists that they
// follow on each other.

// tally is the sum of the hashes of a state's entries, 0 for the empty state.
type tally uint64

// checksum is that of the whole state.
func (s *state) checksum() uint64 {
	var buf [96]byte
	p := append(buf[:0], 's')
	p = appendNumbers(p, uint64(s.SeqNo), s.Walltime, uint64(s.Final))
	p = appendNumbers(p, uint64(s.Asked.Rollup), uint64(s.Asked.Merge), uint64(s.Asked.Collect), uint64(s.Asked.Collected))
	p = appendNumbers(p, s.Asked.RollupTime, s.Asked.CollectTime)
	p = appendFrontiers(p, s.Since)
	return uint64(s.tally) + xxh3.Hash(p)
}

// count is what the tally of the state has to be.
func (s *state) count() (t tally) {
	for i := range s.Batches {
		t += s.Batches[i].hash()
	}
	for _, id := range slices.Sorted(maps.Keys(s.Writers)) {
		t += s.Writers[id].hash(id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Readers)) {
		t += s.Readers[id].hash(id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Critical)) {
		t += s.Critical[id].hash(id)
	}
	for _, of := range slices.Sorted(maps.Keys(s.Rollups)) {
		t += s.Rollups[of].hash(of)
	}
	return t
}

func (b *batch) hash() tally {
	var buf [256]byte
	p := appendFrontiers(append(buf[:0], 'b'), b.Lower, b.Upper, b.Since)
	for _, part := range b.Parts {
		p = appendString(p, part.Key)
		p = appendNumbers(p, uint64(part.Updates), uint64(part.Checksum))
	}
	return tally(xxh3.Hash(p))
}

func (w writerState) hash(id WriterID) tally {
	var buf [128]byte
	p := appendString(append(buf[:0], 'w'), string(id))
	p = appendString(p, string(w.LastToken))
	p = appendFrontiers(p, w.LastUpper)
	return tally(xxh3.Hash(appendNumbers(p, w.Heartbeat, w.Lease)))
}

func (r readerState) hash(id ReaderID) tally {
	var buf [128]byte
	p := appendString(append(buf[:0], 'r'), string(id))
	p = appendFrontiers(p, r.Since)
	return tally(xxh3.Hash(appendNumbers(p, uint64(r.Hold), r.Heartbeat, r.Lease)))
}

func (c criticalState) hash(id CriticalID) tally {
	var buf [128]byte
	p := appendString(append(buf[:0], 'c'), string(id))
	p = appendString(p, string(c.LastToken))
	p = appendFrontiers(p, c.Since)
	return tally(xxh3.Hash(appendNumbers(p, uint64(c.Opaque))))
}

func (r rollup) hash(of SeqNo) tally {
	var buf [128]byte
	p := appendString(append(buf[:0], 'v'), r.Key)
	return tally(xxh3.Hash(appendNumbers(p, uint64(of), uint64(r.Checksum))))
}

func appendNumbers(p []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		p = binary.LittleEndian.AppendUint64(p, n)
	}
	return p
}

// appendString adds s behind its length, so that what follows can't be taken for a part of it.
func appendString(p []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(p, uint64(len(s))), s...)
}

func appendFrontiers(p []byte, frontiers ...Frontier) []byte {
	for _, f := range frontiers {
		empty := byte(0)
		if f.empty {
			empty = 1
		}
		p = append(binary.LittleEndian.AppendUint64(p, f.time), empty)
	}
	return p
}
