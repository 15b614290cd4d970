package persist

import (
	"context"
	"errors"
	"hash/crc32"

	"github.com/simrun-dev/simrun/system/wal"
)

// rollUp keeps the complete state of a version in a blob, and lists it in the shard. Versions
// that are committed meanwhile don't matter: it is of version s, and they follow on it.
func (m *machine) rollUp(ctx context.Context, s *state) error {
	counted := s.count()
	m.h.Always("persist: a state's checksum is that of its entries", counted == s.tally, "%s at %d: %x, counted %x", m.shard, s.SeqNo, s.tally, counted)
	if counted != s.tally {
		return m.history.corrupt(s.SeqNo, errors.New("the state in memory is not the one that was committed"))
	}
	value := wal.Encode(s)
	r := rollup{Key: string(m.shard) + "/" + newID(m.h, "v"), Checksum: crc32.Checksum(value, castagnoli)}
	if err := m.setBlob(ctx, r.Key, value); err != nil {
		m.discard(part{Key: r.Key})
		return err
	}
	if err := m.dawdle(ctx, "persist/dawdle before adding a rollup"); err != nil {
		return err
	}
	added, err := m.applied(ctx, func(next *state) (bool, verdict) { return next.addRollup(s.SeqNo, r) })
	if err != nil && !errors.Is(err, ErrDeterminate) {
		return err // it may be in use
	}
	m.h.Sometimes("persist: a rollup was added", added)
	m.h.Sometimes("persist: a rollup came too late", !added)
	if !added {
		m.discard(part{Key: r.Key})
	}
	return err
}

// addRollup lists the rollup of a version, and tells whether it is listed: not where there is
// one of that version or a newer one already, nor, once the shard is finalised, where it is not
// of its final state, or not the first.
func (s *state) addRollup(of SeqNo, r rollup) (added bool, v verdict) {
	if s.Rollups[of] == r {
		return true, decline
	}
	newest, _ := s.newestRollup()
	if newest >= of || s.tombstone() && (s.Final == 0 || of < s.Final || newest >= s.Final) {
		return false, decline
	}
	s.Rollups = with(s.Rollups, of, r)
	return true, commit
}

// removeRollups takes the rollups of versions before oldest from the list, and notes that nothing is
// left of those. It is for who dropped them. Removed tells whether it changed anything.
func (s *state) removeRollups(oldest SeqNo) (removed bool, v verdict) {
	kept, gone := withoutAll(s.Rollups, func(of SeqNo, _ rollup) bool { return of < oldest })
	if gone == 0 && s.Asked.Collected >= oldest {
		return false, decline
	}
	s.Rollups = kept
	s.Asked.Collected = max(s.Asked.Collected, oldest)
	return true, commit
}
