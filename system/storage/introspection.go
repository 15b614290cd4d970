package storage

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Introspection says what kind of collection a task writes to, as far as that matters before
// the first write. The zero value is a collection for which nothing has to be done.
type Introspection struct {
	// Seed is called with the collection's contents as the last incarnation left them, before
	// the first write, for collections that go on from there: statistics, whose counters
	// must not start at zero again. The task waits for it. Nil for all others.
	Seed func(ctx context.Context, contents []RowDiff) error
}

// prepare does what has to be done before the first write. Commands queue up meanwhile.
func (t *DifferentialWriteTask) prepare(in Introspection) error {
	if in.Seed == nil {
		return nil
	}
	contents, upper, err := t.contents()
	if err != nil {
		return err
	}
	if upper.IsEmpty() {
		return &ShardClosed{ID: t.id}
	}
	return in.Seed(t.life, contents)
}

func (t *DifferentialWriteTask) contents() ([]RowDiff, persist.Frontier, error) {
	return target{h: t.h, life: t.life, writer: t.writer, openReader: t.openReader}.contents()
}

// target is the shard that a task writes to, for reading it.
type target struct {
	h          host.Host
	life       context.Context // the task's
	writer     *persist.WriteHandle
	openReader func(context.Context) (*persist.ReadHandle, error)
}

// contents reads what is in the shard, and the upper just before which it is in it. With the
// upper empty or [0] nothing is read.
//
// The reader is registered before the upper is fetched: from then on the since can't move
// past what is about to be read. In the other order, somebody who writes and gives up history
// in between would leave the task with a time it can't read at any more.
func (t target) contents() ([]RowDiff, persist.Frontier, error) {
	for {
		rows, upper, err := t.tryContents()
		if !isLeaseExpired(err) {
			return rows, upper, err
		}
		t.h.Sometimes("storage: the reader of a sync lost its lease", true)
	}
}

func (t target) tryContents() ([]RowDiff, persist.Frontier, error) {
	reader, err := t.openReader(t.life)
	if err != nil {
		return nil, persist.Frontier{}, err
	}
	defer reader.Close()
	upper, err := t.writer.FetchRecentUpper(t.life)
	if err != nil {
		return nil, persist.Frontier{}, err
	}
	next, ok := upper.Time()
	if !ok || next == 0 {
		return nil, upper, nil
	}
	updates, err := reader.SnapshotAndFetch(t.life, next-1)
	if err != nil {
		return nil, persist.Frontier{}, err
	}
	rows := make([]RowDiff, len(updates))
	for i, u := range updates {
		rows[i] = RowDiff{Row: u.Data, Diff: u.Diff}
	}
	return rows, upper, nil
}
