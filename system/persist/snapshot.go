package persist

import "context"

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
	return r.snapshot(ctx, asOf)
}

func (r *ReadHandle) snapshot(ctx context.Context, asOf uint64) (*Snapshot, error) {
	s, waited, err := r.pinPast(ctx, At(asOf), func(s *state) error {
		if since := s.Since.Join(r.Since()); !since.LessEqual(asOf) {
			return &SinceError{AsOf: asOf, Since: since}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.c.h.Sometimes("persist: a snapshot had to wait for the upper", waited)
	r.c.h.Always("persist: a snapshot is taken between since and upper",
		s.Since.LessEqual(asOf) && At(asOf).Before(s.upper()), "%s: %d in [%v, %v)", r.m.shard, asOf, s.Since, s.upper())
	return &Snapshot{r: r, asOf: asOf, seqno: s.SeqNo, batches: s.snapshotBatches(asOf)}, nil
}

// pinPast waits until the upper is past f, and returns a version where it is, pinned. It fails
// when the lease has expired, or check does, of any version it meets on the way.
func (r *ReadHandle) pinPast(ctx context.Context, f Frontier, check func(*state) error) (s *state, waited bool, err error) {
	judge := func(s *state) error {
		if err := r.checkLease(s); err != nil {
			return err
		}
		return check(s)
	}
	for {
		// Pinned before it is looked at: a heartbeat in between must not let go of its blobs.
		s := r.pin()
		err := judge(s)
		if err == nil && f.Before(s.upper()) {
			return s, waited, nil
		}
		r.unpin(s.SeqNo)
		if err != nil {
			return nil, waited, err
		}
		waited = true
		if _, err := r.m.waitPast(ctx, f, func(s *state) bool { return judge(s) != nil }); err != nil {
			return nil, waited, err
		}
	}
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
	fetched, err := s.r.fetch(ctx, s.batches, s.r.m.fetchPart)
	if err != nil {
		return nil, err
	}
	var contents []Update
	for i := range s.batches {
		contents = s.batches[i].asOf(s.asOf, fetched[i], contents)
	}
	return Consolidate(contents), nil
}
