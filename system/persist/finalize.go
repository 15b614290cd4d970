package persist

import (
	"context"
	"fmt"
	"slices"
)

// FinalizationError says that a shard can't be finalised because it is not closed: for writing
// by an empty upper, and for reading by an empty since.
type FinalizationError struct {
	Shard        ShardID
	Since, Upper Frontier
}

func (e *FinalizationError) Error() string {
	return fmt.Sprintf("persist: shard %q cannot be finalised with since %v and upper %v: both have to be []", e.Shard, e.Since, e.Upper)
}

// Finalize gives up a shard for good. Its upper and its since must be empty, or it fails with
// *FinalizationError. All its readers, writers and critical sinces are removed; all its data is
// deleted, and all but the last few versions. What is left is a tombstone, which tells whoever
// opens the shard that it is closed.
//
// It can be called again after an error, and by several processes.
func (c *Client) Finalize(ctx context.Context, shard ShardID) error {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return err
	}
	if _, err := m.refresh(ctx); err != nil {
		return err
	}
	refused := false
	s, _, err := m.idempotent(ctx, func(next *state, _ uint64) (v verdict) {
		refused, v = next.finalize()
		return v
	})
	if err != nil {
		return err
	}
	if refused {
		return &FinalizationError{Shard: shard, Since: s.Since, Upper: s.upper()}
	}
	m.h.Sometimes("persist: a shard was finalised", true)
	if newest, _ := s.newestRollup(); newest < s.Final {
		if err := m.rollUp(ctx, s); err != nil {
			return err
		}
		if s, err = m.refresh(ctx); err != nil {
			return err
		}
	}
	final, r := s.newestRollup()
	if final < s.Final {
		return determinate("finalize", string(shard), fmt.Errorf("version %d lists no rollup of the final state", s.SeqNo))
	}
	if err := m.dropBefore(ctx, final); err != nil {
		return err
	}
	return m.sweep(ctx, r.Key)
}

// finalize makes the shard a tombstone without batches, and tells whether it refused to.
func (s *state) finalize() (refused bool, v verdict) {
	switch {
	case s.Final != 0:
		return false, decline
	case !s.Since.IsEmpty() || !s.upper().IsEmpty():
		return true, decline
	}
	s.Final = s.SeqNo
	s.Batches = []batch{{Upper: Empty(), Since: Empty()}}
	s.Writers, s.Readers, s.Critical = nil, nil, nil
	return false, commit
}

// sweep deletes all the shard's blobs but one, whoever wrote them. It is for a finalised shard:
// of others nobody can tell which blobs will not be needed.
func (m *machine) sweep(ctx context.Context, keep string) error {
	infos, err := m.listBlobs(ctx)
	if err != nil {
		return err
	}
	infos = slices.DeleteFunc(infos, func(b BlobInfo) bool { return b.Key == keep })
	keys := make([]string, len(infos))
	for i, b := range infos {
		keys[i] = b.Key
	}
	return m.deleteBlobs(ctx, keys...)
}

func (m *machine) listBlobs(ctx context.Context) (infos []BlobInfo, err error) {
	err = retry(ctx, m.h, m.cfg, "list blobs", string(m.shard), func() (err error) {
		infos, err = m.blob.List(ctx, string(m.shard)+"/")
		return err
	})
	if err != nil {
		return nil, harmless("list blobs", string(m.shard), err)
	}
	return infos, nil
}
