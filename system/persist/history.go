package persist

import (
	"context"
	"fmt"
)

// history is how the versions of one shard are kept in Consensus: here, as the complete state
// in every version. Nothing else knows; a history that keeps differences and rolls them up
// from time to time takes its place without a change elsewhere.
type history struct {
	consensus Consensus
	shard     ShardID
}

// retained is how many versions before the latest are kept when history is truncated.
// Nobody reads them: each version is complete.
const retained = 16

// load returns the latest version, nil when the shard has none.
func (h history) load(ctx context.Context) (*state, error) {
	v, err := h.consensus.Head(ctx, string(h.shard))
	if err != nil || v.SeqNo == 0 {
		return nil, err
	}
	var s state
	if err := decoding.Unmarshal(v.Data, &s); err != nil {
		return nil, fmt.Errorf("%w: version %d of shard %q: %w", ErrCorrupt, v.SeqNo, h.shard, err)
	}
	if s.SeqNo != v.SeqNo {
		return nil, fmt.Errorf("%w: version %d of shard %q says that it is version %d", ErrCorrupt, v.SeqNo, h.shard, s.SeqNo)
	}
	return &s, nil
}

// commit makes next the version after expected, 0 for the shard's first.
func (h history) commit(ctx context.Context, expected SeqNo, next *state) (committed bool, err error) {
	return h.consensus.CompareAndSet(ctx, string(h.shard), expected, Versioned{SeqNo: next.SeqNo, Data: mustEncode(next)})
}

// due tells whether the versions before s have become worth truncating.
func (h history) due(s *state) bool { return s.SeqNo%retained == 0 && s.SeqNo > retained }

// truncate drops the versions long before s.
func (h history) truncate(ctx context.Context, s *state) error {
	_, err := h.consensus.Truncate(ctx, string(h.shard), s.SeqNo-retained)
	return err
}
