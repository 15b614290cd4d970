package persist

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// machine executes commands on one shard, for all of a client's handles on it. It keeps the
// latest version it has seen; that may be a stale one, which never matters to a command that
// commits, as Consensus takes the next version only from who knows the one before.
type machine struct {
	h       host.Host
	cfg     Config
	shard   ShardID
	blob    Blob
	history history
	life    context.Context // the client's

	policy policy

	mu      *host.Mutex
	cached  *state
	changed *host.Chan[struct{}] // closed, and replaced, when cached changes
	writes  bool                 // some handle writes
	busy    map[string]bool      // chores under way
	readers []*ReadHandle        // whose leases are kept alive
	beating bool                 // a task does that
	looks   looks
	shared  []*sharedPart // oldest first
}

func newMachine(h host.Host, cfg Config, shard ShardID, blob Blob, consensus Consensus, life context.Context) *machine {
	return &machine{
		h: h, cfg: cfg, shard: shard, blob: blob, life: life, policy: cfg.policy(),
		busy:    map[string]bool{},
		history: history{consensus: consensus, blob: blob, shard: shard},
		mu:      host.NewMutex(h, "persist state of "+string(shard)),
		changed: host.NewChan[struct{}](h, "persist change of "+string(shard), 0),
	}
}

// now is the time in milliseconds, of this machine's clock.
func (m *machine) now() uint64 { return millis(m.h.Clock().Now()) }

func millis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// state is the latest version seen, and a channel that is closed once there is a later one.
func (m *machine) state() (*state, *host.Chan[struct{}]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cached, m.changed
}

// startWriting is state for a handle that writes.
func (m *machine) startWriting() *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes = true
	return m.cached
}

// adopt makes s the latest version seen, if it is.
func (m *machine) adopt(s *state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.cached
	if old != nil && old.SeqNo >= s.SeqNo {
		return
	}
	err := s.check()
	m.h.Always("persist: a version of a shard is consistent", err == nil, "%s at %d: %v", m.shard, s.SeqNo, err)
	if old != nil {
		err := old.checkSuccessor(s)
		m.h.Always("persist: upper and since never go back", err == nil, "%s: %v", m.shard, err)
	}
	if old == nil || old.upper() != s.upper() {
		m.h.Note("persist.upper/"+string(m.shard), s.upper().String())
	}
	if old == nil || old.Since != s.Since {
		m.h.Note("persist.since/"+string(m.shard), s.Since.String())
	}
	// By orders of magnitude: what a run did to a shard shows in that, and not in each append.
	if size := bits.Len(uint(len(s.Batches))); old == nil || bits.Len(uint(len(old.Batches))) != size {
		m.h.Note("persist.batches/"+string(m.shard), strconv.Itoa(1<<size>>1))
	}
	m.cached = s
	m.changed.Close()
	m.changed = host.NewChan[struct{}](m.h, m.changed.Name(), 0)
}

// open makes sure that the shard has a first version and that some version is cached.
func (m *machine) open(ctx context.Context) error {
	if s, _ := m.state(); s != nil {
		return nil
	}
	return retry(ctx, m.h, m.cfg, "open", string(m.shard), func() error {
		s, _, err := m.history.load(ctx, nil)
		if err != nil {
			return err
		}
		if s == nil {
			s = initialState(m.now())
			first, err := m.history.propose(&state{}, s)
			if err != nil {
				return err
			}
			committed, err := m.history.commit(ctx, &state{}, first)
			if err != nil {
				return err
			}
			if !committed {
				m.h.Sometimes("persist: two initialised a shard at once", true)
				return determinate("open", string(m.shard), errors.New("somebody else has just initialised the shard"))
			}
		}
		m.adopt(s)
		return nil
	})
}

