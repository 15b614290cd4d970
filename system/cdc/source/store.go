package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord/wal"
	"github.com/simrun-dev/simrun/system/host"
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
	stalled  map[model.KeySpanID]model.Ts
	changed  *host.Chan[struct{}] // closed at the next change
}

type proposal struct {
	entry  entry
	ts     model.Ts
	err    error
	answer *host.Chan[struct{}] // of capacity 1
}

const (
	logName  = "source.log"
	maxGroup = 64
)

var (
	encoding = mustMode(func() (cbor.EncMode, error) {
		opts := cbor.CoreDetEncOptions()
		opts.String = cbor.StringToByteString
		return opts.EncMode()
	})
	decoding = mustMode(func() (cbor.DecMode, error) {
		return cbor.DecOptions{
			DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
			ByteStringToString: cbor.ByteStringToStringAllowed,
			MaxArrayElements:   math.MaxInt32, MaxMapPairs: math.MaxInt32,
		}.DecMode()
	})
)

func mustMode[M any](mode func() (M, error)) M {
	m, err := mode()
	if err != nil {
		panic("source: " + err.Error()) // the options above are constants
	}
	return m
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
		stalled:   map[model.KeySpanID]model.Ts{},
		changed:   host.NewChan[struct{}](h, "source changes", 0),
	}
	s.rewriteAt = s.cfg.RewriteAt
	var err error
	if s.log, err = wal.Open(h, dir, logName, s.replay); err != nil {
		if errors.Is(err, wal.ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, err
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

// Close ends the store once what was proposed is answered. No method may be called afterwards.
func (s *Store) Close() error {
	s.end()
	s.proposals.Close()
	s.closed.Recv()
	return s.log.Close()
}

func (s *Store) replay(record []byte) error {
	var entries []entry
	if err := decoding.Unmarshal(record, &entries); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind == entryImage {
			s.state = e.Image.state()
			continue
		}
		if _, done, err := s.state.apply(e); err == nil && done != nil {
			s.cfg.OnCommit(*done)
		}
	}
	return nil
}

func (s *Store) propose(ctx context.Context, e entry) (model.Ts, error) {
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
	}
	p := &proposal{entry: e, answer: host.NewChan[struct{}](s.h, "source answer", 1)}
	if err := s.proposals.SendContext(ctx, p); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotDone, err)
	}
	if _, _, err := p.answer.RecvContext(ctx); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return p.ts, p.err
}

// execute is the task that executes proposals.
func (s *Store) execute() {
	defer s.closed.Close()
	for {
		p, ok := s.proposals.Recv()
		if !ok {
			return
		}
		group := []*proposal{p}
		for len(group) < maxGroup {
			p, ok, ready := s.proposals.TryRecv()
			if !ready || !ok {
				break
			}
			group = append(group, p)
		}
		s.commit(group)
		for _, p := range group {
			p.answer.Send(struct{}{})
		}
		s.rewrite()
	}
}

// commit gives the group's entries their ts, makes them durable and lets them take effect. Until then
// no resolved ts comes near theirs.
func (s *Store) commit(group []*proposal) {
	entries := make([]entry, len(group))
	s.mu.Lock()
	for i, p := range group {
		if p.entry.stamped() {
			s.given = max(s.given+1, model.PhysicalTs(s.h.Clock().Now()))
			p.entry.Ts = s.given
			if s.pending == 0 {
				s.pending = s.given
			}
		}
		entries[i] = p.entry
	}
	s.mu.Unlock()
	undone, err := s.log.Append(s.encode(entries))
	if err != nil && !undone {
		s.settle()
	}
	s.mu.Lock()
	s.pending = 0
	for _, p := range group {
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrNotDone, err)
			continue
		}
		var done *Commit
		p.ts, done, p.err = s.state.apply(p.entry)
		s.reserved = max(s.reserved, s.state.last)
		switch p.entry.Kind {
		case entrySafepoint:
			s.expiry[p.entry.ID] = s.h.Clock().Now().Add(p.entry.TTL)
		case entryForget:
			delete(s.expiry, p.entry.ID)
		}
		if done != nil {
			s.cfg.OnCommit(*done)
		}
	}
	changed := s.changed
	s.changed = host.NewChan[struct{}](s.h, "source changes", 0)
	s.mu.Unlock()
	changed.Close()
}

