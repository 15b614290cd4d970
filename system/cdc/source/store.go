package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

// Config are the times of a [Store]. The zero value means the defaults.
type Config struct {
	// ResolvedInterval is how often a reader that has all rows is told a new resolved ts. Default
	// 100 ms.
	ResolvedInterval time.Duration
	// Reserve is for how long, ahead of the clock, ts are reserved on the disk. Default 3 s.
	Reserve time.Duration
	// RewriteAt is the size of the log, in bytes, below which it is not rewritten. Default 1 MiB.
	RewriteAt int64
	// OnCommit is told of everything that took effect, once it is durable, in the order of ts: also of
	// what is found on the disk at the start, and so of some of it repeatedly. It must not wait.
	OnCommit func(Commit)
}

func (c Config) withDefaults() Config {
	if c.ResolvedInterval <= 0 {
		c.ResolvedInterval = 100 * time.Millisecond
	}
	if c.Reserve <= 0 {
		c.Reserve = 3 * time.Second
	}
	if c.RewriteAt <= 0 {
		c.RewriteAt = 1 << 20
	}
	if c.OnCommit == nil {
		c.OnCommit = func(Commit) {}
	}
	return c
}

// Store is the upstream store, on one machine's disk. One task executes everything that changes it, a
// group at a time: the group is logged and synced, then takes effect and is answered.
type Store struct {
	h         host.Host
	cfg       Config
	log       *wal.Log // of the executing task
	rewriteAt int64
	// unsettled: a record may be on the disk, and the store ends before it is known whether. Of the executing task;
	// nothing is written any more, and pending stays.
	unsettled bool
	proposals *host.Chan[*proposal]
	closed    *host.Chan[struct{}]
	life      context.Context
	end       context.CancelFunc

	mu       *host.Mutex
	state    *state
	given    model.Ts // the largest ts that was given out, to a commit or as a resolved ts
	reserved model.Ts // given out are only ts up to this one, which is durable
	pending  model.Ts // the least ts of the group that is being logged, 0 while none is
	expiry   map[string]time.Time
	// expiring are the services that are being forgotten, since their time is over: what renews one has to come
	// after that.
	expiring map[string]bool
	stalled  map[model.KeySpanID]model.Ts
	changed  *host.Chan[struct{}] // closed at the next change
}

// Open opens the store in the directory of the host's disk, "" for the root. It fails with ErrCorrupt
// when the log is damaged elsewhere than at its end.
func Open(h host.Host, dir string, cfg Config) (*Store, error) {
	s := &Store{
		h: h, cfg: cfg.withDefaults(),
		proposals: host.NewChan[*proposal](h, "source proposals", maxGroup),
		closed:    host.NewChan[struct{}](h, "source closed", 0),
		mu:        host.NewMutex(h, "source"),
		state:     newState(),
		expiry:    map[string]time.Time{},
		expiring:  map[string]bool{},
		stalled:   map[model.KeySpanID]model.Ts{},
		changed:   host.NewChan[struct{}](h, "source changes", 0),
	}
	s.rewriteAt = s.cfg.RewriteAt
	var err error
	var found []Commit
	s.log, err = wal.Open(h, dir, logName, logMagic, func(record []byte) error {
		commits, err := s.replay(record)
		found = append(found, commits...)
		return err
	})
	if err != nil {
		if errors.Is(err, wal.ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, err
	}
	// What a record says may be in the system's memory only, where a failed sync left it: until the log is open it
	// is not durable.
	for _, c := range found {
		s.cfg.OnCommit(c)
	}
	s.given, s.reserved = s.state.last, s.state.last
	for name, service := range s.state.services {
		s.expiry[name] = h.Clock().Now().Add(service.TTL)
	}
	s.life, s.end = host.WithCancel(h, context.Background())
	h.Go("source store", s.execute)
	h.Go("source reserve", s.reserve)
	return s, nil
}

// Close ends the store once what was proposed is answered, if only with what is known of it. No method may be
// called afterwards.
func (s *Store) Close() error {
	s.end()
	s.proposals.Close()
	s.closed.Recv()
	return s.log.Close()
}

// replay executes a record of the log, and returns what took effect.
func (s *Store) replay(record []byte) (commits []Commit, err error) {
	var entries []entry
	if err := wal.Decode(record, &entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := e.check(); err != nil {
			return nil, err
		}
		if e.Kind == entryImage {
			s.state = e.Image.state()
			continue
		}
		if _, done, err := s.state.apply(e); err == nil && done != nil {
			commits = append(commits, *done)
		}
	}
	return commits, nil
}

// Commit executes a transaction and returns its commit ts. The id, if it is not "", makes it take
// effect once however often it is proposed, as long as its history is kept. It fails with ErrNoSpan,
// ErrNotDone or ErrUnknown.
func (s *Store) Commit(ctx context.Context, id string, mutations []Mutation) (model.Ts, error) {
	return s.propose(ctx, entry{Kind: entryCommit, ID: id, Mutations: mutations})
}

// AddSpan adds a key span and returns its AddTs. It fails with ErrSpanExists, but for one that is there
// as asked.
func (s *Store) AddSpan(ctx context.Context, id model.KeySpanID, start, end string) (model.Ts, error) {
	return s.propose(ctx, entry{Kind: entryAdd, Span: &KeySpan{ID: id, Start: start, End: end}})
}

// DropSpan drops a key span and returns its DropTs. It fails with ErrNoSpan.
func (s *Store) DropSpan(ctx context.Context, id model.KeySpanID) (model.Ts, error) {
	return s.propose(ctx, entry{Kind: entryDrop, Span: &KeySpan{ID: id}})
}
