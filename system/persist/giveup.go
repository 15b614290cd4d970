package persist

import "context"

// GiveUp closes a shard for writing and for reading, and finalises it; see [Client.Finalize]. The critical sinces named are
// removed, whoever holds them. It fails with *FinalizationError as long as others hold the shard: a critical since that is
// not named, or a reader, until its lease is over. It fails with *UpperMismatch when somebody has appended at the same time.
//
// It can be called again after an error, and by several processes.
func (c *Client) GiveUp(ctx context.Context, shard ShardID, holds ...CriticalID) error {
	if err := c.closeUpper(ctx, shard); err != nil {
		return err
	}
	for _, id := range holds {
		hold, err := c.OpenCritical(ctx, shard, id, 0)
		if err != nil {
			return err
		}
		if err := hold.Expire(ctx); err != nil {
			return err
		}
	}
	// The since goes where the last of those who hold it goes: a shard that nobody holds stays where it is.
	r, err := c.OpenReader(ctx, shard)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.DowngradeSince(ctx, Empty()); err != nil {
		return err
	}
	return c.Finalize(ctx, shard)
}

// closeUpper closes a shard for writing.
func (c *Client) closeUpper(ctx context.Context, shard ShardID) error {
	w, err := c.OpenWriter(ctx, shard)
	if err != nil {
		return err
	}
	defer w.Close()
	upper, err := w.FetchRecentUpper(ctx)
	if err != nil || upper.IsEmpty() {
		return err
	}
	return w.CompareAndAppend(ctx, nil, upper, Empty())
}
