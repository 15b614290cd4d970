package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// record says that a capture is believed to have a key span.
type record struct {
	id      model.KeySpanID
	capture model.CaptureID
	status  recordStatus
}

type recordStatus int

const (
	adding recordStatus = iota
	running
	removing
)

// records are at most one record for each key span, found by key span and by capture.
type records struct {
	byID      map[model.KeySpanID]record
	byCapture map[model.CaptureID]map[model.KeySpanID]bool // captures with records only
	counts    [removing + 1]int
}

func newRecords() records {
	return records{byID: map[model.KeySpanID]record{}, byCapture: map[model.CaptureID]map[model.KeySpanID]bool{}}
}

func (s *records) get(id model.KeySpanID) (record, bool) {
	r, ok := s.byID[id]
	return r, ok
}

// add panics when the key span has a record.
func (s *records) add(r record) {
	if old, ok := s.byID[r.id]; ok {
		panic(fmt.Sprintf("scheduler: duplicate record of key span %d: on capture %s, and now on capture %s", r.id, old.capture, r.capture))
	}
	s.byID[r.id] = r
	if s.byCapture[r.capture] == nil {
		s.byCapture[r.capture] = map[model.KeySpanID]bool{}
	}
	s.byCapture[r.capture][r.id] = true
	s.counts[r.status]++
}

// setStatus panics when the key span has no record.
func (s *records) setStatus(id model.KeySpanID, status recordStatus) {
	r, ok := s.byID[id]
	if !ok {
		panic(fmt.Sprintf("scheduler: no record of key span %d", id))
	}
	s.counts[r.status]--
	r.status = status
	s.byID[id] = r
	s.counts[status]++
}

// remove panics when the key span has no record.
func (s *records) remove(id model.KeySpanID) {
	r, ok := s.byID[id]
	if !ok {
		panic(fmt.Sprintf("scheduler: no record of key span %d", id))
	}
	delete(s.byID, id)
	s.counts[r.status]--
	delete(s.byCapture[r.capture], id)
	if len(s.byCapture[r.capture]) == 0 {
		delete(s.byCapture, r.capture)
	}
}

// removeOf removes the records of a capture.
func (s *records) removeOf(capture model.CaptureID) {
	for _, id := range s.of(capture) {
		s.remove(id)
	}
}

// all are the records by key span.
func (s *records) all() []record {
	all := make([]record, 0, len(s.byID))
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		all = append(all, s.byID[id])
	}
	return all
}

// of are the key spans recorded for a capture, sorted.
func (s *records) of(capture model.CaptureID) []model.KeySpanID {
	return slices.Sorted(maps.Keys(s.byCapture[capture]))
}

// captures are those with records, sorted.
func (s *records) captures() []model.CaptureID { return slices.Sorted(maps.Keys(s.byCapture)) }

func (s *records) count(status recordStatus) int { return s.counts[status] }

func (s *records) countOf(capture model.CaptureID) int { return len(s.byCapture[capture]) }
