package coord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

// StoreConfig are the limits of a [Store]. The zero value means the defaults.
type StoreConfig struct {
	// Retain is how many revisions of history are kept at least; at twice as many the rest is
	// compacted. Default 10,000; negative keeps all.
	Retain int
	// RewriteAt is the size of the log, in bytes, below which it is not rewritten. Default 1 MiB.
	RewriteAt int64
	// MaxWatchWait bounds how long the server keeps a remote watcher waiting for an answer. Default 10 s.
	MaxWatchWait time.Duration
}

func (c StoreConfig) withDefaults() StoreConfig {
	if c.Retain == 0 {
		c.Retain = 10_000
	}
	if c.RewriteAt <= 0 {
		c.RewriteAt = 1 << 20
	}
	if c.MaxWatchWait <= 0 {
		c.MaxWatchWait = 10 * time.Second
	}
	return c
}

// Store is the service itself: a Client, for the process that it is in.
//
// One task executes all commands. On a disk it logs them first; what reaches it while it syncs
// becomes one record and one sync. Leases are measured by the host's clock, from when the process
// started at the earliest: after a restart each has its whole time to live again.
type Store struct {
	h         host.Host
	cfg       StoreConfig
	log       *wal.Log // of the executing task; nil in memory
	rewriteAt int64    // size of the log at which it is next rewritten
	proposals *host.Chan[*proposal]
	closed    *host.Chan[struct{}] // closed when the executing task has ended
	life      context.Context
	end       context.CancelFunc

	mu       *host.Mutex
	state    *state
	ends     map[LeaseID]time.Time // when leases end
	ending   map[LeaseID]bool      // those whose time is over, and which are being revoked
	advanced *host.Chan[struct{}]  // closed at the next revision
	granted  *host.Chan[struct{}]  // of capacity 1: a lease was made
}

type proposal struct {
	op      string
	command command
	result  TxnResult
	err     error
	answer  *host.Chan[struct{}] // of capacity 1
}

var logMagic = wal.Magic{'w', 'a', 'l', '1'}

const (
	logName = "coord.log"
	// maxGroup bounds the commands of one record.
	maxGroup = 128
)

// NewMemory returns an empty store that is gone with the process.
func NewMemory(h host.Host, cfg StoreConfig) *Store {
	s := newStore(h, cfg)
	s.start()
	return s
}

