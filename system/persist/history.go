package persist

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/system/wal"
)

// history is how the versions of one shard are kept: in Consensus, for each version, what
// changed from the one before, and in Blob, now and then, a rollup: the complete state of a
// version. The state at version n is a rollup of some version r <= n with the differences r+1
// to n applied to it. Versions before a rollup can therefore be dropped, and are (collect.go).
//
// Always: the versions still there are numbered without a gap up to the latest; the earliest of
// them is version 1, which is complete by itself, or the latest lists a rollup of it; and the
// rollups that the latest lists exist.
type history struct {
	consensus Consensus
	blob      Blob
	shard     ShardID
}

// page is how many versions are fetched from Consensus at a time.
const page = 256

// errGap: the versions that would have led on are dropped already.
var errGap = errors.New("the versions that follow were dropped")

// load returns the latest version, nil when the shard has none. It begins at known, a version
// seen earlier, unless that is nil or too long ago: then it rebuilds.
func (h history) load(ctx context.Context, known *state) (s *state, rebuilt bool, err error) {
	if known != nil {
		s, err := h.follow(ctx, known)
		if !errors.Is(err, errGap) {
			return s, false, err
		}
	}
	s, err = h.rebuild(ctx)
	return s, true, err
}

// rebuild returns the latest version without knowing an earlier one.
//
// A rollup that is missing, or that no version follows, was replaced by a newer one since the
// latest version was looked at. If there is none newer, something is lost.
func (h history) rebuild(ctx context.Context) (*state, error) {
	var failed error
	var tried SeqNo
	for {
		head, err := h.consensus.Head(ctx, string(h.shard))
		if err != nil || head.SeqNo == 0 {
			return nil, err
		}
		v, err := h.decodeVersion(head)
		if err != nil {
			return nil, err
		}
		if failed != nil && v.RollupAt <= tried {
			if errors.Is(failed, errGap) {
				return nil, h.corrupt(head.SeqNo, fmt.Errorf("the rollup of version %d is the newest, and %w", v.RollupAt, failed))
			}
			return nil, failed
		}
		s := &state{}
		if v.RollupAt != 0 {
			s, err = h.loadRollup(ctx, v.RollupAt, v.Rollup)
		}
		if err == nil {
			s, err = h.follow(ctx, s)
		}
		if !errors.Is(err, errGap) && !errors.Is(err, ErrMissingBlob) {
			return s, err
		}
		failed, tried = err, v.RollupAt
	}
}

// follow returns the latest version, from s on by differences alone, or errGap.
func (h history) follow(ctx context.Context, s *state) (*state, error) {
	for {
		stored, err := h.consensus.Scan(ctx, string(h.shard), s.SeqNo, page)
		if err != nil {
			return nil, err
		}
		if len(stored) == 0 {
			return nil, h.regressed(ctx, s)
		}
		for _, at := range stored {
			encoded := xxh3.Hash(at.Data)
			if at.SeqNo == s.SeqNo && encoded == s.encoded {
				continue
			}
			v, err := h.decodeVersion(at)
			switch {
			case err != nil:
				return nil, err
			case v.SeqNo > s.SeqNo+1:
				return nil, errGap
			case v.SeqNo == s.SeqNo && v.Sum != s.checksum():
				return nil, fmt.Errorf("%w %q: its version %d is not the one that was seen", ErrRegressed, h.shard, s.SeqNo)
			case v.SeqNo == s.SeqNo:
				continue
			}
			if s, err = h.follows(s, v); err != nil {
				return nil, err
			}
			s.encoded = encoded
		}
		if len(stored) < page {
			return s, nil
		}
	}
}

// regressed is the error of not finding s, or any later version.
func (h history) regressed(ctx context.Context, s *state) error {
	head, err := h.consensus.Head(ctx, string(h.shard))
	if err != nil {
		return err
	}
	if head.SeqNo >= s.SeqNo {
		return errGap // it was there in between
	}
	return fmt.Errorf("%w %q: it has version %d, version %d was seen", ErrRegressed, h.shard, head.SeqNo, s.SeqNo)
}

// propose is what commit is to store to make next the version after base.
func (h history) propose(base, next *state) (Versioned, error) {
	v, err := versionOf(base, next)
	if err != nil {
		return Versioned{}, fmt.Errorf("persist: shard %q: %w", h.shard, err)
	}
	stored := Versioned{SeqNo: v.SeqNo, Data: wal.Encode(v)}
	next.encoded = xxh3.Hash(stored.Data)
	return stored, nil
}

// commit makes next the version after base.
func (h history) commit(ctx context.Context, base *state, next Versioned) (committed bool, err error) {
	return h.consensus.CompareAndSet(ctx, string(h.shard), base.SeqNo, next)
}

// loadRollup returns the state that was rolled up. It fails with ErrMissingBlob, ErrCorrupt, or
// an error of the store.
func (h history) loadRollup(ctx context.Context, at SeqNo, r rollup) (*state, error) {
	value, found, err := h.blob.Get(ctx, r.Key)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: %s, the rollup of version %d of shard %q", ErrMissingBlob, r.Key, at, h.shard)
	}
	sum := crc32.Checksum(value, castagnoli)
	if sum != r.Checksum {
		return nil, fmt.Errorf("%w: rollup %q has checksum %08x, %08x was written", ErrCorrupt, r.Key, sum, r.Checksum)
	}
	var s state
	if err := wal.Decode(value, &s); err != nil {
		return nil, fmt.Errorf("%w: rollup %q: %w", ErrCorrupt, r.Key, err)
	}
	if s.SeqNo != at {
		return nil, fmt.Errorf("%w: rollup %q is of version %d, not %d", ErrCorrupt, r.Key, s.SeqNo, at)
	}
	s.tally = s.count()
	return &s, nil
}
