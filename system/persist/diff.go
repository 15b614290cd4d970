package persist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// diff is what changed from one version of a shard to the next. Applied to the one it makes the
// other. What a version leaves alone, which is most, is nil: all who follow the shard decode it.
type diff struct {
	_        struct{} `cbor:",toarray"`
	Walltime uint64
	Since    Frontier
	Asked    asked
	Final    SeqNo
	Batches  *splice
	Writers  *mapDiff[WriterID, writerState]
	Readers  *mapDiff[ReaderID, readerState]
	Critical *mapDiff[CriticalID, criticalState]
	Rollups  *mapDiff[SeqNo, rollup]
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
	var added state
	if d.Batches != nil {
		added.Batches = d.Batches.Insert
	}
	if d.Rollups != nil {
		added.Rollups = d.Rollups.Set
	}
	added.blobs(into)
}

// apply returns the next version. It shares with s, which stays as it is, what does not change.
func (s *state) apply(d diff) (*state, error) {
	next := *s
	var err error
	if next.Batches, err = d.Batches.apply(s.Batches, &next.tally); err != nil {
		return nil, err
	}
	next.SeqNo++
	next.encoded = 0
	next.Walltime, next.Since, next.Asked, next.Final = d.Walltime, d.Since, d.Asked, d.Final
	next.Writers = d.Writers.apply(s.Writers, writerState.hash, &next.tally)
	next.Readers = d.Readers.apply(s.Readers, readerState.hash, &next.tally)
	next.Critical = d.Critical.apply(s.Critical, criticalState.hash, &next.tally)
	next.Rollups = d.Rollups.apply(s.Rollups, rollup.hash, &next.tally)
	return &next, nil
}

// spliceOf leaves alone what both begin with and what both end with.
func spliceOf(from, to []batch) *splice {
	begin := 0
	for begin < min(len(from), len(to)) && from[begin].equal(to[begin]) {
		begin++
	}
	end := 0
	for end < min(len(from), len(to))-begin && from[len(from)-1-end].equal(to[len(to)-1-end]) {
		end++
	}
	if begin+end == len(from) && begin+end == len(to) {
		return nil
	}
	return &splice{At: begin, Remove: len(from) - begin - end, Insert: slices.Clone(to[begin : len(to)-end])}
}

func (p *splice) apply(batches []batch, t *tally) ([]batch, error) {
	if p == nil {
		return batches, nil
	}
	if p.At < 0 || p.Remove < 0 || p.At > len(batches) || p.Remove > len(batches)-p.At {
		return nil, fmt.Errorf("it replaces batches %d to %d of %d", p.At, p.At+p.Remove, len(batches))
	}
	if p.Remove == 0 && len(p.Insert) == 0 {
		return batches, nil
	}
	begin, end := batches[:p.At], batches[p.At+p.Remove:]
	for i := range batches[p.At : p.At+p.Remove] {
		*t -= batches[p.At+i].hash()
	}
	for i := range p.Insert {
		*t += p.Insert[i].hash()
	}
	spliced := slices.Concat(begin, p.Insert, end)
	if len(spliced) == 0 {
		return nil, nil // encoded as in a state that never had any
	}
	for i := max(1, p.At); i < min(p.At+len(p.Insert)+1, len(spliced)); i++ {
		if spliced[i-1].Upper != spliced[i].Lower {
			return nil, fmt.Errorf("batch %d begins at %v, the one before ends at %v", i, spliced[i].Lower, spliced[i-1].Upper)
		}
	}
	return spliced, nil
}

func mapDifference[K cmp.Ordered, V comparable](from, to map[K]V) *mapDiff[K, V] {
	if same(from, to) {
		return nil
	}
	var d mapDiff[K, V]
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
	if len(d.Set) == 0 && len(d.Drop) == 0 {
		return nil
	}
	slices.Sort(d.Drop)
	return &d
}

func (d *mapDiff[K, V]) apply(m map[K]V, hash func(V, K) tally, t *tally) map[K]V {
	if d == nil || len(d.Set) == 0 && len(d.Drop) == 0 {
		return m
	}
	changed := maps.Clone(m)
	if changed == nil {
		changed = map[K]V{}
	}
	remove := func(k K) {
		if v, ok := changed[k]; ok {
			*t -= hash(v, k)
			delete(changed, k)
		}
	}
	for _, k := range d.Drop {
		remove(k)
	}
	//simvet:ignore simmap hashes are functions of the entry, and sums are the same in any order
	for k, v := range d.Set {
		remove(k)
		*t += hash(v, k)
		changed[k] = v
	}
	return changed
}