// Open opens the store in the directory of the host's disk, "" for the root. It fails with ErrCorrupt
// when the log is damaged elsewhere than at its end.
func Open(h host.Host, dir string, cfg StoreConfig) (*Store, error) {
	s := newStore(h, cfg)
	var err error
	if s.log, err = wal.Open(h, dir, logName, logMagic, s.replay); err != nil {
		if errors.Is(err, wal.ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, err
	}
	now := h.Clock().Now()
	for id, l := range s.state.leases {
		s.ends[id] = now.Add(l.ttl)
	}
	s.start()
	return s, nil
}

func newStore(h host.Host, cfg StoreConfig) *Store {
	s := &Store{
		h: h, cfg: cfg.withDefaults(),
		proposals: host.NewChan[*proposal](h, "coord proposals", maxGroup),
		closed:    host.NewChan[struct{}](h, "coord closed", 0),
		mu:        host.NewMutex(h, "coord store"),
		state:     newState(),
		ends:      map[LeaseID]time.Time{},
		ending:    map[LeaseID]bool{},
		advanced:  host.NewChan[struct{}](h, "coord revisions", 0),
		granted:   host.NewChan[struct{}](h, "coord leases", 1),
	}
	s.rewriteAt = s.cfg.RewriteAt
	s.life, s.end = host.WithCancel(h, context.Background())
	return s
}

func (s *Store) start() {
	s.h.Go("coord store", s.execute)
	s.h.Go("coord leases", s.expire)
}

// Close ends the store once the commands given so far are answered. No method may be called
// afterwards.
func (s *Store) Close() error {
	s.end()
	s.proposals.Close()
	s.closed.Recv()
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}

func (s *Store) replay(record []byte) error {
	var commands []command
	if err := wal.Decode(record, &commands); err != nil {
		return err
	}
	for _, c := range commands {
		if err := c.check(); err != nil {
			return err
		}
		if c.Kind == commandImage {
			s.state = c.Image.state()
			continue
		}
		_, _ = s.state.apply(c) // what was refused then is refused now
	}
	return nil
}

// propose has a command executed and waits for what came of it.
func (s *Store) propose(ctx context.Context, op string, c command) (TxnResult, error) {
	if ctx.Err() != nil {
		return TxnResult{}, notDone(op, ctx.Err())
	}
	p := &proposal{op: op, command: c, answer: host.NewChan[struct{}](s.h, "coord answer", 1)}
	if err := s.proposals.SendContext(ctx, p); err != nil {
		return TxnResult{}, notDone(op, err)
	}
	if _, _, err := p.answer.RecvContext(ctx); err != nil {
		return TxnResult{}, unknown(op, err)
	}
	return p.result, p.err
}

// execute is the task that executes commands.
func (s *Store) execute() {
	defer s.closed.Close()
	for {
		group := s.proposals.RecvGroup(maxGroup)
		if group == nil {
			return
		}
		s.h.Sometimes("coord: several commands were synced at once", len(group) > 1)
		s.commit(group)
		for _, p := range group {
			p.answer.Send(struct{}{})
		}
		s.maintain()
	}
}

// commit logs the group's commands and executes them.
func (s *Store) commit(group []*proposal) {
	if err := s.record(group); err != nil {
		for _, p := range group {
			p.err = &CallError{Op: p.op, Kind: err.Kind, Err: err.Err}
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state.revision
	for _, p := range group {
		p.result, p.err = s.state.apply(p.command)
		switch p.command.Kind {
		case commandGrant:
			if _, ok := s.ends[p.command.Lease]; !ok {
				s.ends[p.command.Lease] = s.h.Clock().Now().Add(p.command.TTL)
				s.granted.Offer(struct{}{})
			}
		case commandRevoke:
			delete(s.ends, p.command.Lease)
			delete(s.ending, p.command.Lease)
		}
	}
	if s.state.revision > before {
		s.advanced.Close()
		s.advanced = host.NewChan[struct{}](s.h, "coord revisions", 0)
	}
}

// record makes the group's commands durable, if there is a disk.
func (s *Store) record(group []*proposal) *CallError {
	if s.log == nil {
		return nil
	}
	commands := make([]command, len(group))
	for i, p := range group {
		commands[i] = p.command
	}
	undone, err := s.log.Append(wal.Encode(commands))
	switch {
	case err == nil:
		return nil
	case undone:
		return &CallError{Kind: ErrNotDone, Err: err}
	}
	s.h.Sometimes("coord: the outcome of commands is not known to the server", true)
	return &CallError{Kind: ErrUnknown, Err: err}
}

// maintain compacts the history and rewrites the log, where that is due.
func (s *Store) maintain() {
	s.mu.Lock()
	history, revision := s.state.revision-s.state.compacted, s.state.revision
	s.mu.Unlock()
	if retain := Revision(max(s.cfg.Retain, 0)); s.cfg.Retain > 0 && history >= 2*retain {
		p := &proposal{op: "compact", command: command{Kind: commandCompact, Before: revision - retain}}
		s.commit([]*proposal{p})
		s.h.Sometimes("coord: history was compacted", p.err == nil) // and else soon
	}
	if s.log == nil || s.log.Size() < s.rewriteAt {
		return
	}
	s.mu.Lock()
	image := s.state.image()
	s.mu.Unlock()
	before := s.log.Size()
	if err := s.log.Rewrite(wal.Encode([]command{{Kind: commandImage, Image: &image}})); err != nil {
		s.h.Logf("coord: rewriting the log: %v", err)
		s.rewriteAt = 2 * before
		return
	}
	s.rewriteAt = max(s.cfg.RewriteAt, 4*s.log.Size())
	s.h.Sometimes("coord: the log was rewritten", true)
}

// expire is the task that revokes leases whose time is over.
func (s *Store) expire() {
	for s.life.Err() == nil {
		over, next := s.over()
		for _, id := range over {
			s.h.Sometimes("coord: a lease expired", true)
			_, err := s.propose(s.life, "expire", command{Kind: commandRevoke, Lease: id})
			if err != nil && s.life.Err() == nil {
				s.h.Logf("coord: expiring lease %x: %v", uint64(id), err)
			}
		}
		if len(over) > 0 {
			next = min(next, retryMax) // some may have failed
		}
		ctx, cancel := s.h.Clock().WithTimeout(s.life, next)
		_, _, _ = s.granted.RecvContext(ctx)
		cancel()
	}
}

// over are the leases whose time is over, sorted, and how long until the next one's is.
func (s *Store) over() (over []LeaseID, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.h.Clock().Now()
	next = time.Hour
	for id, end := range s.ends {
		if left := end.Sub(now); left > 0 && !s.ending[id] {
			next = min(next, left)
		} else {
			// For good, also if the clock is set back before it is revoked.
			s.ending[id] = true
			over = append(over, id)
		}
	}
	slices.Sort(over)
	return over, next
}

// Range is part of Client.
func (s *Store) Range(ctx context.Context, keys Keys, at Revision) (Snapshot, error) {
	if ctx.Err() != nil {
		return Snapshot{}, notDone("range", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.snapshot(keys, at)
}

// Txn is part of Client.
func (s *Store) Txn(ctx context.Context, t Txn) (TxnResult, error) {
	if err := t.check(); err != nil {
		return TxnResult{}, err
	}
	if t.Writes() {
		return s.propose(ctx, "txn", command{Kind: commandTxn, Txn: &t})
	}
	if ctx.Err() != nil {
		return TxnResult{}, notDone("txn", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.txn(t)
}

// Compact is part of Client.
func (s *Store) Compact(ctx context.Context, before Revision) error {
	_, err := s.propose(ctx, "compact", command{Kind: commandCompact, Before: before})
	return err
}

// Grant is part of Client.
func (s *Store) Grant(ctx context.Context, id LeaseID, ttl time.Duration) error {
	if id == 0 || ttl <= 0 {
		return fmt.Errorf("%w: lease %x with a time to live of %v", ErrInvalid, uint64(id), ttl)
	}
	_, err := s.propose(ctx, "grant", command{Kind: commandGrant, Lease: id, TTL: ttl})
	return err
}

// KeepAlive is part of Client.
func (s *Store) KeepAlive(ctx context.Context, id LeaseID) error {
	if ctx.Err() != nil {
		return notDone("keep-alive", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, now := s.state.leases[id], s.h.Clock().Now()
	end, known := s.ends[id]
	// One whose time is over is gone, though its keys are still there for a moment: expire is about
	// to revoke it, or does so right now.
	if l == nil || !known || s.ending[id] || !now.Before(end) {
		s.h.Sometimes("coord: a keep-alive came too late", l != nil)
		return fmt.Errorf("%w: %x", ErrNoLease, uint64(id))
	}
	s.ends[id] = now.Add(l.ttl)
	return nil
}

// Revoke is part of Client.
func (s *Store) Revoke(ctx context.Context, id LeaseID) error {
	_, err := s.propose(ctx, "revoke", command{Kind: commandRevoke, Lease: id})
	return err
}

// Lease is part of Client.
func (s *Store) Lease(ctx context.Context, id LeaseID) (LeaseInfo, error) {
	if ctx.Err() != nil {
		return LeaseInfo{}, notDone("lease", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.state.leases[id]
	if l == nil {
		return LeaseInfo{}, fmt.Errorf("%w: %x", ErrNoLease, uint64(id))
	}
	return LeaseInfo{TTL: l.ttl, Remaining: max(0, s.h.Clock().Until(s.ends[id])), Keys: l.sortedKeys()}, nil
}

// LeaseIDs are the leases that there are, sorted: for faults that end one.
func (s *Store) LeaseIDs() []LeaseID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.state.leases))
}

// Usage is what a Store keeps.
type Usage struct {
	// Keys are those that exist, Entries what is kept of these and of deleted ones, Revisions those that can be read.
	Keys, Entries, Revisions int
	Leases                   int
}

// Usage is how much the store keeps.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{Revisions: int(s.state.revision-s.state.compacted) + 1, Leases: len(s.state.leases)}
	for key, entries := range s.state.entries {
		u.Entries += len(entries)
		if s.state.latest(key).Version > 0 {
			u.Keys++
		}
	}
	return u
}

// Watch is part of Client.
func (s *Store) Watch(keys Keys, from Revision) Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == 0 {
		from = s.state.revision + 1
	}
	return &storeWatcher{s: s, keys: keys, next: from}
}

// await waits for changes of the keys from a revision on, and returns them with the revision from
// which to go on; none, when ctx ends first.
func (s *Store) await(ctx context.Context, keys Keys, from Revision) (events []Event, next Revision, err error) {
	for {
		s.mu.Lock()
		advanced := s.advanced
		events, next, err = s.state.since(keys, from)
		s.mu.Unlock()
		if err != nil || len(events) > 0 {
			return events, next, err
		}
		from = next
		if _, _, err := advanced.RecvContext(ctx); err != nil {
			return nil, next, nil
		}
	}
}

type storeWatcher struct {
	s    *Store
	keys Keys
	next Revision
}

func (w *storeWatcher) Next(ctx context.Context) ([]Event, error) {
	events, next, err := w.s.await(ctx, w.keys, w.next)
	if err != nil {
		return nil, err
	}
	w.next = next
	if len(events) == 0 {
		return nil, ctx.Err()
	}
	return events, nil
}

func (w *storeWatcher) Close() {}
