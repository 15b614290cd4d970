package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Shards is a Sink that writes each key span into a persist shard.
type Shards struct {
	h      host.Host
	c      *persist.Client
	prefix string
}

// NewShards returns a sink into shards named by [ShardOf].
func NewShards(h host.Host, c *persist.Client, prefix string) *Shards {
	return &Shards{h: h, c: c, prefix: prefix}
}

// ShardOf is the shard of a key span.
func ShardOf(prefix string, id model.KeySpanID) persist.ShardID {
	return persist.ShardID(fmt.Sprintf("%s/%d", prefix, id))
}

// Open is part of Sink.
func (s *Shards) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (Span, bool, error) {
	w, err := s.c.OpenWriter(ctx, ShardOf(s.prefix, id))
	if err != nil {
		return nil, false, err
	}
	at, err := s.begin(ctx, w, id, start)
	if err != nil {
		w.Close()
		return nil, false, err
	}
	s.h.Sometimes("cdc/sink: a key span is opened that is further than its start", at > 0 && at-1 > start)
	return &shard{s: s, w: w, upper: at}, at == 0 && start > 0, nil
}

// begin is the upper from which a key span can be written that is to start somewhere.
func (s *Shards) begin(ctx context.Context, w *persist.WriteHandle, id model.KeySpanID, start model.Ts) (upper uint64, err error) {
	recent, err := w.FetchRecentUpper(ctx)
	if err != nil {
		return 0, err
	}
	at, open := recent.Time()
	switch {
	case !open:
		return 0, fmt.Errorf("%w: shard %s", ErrClosed, w.Shard())
	case at > 0 && at-1 < start:
		return 0, gap(id, at-1, start)
	}
	return at, nil
}

// Close is part of Sink. The persist client is its owner's.
func (s *Shards) Close() {}

type shard struct {
	s     *Shards
	w     *persist.WriteHandle
	upper uint64
}

// Write is part of Span.
func (s *shard) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (written int, err error) {
	for {
		if upTo < s.upper {
			return written, nil // whoever wrote that wrote these rows
		}
		var updates []persist.Update
		fresh := 0
		for _, r := range rows {
			if r.CommitTs >= s.upper {
				updates = append(updates, Updates(r)...)
				fresh++
			}
		}
		next := upTo + 1
		err := s.w.CompareAndAppend(ctx, updates, persist.At(s.upper), persist.At(next))
		var mismatch *persist.UpperMismatch
		switch {
		case err == nil:
			s.s.h.Sometimes("cdc/sink: some rows of a batch were there already", fresh < len(rows))
			s.upper = next
			return written + fresh, nil
		case errors.As(err, &mismatch):
			s.s.h.Sometimes("cdc/sink: another has written the key span meanwhile", true)
			err = s.moved(mismatch.Current)
		case errors.Is(err, persist.ErrAmbiguous):
			// It went in or did not; where the upper is now tells which rows are there.
			s.s.h.Sometimes("cdc/sink: an ambiguous append is settled by the upper", true)
			var upper persist.Frontier
			if upper, err = s.w.FetchRecentUpper(ctx); err == nil {
				err = s.moved(upper)
			}
		}
		if err != nil {
			return written, err
		}
	}
}

func (s *shard) moved(upper persist.Frontier) error {
	at, open := upper.Time()
	if !open {
		return fmt.Errorf("%w: shard %s", ErrClosed, s.w.Shard())
	}
	s.upper = at
	return nil
}

// Close is part of Span. An append that was given up may still take effect; it then is one that
// whoever writes the span next would make as well. The shard forgets the writer as soon as it can be reached.
func (s *shard) Close() { s.w.Close() }

// Updates are what a row changes in a shard.
func Updates(r source.Row) []persist.Update {
	var updates []persist.Update
	if r.Existed {
		updates = append(updates, persist.Update{Data: Encode(r.Key, r.Prev), Time: r.CommitTs, Diff: -1})
	}
	if !r.Deleted {
		updates = append(updates, persist.Update{Data: Encode(r.Key, r.Value), Time: r.CommitTs, Diff: 1})
	}
	return updates
}

// Base returns a row of a snapshot as one that adds to nothing.
func Base(r source.Row) source.Row {
	r.Prev, r.Existed = "", false
	return r
}
