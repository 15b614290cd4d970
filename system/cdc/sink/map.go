package sink

import (
	"context"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// Map is a Sink in memory. It outlives the processes that write to it if its host does: only tests in
// one process can use it.
type Map struct {
	mu    *host.Mutex
	rows  map[string]source.Row // the newest of each key, deleted ones too
	seen  map[rowID]bool
	extra int
	based map[model.KeySpanID]bool
}

type rowID struct {
	key string
	ts  model.Ts
}

// NewMap returns an empty sink on a host.
func NewMap(h host.Host) *Map {
	return &Map{
		mu: host.NewMutex(h, "sink map"), rows: map[string]source.Row{}, seen: map[rowID]bool{},
		based: map[model.KeySpanID]bool{},
	}
}

// Open is part of Sink.
func (m *Map) Open(_ context.Context, id model.KeySpanID, start model.Ts) (Span, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	base := !m.based[id] && start > 0
	return &mapSpan{m, id}, base, nil
}

// Close is part of Sink.
func (m *Map) Close() {}

// Rows are what is there, by key.
func (m *Map) Rows() []source.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []source.Row
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		if row := m.rows[key]; !row.Deleted {
			rows = append(rows, row)
		}
	}
	return rows
}

// Has tells whether a row was written.
func (m *Map) Has(key string, ts model.Ts) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[rowID{key, ts}]
}

// Repeated is how many rows were written again.
func (m *Map) Repeated() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.extra
}

type mapSpan struct {
	m  *Map
	id model.KeySpanID
}

// Write is part of Span.
func (s *mapSpan) Write(_ context.Context, rows []source.Row, _ model.Ts) (written int, err error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.based[s.id] = true
	for _, r := range rows {
		id := rowID{r.Key, r.CommitTs}
		if s.m.seen[id] {
			s.m.extra++
			continue
		}
		s.m.seen[id] = true
		written++
		if old, ok := s.m.rows[r.Key]; !ok || old.CommitTs < r.CommitTs {
			s.m.rows[r.Key] = r
		}
	}
	return written, nil
}

// Close is part of Span.
func (s *mapSpan) Close() {}
