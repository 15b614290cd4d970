package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// mirrorHolder names the critical sinces by which mirrors hold the raw shards: they must be readable from where
// the table's shard ends. They are taken by whoever opens a shard, be it a capture that is to write the first rows, and
// all mirrors move the same one: that of a late one is late.
const (
	mirrorHolder persist.CriticalID = "mirror"
	holdOpaque   persist.Opaque     = 1
)

// ingest copies the changes of a table's key spans to the table's shard.
type ingest struct {
	m      *Mirror
	table  *Table
	writer *persist.WriteHandle // nil until it was opened
	// from is the ts up to which the shard is complete.
	from  model.Ts
	spans map[model.KeySpanID]*spanReader
}

func newIngest(m *Mirror, t *Table) *ingest {
	return &ingest{m: m, table: t, spans: map[model.KeySpanID]*spanReader{}}
}

// step brings the shard up to a checkpoint, if it is not there, and returns up to where it is complete. Spans are
// all key spans that there were at the checkpoint or are.
func (i *ingest) step(ctx context.Context, spans source.Spans, at model.Ts) (model.Ts, error) {
	if err := i.open(ctx); err != nil {
		return 0, err
	}
	if at <= i.from {
		return i.from, nil
	}
	updates, err := i.readAll(ctx, i.present(spans, at), at)
	if err != nil {
		i.again() // a mirror that is late may have appended, and what is before that can't be read any more
		return 0, fmt.Errorf("table %s: %w", i.table.Name, err)
	}
	slices.SortFunc(updates, func(a, b persist.Update) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Data, b.Data), cmp.Compare(a.Diff, b.Diff))
	})
	err = i.writer.CompareAndAppend(ctx, updates, i.lower(), upTo(at))
	var mismatch *persist.UpperMismatch
	switch {
	case err == nil:
		i.moved(at)
	case errors.As(err, &mismatch):
		i.m.h.Sometimes("pipeline: another mirror has appended to the table", true)
		err = i.found(mismatch.Current)
	case errors.Is(err, persist.ErrIndeterminate):
		i.m.h.Sometimes("pipeline: an append of a mirror is left open", true)
		i.again()
	}
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", i.table.Name, err)
	}
	return i.from, i.release(ctx)
}

// open finds out where the shard is.
func (i *ingest) open(ctx context.Context) error {
	if i.writer != nil {
		return nil
	}
	w, err := i.m.links.Persist.OpenWriter(ctx, TableShard(i.table.Name))
	if err != nil {
		return err
	}
	upper, err := w.FetchRecentUpper(ctx)
	if err == nil {
		err = i.found(upper)
	}
	if err != nil {
		w.Close()
		return err
	}
	i.writer = w
	return nil
}

// again has the next step find out anew where the shard is.
func (i *ingest) again() {
	i.writer.Close()
	i.writer = nil
}

// close ends the reading.
func (i *ingest) close() {
	for _, id := range slices.Sorted(maps.Keys(i.spans)) {
		i.spans[id].close()
	}
	if i.writer != nil {
		i.writer.Close()
	}
}

// lower is the shard's upper as far as is known.
func (i *ingest) lower() persist.Frontier {
	if i.from == 0 {
		return persist.At(0)
	}
	return upTo(i.from)
}

func (i *ingest) found(upper persist.Frontier) error {
	at, open := upper.Time()
	if !open {
		return fmt.Errorf("pipeline: the shard of table %s is closed; nothing can be mirrored to it", i.table.Name)
	}
	if at > 0 {
		i.moved(at - 1)
	}
	return nil
}

// moved takes down that the shard is complete up to a ts.
func (i *ingest) moved(at model.Ts) {
	i.from = at
	for _, s := range i.spans {
		s.forget(at)
	}
}

