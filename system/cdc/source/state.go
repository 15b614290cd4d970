package source

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// state is what a store holds, as a deterministic machine: the same entries make the same state.
type state struct {
	last      model.Ts // no entry to come has it or a smaller one
	spans     map[model.KeySpanID]*spanState
	retired   map[model.KeySpanID]bool // spans that were dropped, and of which nothing is kept
	committed map[string]model.Ts      // transactions by id, of the history that is kept
	safepoint model.Ts
	services  map[string]service
}

type spanState struct {
	KeySpan
	base   map[string]Row // what was there at the safepoint
	rows   []Row          // since then
	latest map[string]Row // what is there; no deleted ones
}

// service is a reader that holds history back.
type service struct {
	_   struct{} `cbor:",toarray"`
	Ts  model.Ts
	TTL time.Duration
}

func newState() *state {
	return &state{spans: map[model.KeySpanID]*spanState{}, retired: map[model.KeySpanID]bool{}, committed: map[string]model.Ts{}, services: map[string]service{}}
}

// entry is one entry of the log.
type entry struct {
	_         struct{} `cbor:",toarray"`
	Kind      entryKind
	Ts        model.Ts // of a commit, an addition or a dropping; what an entryBound reserves; a service's
	ID        string   // of a transaction or a service
	Mutations []Mutation
	Span      *KeySpan
	TTL       time.Duration
	Image     *image
}

// check tells whether this package can have written the entry.
func (e entry) check() error {
	switch {
	case e.Kind < entryCommit || e.Kind > entryImage:
		return fmt.Errorf("no entry is of kind %d: was the log written by a later version?", e.Kind)
	case e.Kind == entryImage && e.Image == nil, (e.Kind == entryAdd || e.Kind == entryDrop) && e.Span == nil:
		return fmt.Errorf("an entry of kind %d without what it is about", e.Kind)
	}
	return nil
}

type entryKind uint8

const (
	entryCommit entryKind = iota + 1
	entryAdd
	entryDrop
	// entryBound: a ts up to this one may have been given out.
	entryBound
	entrySafepoint
	entryForget // a service
	entryImage
)

// stamped tells whether the entry happens at a ts of its own.
func (e entry) stamped() bool {
	return e.Kind == entryCommit || e.Kind == entryAdd || e.Kind == entryDrop
}

// apply executes an entry. The ts is when it took effect, which for one that is repeated was before;
// the commit is nil when nothing did. It fails with ErrNoSpan or ErrSpanExists.
func (s *state) apply(e entry) (ts model.Ts, done *Commit, err error) {
	if e.stamped() || e.Kind == entryBound {
		s.last = max(s.last, e.Ts)
	}
	switch e.Kind {
	case entryCommit:
		return s.commit(e)
	case entryAdd:
		return s.add(e)
	case entryDrop:
		return s.drop(e)
	case entrySafepoint:
		if e.Ts >= s.safepoint {
			s.services[e.ID] = service{Ts: e.Ts, TTL: e.TTL}
		}
		s.advance()
	case entryForget:
		delete(s.services, e.ID)
		s.advance()
	}
	return 0, nil, nil
}

func (s *state) commit(e entry) (model.Ts, *Commit, error) {
	if ts, ok := s.committed[e.ID]; ok && e.ID != "" {
		return ts, nil, nil
	}
	last := map[string]Mutation{} // of each key
	for _, m := range e.Mutations {
		if s.spanOf(m.Key) == nil {
			return 0, nil, fmt.Errorf("%w: of the key %q", ErrNoSpan, m.Key)
		}
		last[m.Key] = m
	}
	done := &Commit{Ts: e.Ts}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		done.write(s.spanOf(key), last[key])
	}
	if e.ID != "" {
		s.committed[e.ID] = e.Ts
	}
	return e.Ts, done, nil
}

func (s *state) add(e entry) (model.Ts, *Commit, error) {
	if old := s.spans[e.Span.ID]; old != nil {
		if old.DropTs == 0 && old.Start == e.Span.Start && old.End == e.Span.End {
			return old.AddTs, nil, nil
		}
		return 0, nil, fmt.Errorf("%w: %d", ErrSpanExists, e.Span.ID)
	}
	if s.retired[e.Span.ID] {
		// Readers know a span by its id, and take what they have of the former one for a part of this one.
		return 0, nil, fmt.Errorf("%w: %d was dropped", ErrSpanExists, e.Span.ID)
	}
	for _, id := range s.ids() {
		if old := s.spans[id]; old.DropTs == 0 && old.overlaps(*e.Span) {
			return 0, nil, fmt.Errorf("%w: %d overlaps %d", ErrSpanExists, e.Span.ID, id)
		}
	}
	span := *e.Span
	span.AddTs, span.DropTs = e.Ts, 0
	s.spans[span.ID] = &spanState{KeySpan: span, base: map[string]Row{}, latest: map[string]Row{}}
	return e.Ts, &Commit{Ts: e.Ts, Added: &span}, nil
}

func (s *state) drop(e entry) (model.Ts, *Commit, error) {
	span := s.spans[e.Span.ID]
	if span == nil {
		return 0, nil, fmt.Errorf("%w: %d", ErrNoSpan, e.Span.ID)
	}
	if span.DropTs != 0 {
		return span.DropTs, nil, nil
	}
	done := &Commit{Ts: e.Ts}
	for _, key := range slices.Sorted(maps.Keys(span.latest)) {
		done.write(span, Delete(key))
	}
	span.DropTs = e.Ts
	dropped := span.KeySpan
	done.Dropped = &dropped
	return e.Ts, done, nil
}