// refresh fetches the latest version. It reflects every command acknowledged before the call.
func (m *machine) refresh(ctx context.Context) (*state, error) {
	before, _ := m.state()
	number := m.beginLook()
	var s *state
	var rebuilt bool
	known := before
	if m.h.Buggify("persist/rebuild instead of following") {
		known = nil
	}
	err := retry(ctx, m.h, m.cfg, "fetch state", string(m.shard), func() (err error) {
		s, rebuilt, err = m.history.load(ctx, known)
		if err == nil && (s == nil || s.SeqNo < before.SeqNo) {
			_, err = m.history.follow(ctx, before) // says what is wrong
		}
		return err
	})
	// Going on would mean to never get a version in, or to append anew what others know to
	// have been appended.
	m.h.Always("persist: consensus keeps what it acknowledged", !errors.Is(err, ErrRegressed), "%v", err)
	if err != nil {
		return nil, harmless("fetch state", string(m.shard), err)
	}
	m.h.Sometimes("persist: a state was rebuilt from a rollup", rebuilt && len(s.Rollups) > 0)
	m.h.Sometimes("persist: the versions since the last look were dropped already", rebuilt && known != nil)
	m.adopt(s)
	m.endLook(number)
	s, _ = m.state() // a later one, if another task was faster
	return s, nil
}

// command applies work to the latest version until it declines, or what it made of it is
// committed. It returns the version that the answer is about: the one committed, or the one,
// perhaps stale, about which work declined.
//
// Attempts that surely did not take effect are repeated. An attempt whose outcome is unknown
// ends the command, with ErrIndeterminate: what to do next depends on what the work was. Work
// runs once for each attempt; the time it is given is always that of the attempt, as a command
// that retries for minutes must not leave behind a heartbeat minutes old.
func (m *machine) command(ctx context.Context, work func(next *state, now uint64) verdict) (*state, error) {
	wait := newBackoff(m.h, m.cfg.RetryMin, m.cfg.RetryMax)
	for {
		base, _ := m.state()
		if m.h.Buggify("persist/refresh before a command") {
			var err error
			if base, err = m.refresh(ctx); err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, determinate("change state", string(m.shard), ctx.Err())
		}
		now := m.now()
		next := base.clone()
		next.SeqNo++
		next.Walltime = max(now, base.Walltime+1)
		if work(next, now) == decline {
			return base, nil
		}
		registered := next.checkNewcomers(base, now)
		m.h.Always("persist: a reader's lease begins when it is registered", registered == nil, "%s: %v", m.shard, registered)
		since := next.Since
		readers, writers := next.expireLeases(now)
		m.h.Always("persist: leases that run out leave the since where it is", next.Since == since, "%s: %v, %v before", m.shard, next.Since, since)
		m.h.Sometimes("persist: a reader's lease expired", readers > 0)
		m.h.Sometimes("persist: a writer's lease expired", writers > 0)

		chores := m.assign(next)

		proposed, err := m.history.propose(base, next)
		m.h.Always("persist: the differences make the next version of the one before", err == nil, "%s: %v", m.shard, err)
		if err != nil {
			return nil, err // nobody could go on from it
		}
		committed, err := m.history.commit(ctx, base, proposed)
		switch {
		case err == nil && committed:
			m.adopt(next)
			m.start(chores, next)
			return next, nil
		case err == nil:
			m.h.Sometimes("persist: a command lost a race and was tried again", true)
			latest, err := m.refresh(ctx)
			if err != nil {
				return nil, err
			}
			if latest.SeqNo > base.SeqNo {
				wait.reset()
				continue
			}
			// Whoever won is not to be seen yet. Don't ask again at once.
		case !errors.Is(err, ErrDeterminate):
			return nil, err
		}
		if err := wait.wait(ctx); err != nil {
			return nil, determinate("change state", string(m.shard), err)
		}
	}
}

// idempotent is command for work that may take effect twice: attempts whose outcome is unknown
// are repeated as well. Uncertain tells that there were such, so that the answer may be one to
// a state that an earlier attempt has already changed.
func (m *machine) idempotent(ctx context.Context, work func(next *state, now uint64) verdict) (s *state, uncertain bool, err error) {
	wait := newBackoff(m.h, m.cfg.RetryMin, m.cfg.RetryMax)
	for {
		s, err := m.command(ctx, work)
		if err == nil {
			return s, uncertain, nil
		}
		if !errors.Is(err, ErrIndeterminate) {
			if uncertain {
				err = indeterminate("change state", string(m.shard), err)
			}
			return nil, uncertain, err
		}
		uncertain = true
		if wait.wait(ctx) != nil {
			return nil, true, indeterminate("change state", string(m.shard), fmt.Errorf("%w: %w", ctx.Err(), err))
		}
	}
}
