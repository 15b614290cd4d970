package coord

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// Election chooses one leader among sessions. Each participant puts a key under its lease, with the
// election's prefix; the one whose key was created first leads, until the key is gone.
//
// Leaders' revisions grow from one to the next, so that they serve as epochs. That somebody was made
// the leader does not say that it still is: it may have lost its session without knowing. A write
// that only the leader may make goes into a transaction with the condition [Election.Held].
type Election struct {
	s      *Session
	prefix string
	key    string

	mu       *host.Mutex
	campaign uint64   // the number of the last campaign, of those of the session in this election
	entered  Revision // of the key's creation by it, 0 when that is not known
	revision Revision // the same while it leads, and else 0
}

// Leader is who leads an election.
type Leader struct {
	// Value is what the leader proclaimed last, or else campaigned with.
	Value string
	// Revision is its epoch: greater than that of each leader before it.
	Revision Revision
	// Key is its key.
	Key string
}

// NewElection takes part in the election of that prefix, which should end in "/", for a session. A
// session takes part in an election once at a time.
func NewElection(s *Session, prefix string) *Election {
	return &Election{s: s, prefix: prefix, key: electionKey(prefix, s.id), mu: host.NewMutex(s.h, "coord election")}
}

func electionKey(prefix string, id LeaseID) string { return fmt.Sprintf("%s%016x", prefix, uint64(id)) }

// Key is the participant's key.
func (e *Election) Key() string { return e.key }

// Revision is the participant's epoch, 0 while it does not lead as far as it knows.
func (e *Election) Revision() Revision {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.revision
}

func (e *Election) set(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// Held is the condition that the participant still leads. Before Campaign has succeeded, and after Resign, it
// never holds.
func (e *Election) Held() Compare {
	r := e.Revision()
	if r == 0 {
		return Compare{Key: e.key, Target: CreateRevision, Is: Less} // than 0
	}
	return CreatedAt(e.key, r)
}

// Campaign takes part with a value, and waits until the participant leads. It fails with
// ErrSessionLost, or with ctx's error, and takes part no longer then.
func (e *Election) Campaign(ctx context.Context, value string) error {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	campaign := e.s.campaigns(e.prefix)
	e.set(func() { e.campaign, e.entered, e.revision = campaign, 0, 0 })
	var revision Revision
	var err error
	if campaign > 1 {
		err = e.clear(ctx)
	}
	if err == nil {
		revision, err = e.enter(ctx, value)
	}
	if err == nil {
		e.set(func() { e.entered = revision })
		err = e.awaitTurn(ctx, revision)
	}
	if err != nil {
		if e.s.Err() != nil {
			return e.s.Err()
		}
		// With a context of its own: the caller's is over, or may be.
		e.s.h.Go("coord election: leave", func() {
			_ = e.leave(e.s.life, campaign, revision)
			e.lookOut(campaign, revision)
		})
		return err
	}
	e.set(func() { e.revision = revision })
	return nil
}

// bounded ends ctx with the session.
func (e *Election) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	joint, cancel := host.WithCancel(e.s.h, ctx)
	e.s.h.Go("coord election: session", func() {
		host.Select(e.s.h, host.OnDone(joint), host.OnDone(e.s.life))
		cancel()
	})
	return joint, cancel
}

// clear deletes the key that the session may have in the election from before: a term that was ended by
// a Resign which did not get through must not go on as another one, with the same epoch.
func (e *Election) clear(ctx context.Context) error {
	return e.retried(ctx, func() (done bool, err error) {
		kv, ok, err := ReadKey(ctx, e.s.c, e.key)
		if err != nil || !ok {
			return err == nil, err
		}
		return false, e.delete(ctx, kv.CreateRevision)
	})
}

