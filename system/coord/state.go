package coord

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"
)

// state is the service's state, as a deterministic machine: the same commands make the same state. It
// knows no time; when a lease is over is decided outside, and comes as a command.
type state struct {
	revision  Revision
	compacted Revision // the oldest revision that can be read
	// entries has each key's history: its entry of every revision not compacted, and the one before
	// those if it had not been deleted by then. A deletion has Version 0.
	entries map[string][]KeyValue
	keys    []string // those of entries, sorted
	changes []Event  // of the revisions not compacted, in order
	leases  map[LeaseID]*lease
}

type lease struct {
	ttl  time.Duration
	keys map[string]bool
}

func newState() *state {
	return &state{revision: 1, compacted: 1, entries: map[string][]KeyValue{}, leases: map[LeaseID]*lease{}}
}

// latest is the key's present entry, with Version 0 when it does not exist.
func (s *state) latest(key string) KeyValue {
	if history := s.entries[key]; len(history) > 0 {
		if kv := history[len(history)-1]; kv.Version > 0 {
			return kv
		}
	}
	return KeyValue{Key: key}
}

// in are the known keys of a range, deleted ones too.
func (s *state) in(k Keys) []string {
	if k.To == "" {
		if _, ok := s.entries[k.From]; ok {
			return []string{k.From}
		}
		return nil
	}
	from := sort.SearchStrings(s.keys, k.From)
	to := len(s.keys)
	if k.To != Unbounded {
		to = max(from, sort.SearchStrings(s.keys, k.To))
	}
	return s.keys[from:to]
}

// at are the keys of a range as they were at a revision that is not compacted.
func (s *state) at(k Keys, r Revision) []KeyValue {
	var kvs []KeyValue
	for _, key := range s.in(k) {
		history := s.entries[key]
		i := sort.Search(len(history), func(i int) bool { return history[i].ModRevision > r })
		if i > 0 && history[i-1].Version > 0 {
			kvs = append(kvs, history[i-1])
		}
	}
	return kvs
}

// snapshot is a Range.
func (s *state) snapshot(k Keys, at Revision) (Snapshot, error) {
	switch {
	case at == 0:
		at = s.revision
	case at > s.revision:
		return Snapshot{}, fmt.Errorf("%w: %d, the present one is %d", ErrFutureRevision, at, s.revision)
	case at < s.compacted:
		return Snapshot{}, &CompactedError{Asked: at, Oldest: s.compacted}
	}
	return Snapshot{Revision: at, KVs: s.at(k, at)}, nil
}

// maxBatch is about how many events a watcher gets at once.
const maxBatch = 1000

// since are the changes of some keys from a revision on, of whole revisions, and the revision from
// which the rest are. It fails with *CompactedError.
func (s *state) since(k Keys, from Revision) (events []Event, next Revision, err error) {
	if from < s.compacted {
		return nil, from, &CompactedError{Asked: from, Oldest: s.compacted}
	}
	i := sort.Search(len(s.changes), func(i int) bool { return s.changes[i].ModRevision >= from })
	for ; i < len(s.changes); i++ {
		e := s.changes[i]
		if len(events) >= maxBatch && e.ModRevision > events[len(events)-1].ModRevision {
			return events, e.ModRevision, nil
		}
		if k.Contains(e.Key) {
			events = append(events, e)
		}
	}
	return events, max(from, s.revision+1), nil
}

// write is the making of one revision.
type write struct {
	s       *state
	changed []string
}

// begin begins a revision, which comes into being if something is changed.
func (s *state) begin() *write {
	s.revision++
	return &write{s: s}
}

func (w *write) put(key, value string, id LeaseID) {
	kv := w.s.latest(key)
	w.s.detach(kv)
	if kv.Version == 0 {
		kv = KeyValue{Key: key, CreateRevision: w.s.revision}
	}
	kv.Value, kv.ModRevision, kv.Lease = value, w.s.revision, id
	kv.Version++
	if id != 0 {
		w.s.leases[id].keys[key] = true
	}
	w.enter(kv)
}

// delete deletes the key if it exists, and tells whether it did.
func (w *write) delete(key string) bool {
	kv := w.s.latest(key)
	if kv.Version == 0 {
		return false
	}
	w.s.detach(kv)
	w.enter(KeyValue{Key: key, ModRevision: w.s.revision})
	return true
}

func (w *write) enter(kv KeyValue) {
	if _, ok := w.s.entries[kv.Key]; !ok {
		w.s.keys = slices.Insert(w.s.keys, sort.SearchStrings(w.s.keys, kv.Key), kv.Key)
	}
	w.s.entries[kv.Key] = append(w.s.entries[kv.Key], kv)
	w.changed = append(w.changed, kv.Key)
}

func (w *write) end() {
	if len(w.changed) == 0 {
		w.s.revision--
		return
	}
	slices.Sort(w.changed)
	for _, key := range w.changed {
		history := w.s.entries[key]
		w.s.changes = append(w.s.changes, Event{KeyValue: history[len(history)-1]})
	}
}