// settle waits until a record that may be on the disk is surely not: the next one that goes in took its
// place. Without that a crash could bring back a commit that readers were told would not come.
func (s *Store) settle() {
	s.h.Sometimes("cdc/source: resolved ts wait for a write of unknown outcome", true)
	s.mu.Lock()
	bound := entry{Kind: entryBound, Ts: s.reserved}
	s.mu.Unlock()
	for {
		if _, err := s.log.Append(s.encode([]entry{bound})); err == nil {
			return
		}
		s.h.Clock().Sleep(20 * time.Millisecond)
	}
}

func (s *Store) encode(entries []entry) []byte {
	p, err := encoding.Marshal(entries)
	if err != nil {
		panic("source: " + err.Error()) // only this package's own types are encoded
	}
	return p
}

func (s *Store) rewrite() {
	if s.log.Size() < s.rewriteAt {
		return
	}
	s.mu.Lock()
	record := s.encode([]entry{{Kind: entryImage, Image: s.state.image()}, {Kind: entryBound, Ts: s.reserved}})
	s.mu.Unlock()
	before := s.log.Size()
	if err := s.log.Rewrite(record); err != nil {
		s.h.Logf("source: rewriting the log: %v", err)
		s.rewriteAt = 2 * before
		return
	}
	s.h.Sometimes("cdc/source: the log was rewritten", true)
	s.rewriteAt = max(s.cfg.RewriteAt, 4*s.log.Size())
}

// reserve is the task that reserves ts ahead of the clock, and forgets services that are not heard of.
func (s *Store) reserve() {
	for s.life.Err() == nil {
		now := s.h.Clock().Now()
		s.mu.Lock()
		var over []string
		for name, at := range s.expiry {
			if !now.Before(at) {
				over = append(over, name)
			}
		}
		low := s.reserved < model.PhysicalTs(now.Add(s.cfg.Reserve/2))
		s.mu.Unlock()
		if low {
			_, _ = s.propose(s.life, entry{Kind: entryBound, Ts: model.PhysicalTs(now.Add(s.cfg.Reserve))})
		}
		slices.Sort(over)
		for _, name := range over {
			s.h.Sometimes("cdc/source: a reader's safepoint expired", true)
			_, _ = s.propose(s.life, entry{Kind: entryForget, ID: name})
		}
		ctx, cancel := s.h.Clock().WithTimeout(s.life, s.cfg.Reserve/6)
		host.Select(s.h, host.OnDone(ctx))
		cancel()
	}
}

// nowLocked returns a ts that no commit to come has, nor has a smaller one.
func (s *Store) nowLocked() model.Ts {
	if s.pending != 0 {
		return s.pending - 1
	}
	s.given = max(s.given, min(model.PhysicalTs(s.h.Clock().Now()), s.reserved))
	return min(s.given, s.reserved)
}