// enter puts the participant's key and returns the revision of its creation. It may be there already:
// from an attempt whose answer was lost.
func (e *Election) enter(ctx context.Context, value string) (Revision, error) {
	wait := backoff{h: e.s.h}
	for attempt := 0; ; attempt++ {
		r, err := e.s.c.Txn(ctx, Txn{
			If:   []Compare{Absent(e.key)},
			Then: []Op{PutLeased(e.key, value, e.s.id)},
			Else: []Op{Get(One(e.key))},
		})
		switch {
		case err == nil && r.Succeeded:
			return r.Revision, nil
		case err == nil:
			e.s.h.Sometimes("coord: a campaign found its own key after an unknown outcome", attempt > 0)
			kv := r.Ops[0].KVs[0]
			e.s.putArrived(e.prefix)
			if kv.Value == value {
				return kv.CreateRevision, nil
			}
			err = e.proclaim(ctx, kv.CreateRevision, value)
			if err == nil {
				return kv.CreateRevision, nil
			}
		case !errors.Is(err, ErrNotDone):
			e.s.putUnknown(e.prefix)
		}
		if !passing(err) && !errors.Is(err, ErrNotLeader) {
			if errors.Is(err, ErrNoLease) {
				e.s.mu.Lock()
				e.s.loseLocked(err)
				e.s.mu.Unlock()
			}
			return 0, err
		}
		if err := wait.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// awaitTurn waits until no key is older than the participant's.
func (e *Election) awaitTurn(ctx context.Context, revision Revision) error {
	wait := backoff{h: e.s.h}
	for {
		s, err := e.s.c.Range(ctx, Prefix(e.prefix), 0)
		if err != nil {
			if !passing(err) {
				return err
			}
			if err := wait.wait(ctx); err != nil {
				return err
			}
			continue
		}
		wait.reset()
		var before KeyValue // the youngest of those older
		mine := false
		for _, kv := range s.KVs {
			if kv.CreateRevision < revision && kv.CreateRevision > before.CreateRevision {
				before = kv
			}
			mine = mine || kv.Key == e.key && kv.CreateRevision == revision
		}
		switch {
		case !mine:
			e.s.h.Sometimes("coord: a candidate's key was gone before it led", true)
			return fmt.Errorf("%w: the key %s was deleted", ErrNotLeader, e.key)
		case before.Key == "":
			return nil
		}
		if err := e.awaitDeletion(ctx, before.Key, s.Revision+1); err != nil {
			return err
		}
	}
}

// awaitDeletion waits until the key is deleted, or may have been, from a revision on. The
// participant's own key is watched as well.
func (e *Election) awaitDeletion(ctx context.Context, key string, from Revision) error {
	watcher := e.s.c.Watch(Prefix(e.prefix), from)
	defer watcher.Close()
	for {
		events, err := watcher.Next(ctx)
		if errors.Is(err, ErrCompacted) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Deleted() && (event.Key == key || event.Key == e.key) {
				return nil
			}
		}
	}
}

// Proclaim gives the leader another value. It fails with ErrNotLeader, without effect.
func (e *Election) Proclaim(ctx context.Context, value string) error {
	return e.proclaim(ctx, e.Revision(), value)
}

func (e *Election) proclaim(ctx context.Context, revision Revision, value string) error {
	if revision == 0 {
		return ErrNotLeader
	}
	r, err := e.s.c.Txn(ctx, Txn{
		If:   []Compare{CreatedAt(e.key, revision)},
		Then: []Op{PutLeased(e.key, value, e.s.id)},
	})
	if err == nil && !r.Succeeded {
		return ErrNotLeader
	}
	return err
}

// Resign gives up the leadership, or the candidature. Ctx must be one that is not over. When it fails
// the key may still be there, until the session ends.
func (e *Election) Resign(ctx context.Context) error {
	var campaign uint64
	var entered Revision
	led := false
	e.set(func() { campaign, entered, led, e.revision = e.campaign, e.entered, e.revision != 0, 0 })
	err := e.leave(ctx, campaign, entered)
	if led && e.s.putsUnknown(e.prefix) > 0 {
		e.s.h.Go("coord election: look out", func() { e.lookOut(campaign, entered) })
	}
	return err
}

// lookOut deletes what a put of unknown outcome leaves behind when it gets to the service after the participant
// has left: a key that comes to lead, with nobody behind it who knows. It goes on until there is no such put any
// more, another campaign of the session begins, after which this is done again, or the session ends. Entered is when
// the key was created that the participant left, 0 when that is not known.
func (e *Election) lookOut(campaign uint64, entered Revision) {
	wait := backoff{h: e.s.h}
	for e.s.putsUnknown(e.prefix) > 0 && wait.wait(e.s.life) == nil {
		kv, ok, err := ReadKey(e.s.life, e.s.c, e.key)
		// Looked at after the key was read, as in leave.
		if e.s.campaign(e.prefix) != campaign {
			return
		}
		if err != nil || !ok || e.delete(e.s.life, kv.CreateRevision) != nil {
			continue
		}
		if kv.CreateRevision != entered {
			e.s.h.Sometimes("coord: a candidate's key came into being after it had left", true)
			e.s.putArrived(e.prefix)
		}
	}
}

// leave deletes the key that a campaign has put, and no other's: the session may have begun another campaign by
// the time that this gets through. Entered is when the key was created, 0 when that is not known.
func (e *Election) leave(ctx context.Context, campaign uint64, entered Revision) error {
	return e.retried(ctx, func() (done bool, err error) {
		if entered != 0 {
			return true, e.delete(ctx, entered)
		}
		kv, ok, err := ReadKey(ctx, e.s.c, e.key)
		if err != nil || !ok {
			return err == nil, err
		}
		if e.s.campaign(e.prefix) != campaign {
			return true, nil // that one clears away what it finds
		}
		// What was there before the next campaign began is not the next one's.
		entered = kv.CreateRevision
		return true, e.delete(ctx, entered)
	})
}

// delete deletes the key if it was created at a revision: an attempt that comes late hits no later one.
func (e *Election) delete(ctx context.Context, created Revision) error {
	r, err := e.s.c.Txn(ctx, Txn{
		If:   []Compare{CreatedAt(e.key, created)},
		Then: []Op{Delete(One(e.key))},
	})
	e.s.h.Sometimes("coord: the key of a candidate that leaves is gone already", err == nil && !r.Succeeded)
	return err
}

// retried makes an attempt until one is done, fails for good, or ctx ends: then it fails with both errors.
func (e *Election) retried(ctx context.Context, attempt func() (done bool, err error)) error {
	wait := backoff{h: e.s.h}
	for {
		done, err := attempt()
		if err == nil && done || err != nil && !passing(err) {
			return err
		}
		if over := wait.wait(ctx); over != nil {
			if err == nil {
				return over
			}
			return fmt.Errorf("%w: %w", over, err)
		}
	}
}

// CurrentLeader returns who leads the election of that prefix. It fails with ErrNoLeader.
func CurrentLeader(ctx context.Context, c KV, prefix string) (Leader, error) {
	s, err := c.Range(ctx, Prefix(prefix), 0)
	if err != nil {
		return Leader{}, err
	}
	leader, ok := LeaderIn(s.KVs, prefix)
	if !ok {
		return Leader{}, ErrNoLeader
	}
	return leader, nil
}

// LeaderIn returns who leads the election of that prefix according to a snapshot that has all its
// keys, and maybe others.
func LeaderIn(kvs []KeyValue, prefix string) (leader Leader, ok bool) {
	for _, kv := range kvs {
		if strings.HasPrefix(kv.Key, prefix) && (!ok || kv.CreateRevision < leader.Revision) {
			leader, ok = Leader{Value: kv.Value, Revision: kv.CreateRevision, Key: kv.Key}, true
		}
	}
	return leader, ok
}