func (s *state) detach(kv KeyValue) {
	if l := s.leases[kv.Lease]; l != nil {
		delete(l.keys, kv.Key)
	}
}

// txn executes a transaction that is well-formed.
func (s *state) txn(t Txn) (TxnResult, error) {
	r := TxnResult{Succeeded: true}
	for _, c := range t.If {
		r.Succeeded = r.Succeeded && c.holds(s.latest(c.Key))
	}
	ops := t.Then
	if !r.Succeeded {
		ops = t.Else
	}
	for _, op := range ops {
		if op.Kind == OpPut && op.Lease != 0 && s.leases[op.Lease] == nil {
			return TxnResult{}, fmt.Errorf("%w: %x, under which %q was to be put", ErrNoLease, uint64(op.Lease), op.Keys.From)
		}
	}
	w := s.begin()
	for _, op := range ops {
		var result OpResult
		switch op.Kind {
		case OpGet:
			result.KVs = s.at(op.Keys, s.revision)
		case OpPut:
			w.put(op.Keys.From, op.Value, op.Lease)
		case OpDelete:
			for _, key := range slices.Clone(s.in(op.Keys)) {
				if w.delete(key) {
					result.Deleted++
				}
			}
		}
		r.Ops = append(r.Ops, result)
	}
	w.end()
	r.Revision = s.revision
	return r, nil
}

func (s *state) grant(id LeaseID, ttl time.Duration) {
	if s.leases[id] == nil {
		s.leases[id] = &lease{ttl: ttl, keys: map[string]bool{}}
	}
}

// revoke ends a lease, if there is one of that id.
func (s *state) revoke(id LeaseID) {
	l := s.leases[id]
	if l == nil {
		return
	}
	w := s.begin()
	for _, key := range l.sortedKeys() {
		w.delete(key)
	}
	w.end()
	delete(s.leases, id)
}

func (l *lease) sortedKeys() []string { return slices.Sorted(maps.Keys(l.keys)) }

// compact forgets the history before a revision.
func (s *state) compact(before Revision) {
	if before <= s.compacted {
		return
	}
	s.compacted = before
	s.changes = slices.DeleteFunc(s.changes, func(e Event) bool { return e.ModRevision < before })
	var kept []string
	for _, key := range s.keys {
		history := s.entries[key]
		i := sort.Search(len(history), func(i int) bool { return history[i].ModRevision >= before })
		changed := i < len(history) && history[i].ModRevision == before
		if i > 0 && history[i-1].Version > 0 && !changed {
			i-- // what the key was at the revision
		}
		if i == len(history) {
			delete(s.entries, key)
			continue
		}
		kept = append(kept, key)
		s.entries[key] = slices.Clone(history[i:])
	}
	s.keys = kept
}

// image is a state as it is stored.
type image struct {
	_         struct{} `cbor:",toarray"`
	Revision  Revision
	Compacted Revision
	Entries   []KeyValue // of all keys, in order
	Leases    []leaseImage
}

// check tells whether a state can have this image.
func (m image) check() error {
	leases := map[LeaseID]bool{0: true}
	for _, l := range m.Leases {
		leases[l.ID] = true
	}
	latest := map[string]KeyValue{}
	for _, kv := range m.Entries {
		latest[kv.Key] = kv
	}
	for _, kv := range m.Entries {
		if kv == latest[kv.Key] && !leases[kv.Lease] {
			return fmt.Errorf("the key %q is under the lease %x, and there is none", kv.Key, uint64(kv.Lease))
		}
	}
	return nil
}

type leaseImage struct {
	_   struct{} `cbor:",toarray"`
	ID  LeaseID
	TTL time.Duration
}

func (s *state) image() image {
	m := image{Revision: s.revision, Compacted: s.compacted}
	for _, key := range s.keys {
		m.Entries = append(m.Entries, s.entries[key]...)
	}
	for _, id := range slices.Sorted(maps.Keys(s.leases)) {
		m.Leases = append(m.Leases, leaseImage{ID: id, TTL: s.leases[id].ttl})
	}
	return m
}

func (m image) state() *state {
	s := newState()
	s.revision, s.compacted = m.Revision, m.Compacted
	for _, l := range m.Leases {
		s.grant(l.ID, l.TTL)
	}
	for _, kv := range m.Entries {
		if _, ok := s.entries[kv.Key]; !ok {
			s.keys = append(s.keys, kv.Key)
		}
		s.entries[kv.Key] = append(s.entries[kv.Key], kv)
		if kv.ModRevision >= s.compacted {
			s.changes = append(s.changes, Event{KeyValue: kv})
		}
	}
	for _, key := range s.keys {
		if kv := s.latest(key); kv.Lease != 0 {
			s.leases[kv.Lease].keys[key] = true
		}
	}
	slices.SortStableFunc(s.changes, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.ModRevision, b.ModRevision), strings.Compare(a.Key, b.Key))
	})
	return s
}