// present are the table's key spans that can have changes after from and up to at.
func (i *ingest) present(spans source.Spans, at model.Ts) []source.KeySpan {
	var found []source.KeySpan
	known := map[model.KeySpanID]bool{}
	for _, s := range spans.Spans {
		if strings.HasPrefix(s.Start, i.table.Prefix) && s.AddTs < at && (s.DropTs == 0 || s.DropTs > i.from) {
			found = append(found, s)
			known[s.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.spans)) {
		if !known[id] {
			i.spans[id].close()
			delete(i.spans, id)
		}
	}
	return found
}

// readAll are the changes of key spans after from and up to at, as rows. Spans are read side by side.
func (i *ingest) readAll(ctx context.Context, spans []source.KeySpan, at model.Ts) (all []persist.Update, err error) {
	tasks := host.NewWaitGroup(i.m.h, "key spans of "+i.table.Name)
	rows, errs := make([][]persist.Update, len(spans)), make([]error, len(spans))
	for k, s := range spans {
		tasks.Go(i.m.h, fmt.Sprintf("key span %d", s.ID), func() {
			if rows[k], errs[k] = i.read(ctx, s, at); errs[k] != nil {
				errs[k] = fmt.Errorf("key span %d: %w", s.ID, errs[k])
			}
		})
	}
	tasks.Wait()
	return slices.Concat(rows...), errors.Join(errs...)
}

// read are the changes of a key span after from and up to at, as rows.
func (i *ingest) read(ctx context.Context, s source.KeySpan, at model.Ts) ([]persist.Update, error) {
	if s.DropTs != 0 {
		at = min(at, s.DropTs)
	}
	r := i.spans[s.ID]
	if r == nil {
		var err error
		if r, err = openSpan(ctx, i.m, s.ID, i.from); err != nil {
			return nil, err
		}
		i.spans[s.ID] = r
	}
	changes, err := r.upTo(ctx, at)
	if err != nil {
		i.m.h.Sometimes("pipeline: a mirror's reader of a key span has to be opened again", true)
		r.close()
		delete(i.spans, s.ID)
		return nil, err
	}
	rows := make([]persist.Update, len(changes))
	for k, u := range changes {
		key, value, err := sink.Decode(u.Data)
		if err != nil {
			return nil, err
		}
		row, err := i.table.Row(key, value)
		if err != nil {
			return nil, err
		}
		rows[k] = persist.Update{Data: string(row), Time: u.Time, Diff: u.Diff}
	}
	return rows, nil
}

// release lets the raw shards' history go that is in the table's shard.
func (i *ingest) release(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(i.spans)) {
		if err := i.spans[id].release(ctx, i.from); err != nil {
			return fmt.Errorf("key span %d: %w", id, err)
		}
	}
	return nil
}

// spanReader reads a key span's raw shard.
type spanReader struct {
	m        *Mirror
	hold     *persist.SinceHandle
	listener *persist.Listener
	after    model.Ts         // up to which all is in the table's shard
	waiting  []persist.Update // that were read and are not known to be in the table's shard
}

// openSpan begins to read a raw shard after a ts.
func openSpan(ctx context.Context, m *Mirror, id model.KeySpanID, after model.Ts) (*spanReader, error) {
	shard := RawShard(id)
	hold, err := m.links.Persist.OpenCritical(ctx, shard, mirrorHolder, holdOpaque)
	if err != nil {
		return nil, err
	}
	reader, err := m.links.Persist.OpenReader(ctx, shard)
	if err != nil {
		return nil, err
	}
	listener, err := reader.Listen(ctx, after)
	if err != nil {
		reader.Close()
		return nil, err
	}
	return &spanReader{m: m, hold: hold, listener: listener, after: after}, nil
}

// upTo waits until the shard is complete up to a ts, and returns the changes that are not forgotten up to then.
func (s *spanReader) upTo(ctx context.Context, at model.Ts) ([]persist.Update, error) {
	for s.listener.Frontier().LessEqual(at) {
		event, err := s.listener.Next(ctx)
		if err != nil {
			return nil, err
		}
		s.waiting = append(s.waiting, event.Updates...)
		s.forget(s.after) // another mirror may have been further in the shard than this one
	}
	var changes []persist.Update
	for _, u := range s.waiting {
		if u.Time <= at {
			changes = append(changes, u)
		}
	}
	return changes, nil
}

// forget drops the changes up to a ts, also those that are still to be read.
func (s *spanReader) forget(at model.Ts) {
	s.after = max(s.after, at)
	s.waiting = slices.DeleteFunc(s.waiting, func(u persist.Update) bool { return u.Time <= at })
}

// release lets go of the shard's history before what must be read after a ts.
func (s *spanReader) release(ctx context.Context, at model.Ts) error {
	_, _, err := s.hold.MaybeCompareAndDowngradeSince(ctx, s.hold.Opaque(), s.hold.Opaque(), persist.At(at))
	return err
}

func (s *spanReader) close() { s.listener.Close() }

func formatTS(at model.Ts) string { return strconv.FormatUint(at, 10) }
