package persist

import (
	"context"
	"io"
)

// Listener follows a shard from a time on. It holds the shard's history as a reader does, and
// lets go of it as it gets on. It is used by one task at a time.
type Listener struct {
	r    *ReadHandle
	asOf uint64
	// frontier: everything before it has been emitted.
	frontier Frontier
	// done is how far the hold may follow: to where the latest event began. Not to where it
	// ended: history before the since may be merged into the since, and a listener at exactly
	// the since could not tell what it has emitted from what it has not.
	done Frontier
	// snapshot is whether the contents as of asOf are still to be emitted.
	snapshot bool
}

// Event is one step of a [Listener].
type Event struct {
	// Updates are consolidated, and sorted by time and data. Their times lie after AsOf, at or
	// beyond the progress of the event before, and before that of this one.
	Updates []Update
	// Progress: all updates of times before it have been emitted. It grows from event to event.
	Progress Frontier
	// Snapshot is true of the first event of a subscription only: then the updates are the
	// contents as of the subscription's time, all with that time, which is Progress as well.
	Snapshot bool
}

// Listen turns the handle into a listener to the updates of times after asOf, which may lie
// beyond the upper. The handle can't be used for anything else afterwards.
//
// It fails with *SinceError when asOf is before the since of the shard or of the handle, with
// ErrLeaseExpired, or with ctx's error. The handle is still a reader then, which may have given
// up the times before asOf.
func (r *ReadHandle) Listen(ctx context.Context, asOf uint64) (*Listener, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	s, _ := r.m.state()
	if err := r.checkLease(s); err != nil {
		return nil, err
	}
	if since := s.Since.Join(r.Since()); !since.LessEqual(asOf) {
		return nil, &SinceError{AsOf: asOf, Since: since}
	}
	// The hold is what makes asOf readable from here on, whatever the version above was. It may be
	// past asOf by now if others used the handle meanwhile.
	held, err := r.downgrade(ctx, At(asOf))
	if err != nil {
		return nil, err
	}
	if !held.LessEqual(asOf) {
		return nil, &SinceError{AsOf: asOf, Since: held}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.consumed {
		return nil, &InvalidUsage{Cause: ErrHandleConsumed}
	}
	r.consumed = true
	return &Listener{r: r, asOf: asOf, frontier: At(asOf), done: At(asOf)}, nil
}

// Subscribe is Listen, with the contents as of asOf as the first event. That event waits until
// the upper is past asOf; Subscribe does not.
func (r *ReadHandle) Subscribe(ctx context.Context, asOf uint64) (*Listener, error) {
	l, err := r.Listen(ctx, asOf)
	if err != nil {
		return nil, err
	}
	l.snapshot = true
	return l, nil
}

// Shard is the shard that is listened to.
func (l *Listener) Shard() ShardID { return l.r.m.shard }

// AsOf is the time after which updates are emitted.
func (l *Listener) AsOf() uint64 { return l.asOf }

// Frontier is the progress of the latest event: all updates of times before it, and after AsOf,
// have been emitted.
func (l *Listener) Frontier() Frontier { return l.frontier }

// Since is what the listener holds of the shard's history.
func (l *Listener) Since() Frontier { return l.r.Since() }

// Next waits until the shard's upper is past the listener's frontier, and returns what there is
// new. Every update of a time after AsOf is emitted once, whatever is merged or deleted in the
// shard meanwhile.
//
// It fails with io.EOF once the shard is closed and everything was emitted, with
// ErrLeaseExpired, ErrMissingBlob, ErrCorrupt or ctx's error. Nothing is lost by an error: the
// next call goes on where this one would have.
func (l *Listener) Next(ctx context.Context) (Event, error) {
	if err := l.r.alive(); err != nil {
		return Event{}, err
	}
	if l.snapshot {
		return l.first(ctx)
	}
	if l.frontier.IsEmpty() {
		return Event{}, io.EOF
	}
	r := l.r
	if _, err := r.maybeDowngrade(ctx, l.done); err != nil {
		return Event{}, err
	}
	s, waited, err := r.pinPast(ctx, l.frontier, func(*state) error { return nil })
	if err != nil {
		return Event{}, err
	}
	defer r.unpin(s.SeqNo)
	if s.Since.IsEmpty() {
		return Event{}, r.lost() // the shard would have to keep what the listener holds
	}
	b := s.batchAt(l.frontier)
	// A registered reader's hold is before its frontier, and no batch's since is past a hold.
	begun := l.frontier != At(l.asOf)
	told := b.Since.Before(l.frontier) || !begun && b.Since == l.frontier
	r.c.h.Always("persist: a listener can tell new updates from old ones", told,
		"%s: frontier %v, batch [%v, %v) since %v", r.m.shard, l.frontier, b.Lower, b.Upper, b.Since)
	if !told {
		return Event{}, &SinceError{AsOf: l.asOf, Since: b.Since}
	}
	fetched, err := r.fetch(ctx, []batch{b}, r.m.fetchShared)
	if err != nil {
		return Event{}, err
	}
	updates := b.news(l.asOf, l.frontier, fetched[0], nil)
	r.c.h.Sometimes("persist: a listener had to wait for the upper", waited)
	r.c.h.Sometimes("persist: a listener met a batch of which it had emitted a part", b.Lower.Before(l.frontier) && begun)
	r.c.h.Sometimes("persist: a listener met a merged batch", b.Since != Frontier{})
	l.done, l.frontier = l.frontier, b.Upper
	r.want(l.done)
	return Event{Updates: Consolidate(updates), Progress: b.Upper}, nil
}

// first emits the snapshot of a subscription.
func (l *Listener) first(ctx context.Context) (Event, error) {
	s, err := l.r.snapshot(ctx, l.asOf)
	if err != nil {
		return Event{}, err
	}
	defer s.Close()
	contents, err := s.Fetch(ctx)
	if err != nil {
		return Event{}, err
	}
	l.snapshot = false
	return Event{Updates: contents, Progress: At(l.asOf), Snapshot: true}, nil
}

// Expire gives up what the listener holds. It can't be used afterwards.
func (l *Listener) Expire(ctx context.Context) error { return l.r.Expire(ctx) }

// Close is Expire that does not wait. If it does not succeed the lease runs out.
func (l *Listener) Close() { l.r.Close() }
