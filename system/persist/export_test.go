package persist

import (
	"context"
	"fmt"
)

// CheckHistory states what holds between all of a shard's versions that are left, and the
// blobs, at a moment when nobody changes anything; and tells what does not.
func CheckHistory(ctx context.Context, blob Blob, consensus Consensus, shard ShardID) error {
	h := history{consensus: consensus, blob: blob, shard: shard}
	stored, err := consensus.Scan(ctx, string(shard), 0, 1<<30)
	if err != nil {
		return err
	}
	head, _, err := h.load(ctx, nil)
	if err != nil {
		return err
	}
	infos, err := blob.List(ctx, string(shard)+"/")
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, b := range infos {
		there[b.Key] = true
	}
	var at *state
	for _, next := range stored {
		v, err := h.decodeVersion(next)
		if err != nil {
			return err
		}
		switch {
		case at == nil && v.SeqNo > 1:
			r, listed := head.Rollups[v.SeqNo]
			if !listed {
				return fmt.Errorf("version %d is the earliest, and version %d lists no rollup of it", v.SeqNo, head.SeqNo)
			}
			if at, err = h.loadRollup(ctx, v.SeqNo, r); err != nil {
				return err
			}
		case at == nil:
			at = &state{}
			fallthrough
		default:
			if v.SeqNo != at.SeqNo+1 {
				return fmt.Errorf("version %d follows on version %d", v.SeqNo, at.SeqNo)
			}
			before := at
			if at, err = h.follows(before, v); err != nil {
				return err
			}
			if err := before.checkSuccessor(at); err != nil {
				return err
			}
		}
		if at.tally != at.count() || at.checksum() != v.Sum {
			return fmt.Errorf("version %d replays to something else", v.SeqNo)
		}
		if err := at.check(); err != nil {
			return err
		}
		if r, ok := head.Rollups[v.SeqNo]; ok {
			rolled, err := h.loadRollup(ctx, v.SeqNo, r)
			if err != nil {
				return err
			}
			if rolled.checksum() != v.Sum {
				return fmt.Errorf("the rollup of version %d is of something else", v.SeqNo)
			}
		}
		if v.SeqNo < head.seqnoSince() {
			continue
		}
		for i := range at.Batches {
			for _, p := range at.Batches[i].Parts {
				if !there[p.Key] {
					return fmt.Errorf("version %d of %d to %d refers to %s, which is not there", v.SeqNo, head.seqnoSince(), head.SeqNo, p.Key)
				}
			}
		}
	}
	return nil
}

// NewestRollup is the key of the newest rollup that the latest version lists.
func NewestRollup(ctx context.Context, blob Blob, consensus Consensus, shard ShardID) (string, error) {
	s, _, err := history{consensus: consensus, blob: blob, shard: shard}.load(ctx, nil)
	if err != nil {
		return "", err
	}
	_, r := s.newestRollup()
	return r.Key, nil
}
