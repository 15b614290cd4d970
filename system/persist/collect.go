package persist

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// collect drops the versions before target, one of which there is a rollup, and the blobs that
// only they refer to. The target is a version up to which nobody holds any, and that stays so.
//
// First the blobs are deleted, then the versions dropped, then their rollups taken off the list.
// It can stop between any two steps, and be done by several at once: the next collection goes
// over everything from the earliest version left.
func (m *machine) collect(ctx context.Context, target SeqNo) error {
	if err := m.dawdle(ctx, "persist/dawdle before collecting"); err != nil {
		return err
	}
	var garbage []string
	var left bool
	for tries := 0; ; tries++ {
		s, _ := m.state()
		err := retry(ctx, m.h, m.cfg, "collect", string(m.shard), func() (err error) {
			garbage, left, err = m.history.garbage(ctx, s, target)
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errGap) && !errors.Is(err, ErrMissingBlob) || tries == 3 {
			return err
		}
		// Others dropped versions since s, or in the middle of it.
		if _, err := m.refresh(ctx); err != nil {
			return err
		}
	}
	m.h.Sometimes("persist: a collection found that others had been there", !left)
	if err := m.deleteBlobs(ctx, garbage...); err != nil {
		return err
	}
	m.h.Sometimes("persist: blobs were collected", len(garbage) > 0)
	if err := m.dawdle(ctx, "persist/dawdle before truncating"); err != nil {
		return err
	}
	return m.dropBefore(ctx, target)
}

// dropBefore drops the versions before target from Consensus, then their rollups from the list.
// A rollup that is listed while its version is gone does no harm; one that is not while its
// version is the earliest would.
func (m *machine) dropBefore(ctx context.Context, target SeqNo) error {
	dropped := 0
	err := retry(ctx, m.h, m.cfg, "truncate", string(m.shard), func() error {
		n, err := m.history.consensus.Truncate(ctx, string(m.shard), target)
		dropped += n
		return err
	})
	if err != nil {
		return err
	}
	m.h.Sometimes("persist: versions were dropped", dropped > 0)
	if err := m.dawdle(ctx, "persist/dawdle before removing rollups"); err != nil {
		return err
	}
	_, _, err = m.idempotent(ctx, func(next *state, _ uint64) verdict {
		_, v := next.removeRollups(target)
		return v
	})
	return err
}

// garbage are the keys of the blobs that some version before target refers to, of those that are
// left, and target does not. No later version refers to them either: a blob that was let go of
// never comes back. Left is false when target itself was dropped. For s and errors see walk.
func (h history) garbage(ctx context.Context, s *state, target SeqNo) (keys []string, left bool, err error) {
	seen, last, err := h.walk(ctx, s, target)
	if err != nil || last == nil {
		return nil, false, err
	}
	live := map[string]bool{}
	last.blobs(live)
	maps.DeleteFunc(seen, func(key string, _ bool) bool { return live[key] })
	return slices.Sorted(maps.Keys(seen)), true, nil
}

// walk replays the versions from the earliest one left to the one numbered last. It returns the
// blobs that any of them refers to, and the state at the last, nil when that was dropped.
//
// It is given s, a version no older than last, which lists the rollup of the earliest version
// unless others have dropped that meanwhile: then it fails with errGap or ErrMissingBlob.
func (h history) walk(ctx context.Context, s *state, last SeqNo) (blobs map[string]bool, at *state, err error) {
	blobs = map[string]bool{}
	for from := SeqNo(0); ; from = at.SeqNo + 1 {
		stored, err := h.consensus.Scan(ctx, string(h.shard), from, page)
		if err != nil {
			return nil, nil, err
		}
		if len(stored) == 0 {
			return nil, nil, errGap
		}
		for _, next := range stored {
			v, err := h.decodeVersion(next)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case at == nil && v.SeqNo > last:
				return blobs, nil, nil
			case at == nil && v.SeqNo > 1:
				r, listed := s.Rollups[v.SeqNo]
				if !listed {
					return nil, nil, errGap
				}
				if at, err = h.loadRollup(ctx, v.SeqNo, r); err != nil {
					return nil, nil, err
				}
				at.blobs(blobs)
			case at != nil && v.SeqNo != at.SeqNo+1:
				return nil, nil, errGap
			default:
				if at == nil {
					at = &state{}
				}
				if at, err = h.follows(at, v); err != nil {
					return nil, nil, err
				}
				v.Diff.blobs(blobs)
			}
			if at.SeqNo == last {
				return blobs, at, nil
			}
		}
	}
}
