package persist

import (
	"context"
	"errors"
	"slices"
)

// ListUnreferenced returns the blobs of a shard that no version refers to that is still kept,
// sorted by key. They are what appends, merges and rollups are just about to refer to, and what
// processes that died in the middle of one have left behind: collection deletes only what some
// version did refer to. A blob that is listed twice, with more time in between than a process
// may live that has not appended it yet, is one of the latter and can be deleted.
func (c *Client) ListUnreferenced(ctx context.Context, shard ShardID) ([]BlobInfo, error) {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return nil, err
	}
	// In this order: what is listed and referred to only later would be taken for left behind
	// otherwise.
	infos, err := m.listBlobs(ctx)
	if err != nil {
		return nil, err
	}
	for last := SeqNo(0); ; {
		s, err := m.refresh(ctx)
		if err != nil {
			return nil, err
		}
		var live map[string]bool
		err = retry(ctx, m.h, m.cfg, "list versions", string(shard), func() (err error) {
			live, _, err = m.history.walk(ctx, s, s.SeqNo)
			return err
		})
		switch {
		case err == nil:
			return slices.DeleteFunc(infos, func(b BlobInfo) bool { return live[b.Key] }), nil
		case !errors.Is(err, errGap) && !errors.Is(err, ErrMissingBlob) || s.SeqNo == last:
			return nil, harmless("list versions", string(shard), err)
		}
		last = s.SeqNo // versions were dropped since; if not, it fails for good
	}
}