// Now returns a ts that no commit to come has, nor has a smaller one; every commit that was
// acknowledged before has it or a smaller one.
func (s *Store) Now(ctx context.Context) (model.Ts, error) {
	spans, err := s.Spans(ctx)
	return spans.AsOf, err
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

// Spans returns the key spans.
func (s *Store) Spans(ctx context.Context) (Spans, error) {
	if ctx.Err() != nil {
		return Spans{}, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Spans{AsOf: s.nowLocked(), Spans: s.state.list()}, nil
}

// Safepoint holds history from ts on for a service, for as long as ttl without another call, and
// returns from where on history is kept. If that is beyond ts the call came too late. It fails with
// ErrNotDone or ErrUnknown.
func (s *Store) Safepoint(ctx context.Context, name string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	s.mu.Lock()
	if held, ok := s.state.services[name]; ok && held.Ts == ts && held.TTL == ttl {
		s.expiry[name] = s.h.Clock().Now().Add(ttl)
		safepoint := s.state.safepoint
		s.mu.Unlock()
		return safepoint, nil
	}
	s.mu.Unlock()
	if _, err := s.propose(ctx, entry{Kind: entrySafepoint, ID: name, Ts: ts, TTL: ttl}); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.safepoint, nil
}

// Release ends a service's hold on history. It fails with ErrNotDone or ErrUnknown.
func (s *Store) Release(ctx context.Context, name string) error {
	_, err := s.propose(ctx, entry{Kind: entryForget, ID: name})
	return err
}

// Stall holds the resolved ts of a key span where it is, or lets it go on: a fault.
func (s *Store) Stall(id model.KeySpanID, stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !stalled {
		delete(s.stalled, id)
	} else if _, already := s.stalled[id]; !already {
		s.stalled[id] = s.nowLocked()
	}
}

// SpanIDs are the ids of the key spans that are not dropped, sorted.
func (s *Store) SpanIDs() []model.KeySpanID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Collect(maps.Keys(s.state.spans))
	ids = slices.DeleteFunc(ids, func(id model.KeySpanID) bool { return s.state.spans[id].DropTs != 0 })
	slices.Sort(ids)
	return ids
}

func (s *Store) resolvedLocked(id model.KeySpanID) model.Ts {
	now := s.nowLocked()
	if at, ok := s.stalled[id]; ok {
		s.h.Sometimes("cdc/source: a key span's resolved ts is held up", at < now)
		return min(at, now)
	}
	return now
}

// Changes returns rows after the cursor, at once when there are any, and otherwise a new resolved ts
// after a while. It fails with ErrNoSpan or *GCError.
func (s *Store) Changes(ctx context.Context, from Cursor) (Changes, error) {
	deadline, cancel := s.h.Clock().WithTimeout(ctx, s.cfg.ResolvedInterval)
	defer cancel()
	for {
		s.mu.Lock()
		changes, changed, err := s.changesLocked(from)
		s.mu.Unlock()
		if err != nil || len(changes.Rows) > 0 || deadline.Err() != nil {
			return changes, err
		}
		_, _, _ = changed.RecvContext(deadline)
	}
}

func (s *Store) changesLocked(from Cursor) (Changes, *host.Chan[struct{}], error) {
	span := s.state.spans[from.Span]
	switch {
	case span == nil:
		return Changes{}, nil, fmt.Errorf("%w: %d", ErrNoSpan, from.Span)
	case from.After < s.state.safepoint && s.state.safepoint >= span.AddTs: // before, there was nothing
		return Changes{}, nil, &GCError{Asked: from.After, Safepoint: s.state.safepoint}
	}
	rows, upTo := span.changes(from.After)
	c := Changes{Rows: rows, Next: from, Resolved: min(s.resolvedLocked(span.ID), upTo)}
	if len(rows) > 0 {
		c.Next.After = rows[len(rows)-1].CommitTs
	}
	// A reader of a key span in which nothing happens has to move on, too: history before its cursor may
	// be given up.
	c.Next.After = max(c.Next.After, c.Resolved)
	if len(rows) > 1 && s.h.Buggify("cdc/source/rows come unsorted and twice") {
		c.Rows = append(c.Rows, rows[s.h.Rand().IntN(len(rows))])
		s.h.Rand().Shuffle(len(c.Rows), func(i, j int) { c.Rows[i], c.Rows[j] = c.Rows[j], c.Rows[i] })
	}
	return c, s.changed, nil
}

// Snapshot returns what was in a key span at a ts, sorted by key, each as the row that wrote it. It waits
// until the ts is resolved. It fails with ErrNoSpan or *GCError.
func (s *Store) Snapshot(ctx context.Context, id model.KeySpanID, asOf model.Ts) ([]Row, error) {
	for {
		s.mu.Lock()
		span := s.state.spans[id]
		var rows []Row
		var err error
		resolved := false
		switch {
		case span == nil:
			err = fmt.Errorf("%w: %d", ErrNoSpan, id)
		case asOf < s.state.safepoint:
			err = &GCError{Asked: asOf, Safepoint: s.state.safepoint}
		default:
			if resolved = asOf <= s.resolvedLocked(id); resolved {
				rows = span.contents(asOf)
			}
		}
		s.mu.Unlock()
		if err != nil || resolved {
			return rows, err
		}
		wait, cancel := s.h.Clock().WithTimeout(ctx, s.cfg.ResolvedInterval)
		host.Select(s.h, host.OnDone(wait))
		cancel()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotDone, ctx.Err())
		}
	}
}
