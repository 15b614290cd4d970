package persist

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
)

// diff is what changed from one version of a shard to the next. Applied to the one it makes the
// other.
type diff struct {
	_        struct{} `cbor:",toarray"`
	Walltime uint64
	Since    Frontier
	Asked    asked
	Final    SeqNo
	Batches  splice
	Writers  mapDiff[WriterID, writerState]
	Readers  mapDiff[ReaderID, readerState]
	Critical mapDiff[CriticalID, criticalState]
	Rollups  mapDiff[SeqNo, rollup]
}

// splice replaces Remove batches, from the one numbered At on, by others. An append, which adds
// one at the end, and a merge, which puts one in place of several, are both that.
type splice struct {
	_      struct{} `cbor:",toarray"`
	At     int
	Remove int
	Insert []batch
}

// mapDiff sets some entries of a map, and drops others.
type mapDiff[K cmp.Ordered, V comparable] struct {
	_    struct{} `cbor:",toarray"`
	Set  map[K]V
	Drop []K // sorted
}

// difference is what leads from one version to the next.
func difference(from, to *state) diff {
	return diff{
		Walltime: to.Walltime, Since: to.Since, Asked: to.Asked, Final: to.Final,
		Batches:  spliceOf(from.Batches, to.Batches),
		Writers:  mapDifference(from.Writers, to.Writers),
		Readers:  mapDifference(from.Readers, to.Readers),
		Critical: mapDifference(from.Critical, to.Critical),
		Rollups:  mapDifference(from.Rollups, to.Rollups),
	}
}

// blobs adds the keys of the blobs that the next version refers to and the one before may not.
func (d *diff) blobs(into map[string]bool) {
	(&state{Batches: d.Batches.Insert, Rollups: d.Rollups.Set}).blobs(into)
}

// apply makes s, which the caller owns, the next version.
func (s *state) apply(d diff) error {
	batches, err := d.Batches.apply(s.Batches)
	if err != nil {
		return err
	}
	s.SeqNo++
	s.Walltime, s.Since, s.Asked, s.Final = d.Walltime, d.Since, d.Asked, d.Final
	s.Batches = batches
	s.Writers = d.Writers.apply(s.Writers)
	s.Readers = d.Readers.apply(s.Readers)
	s.Critical = d.Critical.apply(s.Critical)
	s.Rollups = d.Rollups.apply(s.Rollups)
	return nil
}

// spliceOf leaves alone what both begin with and what both end with.
func spliceOf(from, to []batch) splice {
	begin := 0
	for begin < min(len(from), len(to)) && from[begin].equal(to[begin]) {
		begin++
	}
	end := 0
	for end < min(len(from), len(to))-begin && from[len(from)-1-end].equal(to[len(to)-1-end]) {
		end++
	}
	return splice{At: begin, Remove: len(from) - begin - end, Insert: slices.Clone(to[begin : len(to)-end])}
}

func (p splice) apply(batches []batch) ([]batch, error) {
	if p.At < 0 || p.Remove < 0 || p.At > len(batches) || p.Remove > len(batches)-p.At {
		return nil, fmt.Errorf("it replaces batches %d to %d of %d", p.At, p.At+p.Remove, len(batches))
	}
	batches = slices.Replace(batches, p.At, p.At+p.Remove, p.Insert...)
	if len(batches) == 0 {
		return nil, nil // encoded as in a state that never had any
	}
	return batches, nil
}

func mapDifference[K cmp.Ordered, V comparable](from, to map[K]V) (d mapDiff[K, V]) {
	for k, v := range to {
		if old, ok := from[k]; !ok || old != v {
			if d.Set == nil {
				d.Set = map[K]V{}
			}
			d.Set[k] = v
		}
	}
	for k := range from {
		if _, ok := to[k]; !ok {
			d.Drop = append(d.Drop, k)
		}
	}
	slices.Sort(d.Drop)
	return d
}

func (d mapDiff[K, V]) apply(m map[K]V) map[K]V {
	for _, k := range d.Drop {
		delete(m, k)
	}
	if m == nil && len(d.Set) > 0 {
		m = map[K]V{}
	}
	maps.Copy(m, d.Set)
	return m
}

// checksum is that of the state's encoding.
func (s *state) checksum() uint32 { return crc32.Checksum(mustEncode(s), castagnoli) }
