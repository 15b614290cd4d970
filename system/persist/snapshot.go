package persist

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

// Snapshot is what a shard holds as of a time, not fetched yet. Until it is closed, the blobs
// it is made of stay.
type Snapshot struct {
	r       *ReadHandle
	asOf    uint64
	seqno   SeqNo
	batches []batch
	closed  bool
}

// Snapshot waits until the shard's upper is past asOf, and returns its contents as of then:
// what all updates of times up to asOf add up to.
//
// It fails with *SinceError when asOf is before the since of the shard or of the handle, which
// it always is once the shard is closed for reading; with ErrLeaseExpired; or with ctx's error.
func (r *ReadHandle) Snapshot(ctx context.Context, asOf uint64) (*Snapshot, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	check := func(s *state) error {
		if err := r.checkLease(s); err != nil {
			return err
		}
		if since := s.Since.Join(r.Since()); !since.LessEqual(asOf) {
			return &SinceError{AsOf: asOf, Since: since}
		}
		return nil
	}
	// Pinned before it is checked: a heartbeat in between must not let go of its blobs.
	take := func(s *state) error {
		r.pin(s.SeqNo)
		if err := check(s); err != nil {
			r.unpin(s.SeqNo)
			return err
		}
		return nil
	}
	s, _ := r.m.state()
	if err := take(s); err != nil {
		return nil, err
	}
	if !At(asOf).Before(s.upper()) {
		r.unpin(s.SeqNo)
		var err error
		s, err = r.m.waitPast(ctx, At(asOf), func(s *state) bool { return check(s) != nil })
		if err != nil {
			return nil, err
		}
		r.c.h.Sometimes("persist: a snapshot had to wait for the upper", true)
		if err := take(s); err != nil {
			return nil, err
		}
	}
	r.c.h.Always("persist: a snapshot is taken between since and upper",
		s.Since.LessEqual(asOf) && At(asOf).Before(s.upper()), "%s: %d in [%v, %v)", r.m.shard, asOf, s.Since, s.upper())
	return &Snapshot{r: r, asOf: asOf, seqno: s.SeqNo, batches: s.snapshotBatches(asOf)}, nil
}

// SnapshotAndFetch is Snapshot followed by Fetch and Close.
func (r *ReadHandle) SnapshotAndFetch(ctx context.Context, asOf uint64) ([]Update, error) {
	s, err := r.Snapshot(ctx, asOf)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Fetch(ctx)
}

// AsOf is the time of the snapshot.
func (s *Snapshot) AsOf() uint64 { return s.asOf }

// Close lets go of the snapshot's blobs.
func (s *Snapshot) Close() {
	if !s.closed {
		s.closed = true
		s.r.unpin(s.seqno)
	}
}

// Fetch returns the contents: one update for each datum whose multiplicity is not zero, with
// the snapshot's time, sorted by data. It fails with ErrLeaseExpired, ErrMissingBlob,
// ErrCorrupt, or ctx's error.
func (s *Snapshot) Fetch(ctx context.Context) ([]Update, error) {
	if s.closed {
		return nil, &InvalidUsage{Cause: ErrHandleClosed, Detail: "the snapshot was closed"}
	}
	fetches := s.fetches()
	if err := s.run(ctx, fetches); err != nil {
		return nil, err
	}
	var contents []Update
	for _, f := range fetches {
		contents = f.batch.asOf(s.asOf, f.updates, contents)
	}
	return Consolidate(contents), nil
}

// fetch is the fetching of one part.
type fetch struct {
	batch   *batch
	part    part
	updates []Update
	err     error
}

func (s *Snapshot) fetches() []*fetch {
	var fetches []*fetch
	for i := range s.batches {
		b := &s.batches[i]
		for _, p := range b.Parts {
			fetches = append(fetches, &fetch{batch: b, part: p})
		}
	}
	return fetches
}

// run does all fetches, several at a time, and returns the first error in their order.
func (s *Snapshot) run(ctx context.Context, fetches []*fetch) error {
	h := s.r.c.h
	todo := host.NewChan[*fetch](h, "persist fetches", len(fetches))
	for _, f := range fetches {
		todo.Send(f)
	}
	todo.Close()
	work := func() {
		for f, ok := todo.Recv(); ok; f, ok = todo.Recv() {
			f.updates, f.err = s.fetch(ctx, f.part)
		}
	}
	others := host.NewWaitGroup(h, "persist fetches")
	for range min(s.r.c.cfg.FetchParallelism, len(fetches)) - 1 {
		others.Go(h, "persist fetch", work)
	}
	work()
	others.Wait()
	for _, f := range fetches {
		if f.err != nil {
			return f.err
		}
	}
	return nil
}

func (s *Snapshot) fetch(ctx context.Context, p part) ([]Update, error) {
	c := s.r.c
	var value []byte
	var found bool
	err := retry(ctx, c.h, c.cfg, "get blob", p.Key, func() (err error) {
		value, found, err = c.blob.Get(ctx, p.Key)
		return err
	})
	if err != nil {
		return nil, harmless("get blob", p.Key, err)
	}
	if found {
		return decodePart(p, value)
	}
	// With its lease gone the reader no longer keeps its blobs from being deleted.
	latest, err := s.r.m.refresh(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.r.checkLease(latest); err != nil {
		return nil, err
	}
	c.h.Always("persist: a live reader's blobs are there", false, "%s: %s", s.r.m.shard, p.Key)
	return nil, fmt.Errorf("%w: %s of shard %q", ErrMissingBlob, p.Key, s.r.m.shard)
}
