package persist

import (
	"context"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// The listeners of a process that follow the same shard all want each new batch, at about the same time.
// Its parts are fetched and decoded once for all of them.

// sharedPart is a part that is being fetched, or was a short while ago.
type sharedPart struct {
	key     string
	fetched *host.Chan[struct{}] // closed once the two below are set
	updates []Update             // never changed
	err     error
}

// keptParts is how many parts are remembered. They are for who is a little late; snapshots, which read
// all there is, go past them.
const keptParts = 4

// fetchShared is fetchPart, with what another listener has fetched. The updates must not be changed.
func (m *machine) fetchShared(ctx context.Context, p part) ([]Update, error) {
	if m.h.Buggify("persist/share no fetched parts") {
		return m.fetchPart(ctx, p)
	}
	m.mu.Lock()
	at := slices.IndexFunc(m.shared, func(s *sharedPart) bool { return s.key == p.Key })
	if at >= 0 {
		s := m.shared[at]
		m.mu.Unlock()
		if _, _, err := s.fetched.RecvContext(ctx); err != nil {
			return nil, harmless("get blob", p.Key, err)
		}
		if s.err == nil {
			m.h.Sometimes("persist: a listener used what another had fetched", true)
			return s.updates, nil
		}
		// Perhaps only because the other's context ended.
		return m.fetchPart(ctx, p)
	}
	s := &sharedPart{key: p.Key, fetched: host.NewChan[struct{}](m.h, "persist fetch of "+p.Key, 0)}
	m.shared = append(m.shared, s)
	if len(m.shared) > keptParts {
		m.shared = slices.Delete(m.shared, 0, 1)
	}
	m.mu.Unlock()
	s.updates, s.err = m.fetchPart(ctx, p)
	s.fetched.Close()
	if s.err != nil {
		m.mu.Lock()
		m.shared = slices.DeleteFunc(m.shared, func(other *sharedPart) bool { return other == s })
		m.mu.Unlock()
	}
	return s.updates, s.err
}