// write executes the mutation of a key.
func (c *Commit) write(span *spanState, m Mutation) {
	prev, existed := span.latest[m.Key]
	if m.Delete && !existed {
		return
	}
	row := Row{Span: span.ID, Key: m.Key, CommitTs: c.Ts, Deleted: m.Delete, Prev: prev.Value, Existed: existed}
	if m.Delete {
		delete(span.latest, m.Key)
	} else {
		row.Value = m.Value
		span.latest[m.Key] = row
	}
	span.rows = append(span.rows, row)
	c.Rows = append(c.Rows, row)
}

func (s *state) ids() []model.KeySpanID { return slices.Sorted(maps.Keys(s.spans)) }

// spanOf is the live span that has the key, nil when there is none.
func (s *state) spanOf(key string) *spanState {
	//simvet:ignore simmap live spans do not overlap: at most one has the key
	for _, span := range s.spans {
		if span.DropTs == 0 && span.Contains(key) {
			return span
		}
	}
	return nil
}

// maxRows is about how many rows a reader gets at once.
const maxRows = 500

// changes are the rows after a ts, sorted, and the ts up to which they are all.
func (s *spanState) changes(after model.Ts) (rows []Row, upTo model.Ts) {
	from := sort.Search(len(s.rows), func(i int) bool { return s.rows[i].CommitTs > after })
	for i := from; i < len(s.rows); i++ {
		if len(rows) >= maxRows && s.rows[i].CommitTs > rows[len(rows)-1].CommitTs {
			return rows, rows[len(rows)-1].CommitTs
		}
		rows = append(rows, s.rows[i])
	}
	return rows, math.MaxUint64
}

// contents is what was there at a ts, sorted by key.
func (s *spanState) contents(asOf model.Ts) []Row {
	at := maps.Clone(s.base)
	for _, row := range s.rows {
		if row.CommitTs > asOf {
			break
		}
		delete(at, row.Key)
		if !row.Deleted {
			at[row.Key] = row
		}
	}
	rows := make([]Row, 0, len(at))
	for _, key := range slices.Sorted(maps.Keys(at)) {
		rows = append(rows, at[key])
	}
	return rows
}

// advance moves the safepoint to the least that a service holds, and gives up history before it.
// Without services it stays.
func (s *state) advance() {
	least := model.Ts(math.MaxUint64)
	for _, service := range s.services {
		least = min(least, service.Ts)
	}
	if len(s.services) == 0 || least <= s.safepoint {
		return
	}
	s.safepoint = least
	for _, id := range s.ids() {
		span := s.spans[id]
		if span.DropTs != 0 && span.DropTs <= least {
			delete(s.spans, id)
			s.retired[id] = true
			continue
		}
		span.collect(least)
	}
	maps.DeleteFunc(s.committed, func(_ string, ts model.Ts) bool { return ts <= least })
}

// collect folds the rows up to a ts into the base.
func (s *spanState) collect(upTo model.Ts) {
	n := sort.Search(len(s.rows), func(i int) bool { return s.rows[i].CommitTs > upTo })
	for _, row := range s.rows[:n] {
		delete(s.base, row.Key)
		if !row.Deleted {
			s.base[row.Key] = row
		}
	}
	s.rows = slices.Clone(s.rows[n:])
}

// image is a state as it is stored.
type image struct {
	_         struct{} `cbor:",toarray"`
	Last      model.Ts
	Safepoint model.Ts
	Spans     []spanImage
	Services  map[string]service
	Committed map[string]model.Ts
	Retired   []model.KeySpanID
}

type spanImage struct {
	_    struct{} `cbor:",toarray"`
	Span KeySpan
	Base []Row
	Rows []Row
}

func (s *state) image() *image {
	m := &image{Last: s.last, Safepoint: s.safepoint, Services: s.services, Committed: s.committed}
	m.Retired = slices.Sorted(maps.Keys(s.retired))
	for _, id := range s.ids() {
		span := s.spans[id]
		base := slices.SortedFunc(maps.Values(span.base), Compare)
		m.Spans = append(m.Spans, spanImage{Span: span.KeySpan, Base: base, Rows: span.rows})
	}
	return m
}

func (m *image) state() *state {
	s := newState()
	s.last, s.safepoint = m.Last, m.Safepoint
	maps.Copy(s.services, m.Services)
	maps.Copy(s.committed, m.Committed)
	for _, id := range m.Retired {
		s.retired[id] = true
	}
	for _, i := range m.Spans {
		span := &spanState{KeySpan: i.Span, base: map[string]Row{}, rows: i.Rows, latest: map[string]Row{}}
		for _, row := range i.Base {
			span.base[row.Key] = row
		}
		for _, row := range span.contents(math.MaxUint64) {
			span.latest[row.Key] = row
		}
		s.spans[span.ID] = span
	}
	return s
}

// list are the spans there are, by id.
func (s *state) list() []KeySpan {
	var list []KeySpan
	for _, id := range s.ids() {
		list = append(list, s.spans[id].KeySpan)
	}
	slices.SortFunc(list, func(a, b KeySpan) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
