package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// SessionConfig are the times of a [Session]. The zero value means the defaults.
type SessionConfig struct {
	// TTL is the lease's time to live. Default 10 s.
	TTL time.Duration
	// Interval is how often it is kept alive. Default a third of TTL.
	Interval time.Duration
}

func (c SessionConfig) withDefaults() SessionConfig {
	if c.TTL <= 0 {
		c.TTL = 10 * time.Second
	}
	if c.Interval <= 0 {
		c.Interval = c.TTL / 3
	}
	return c
}

// Session is a lease that is kept alive as long as the process can: what is put under it is there for
// as long.
//
// It is lost when the service says so, and also when for a whole time to live, by this machine's
// clock, no keep-alive was confirmed: the lease may be gone then. The other way round nothing is sure.
// A process that was paused, or whose clock is slow, may act for a while though its lease is gone; what
// must not be done then has to be made conditional on a key under the lease.
type Session struct {
	h    host.Host
	c    Client
	cfg  SessionConfig
	id   LeaseID
	life context.Context
	end  context.CancelFunc

	mu     *host.Mutex
	sure   time.Time // until when the lease is there, by this machine's clock
	lost   error
	closed bool
	parts  map[string]*part // in elections, by their prefix
}

// part is a session's part in an election.
type part struct {
	campaigns uint64 // how many it began
	puts      int    // how many puts of its key may still take effect, at most
}

// NewSession grants a lease and begins to keep it alive. Ctx bounds the granting only.
func NewSession(ctx context.Context, h host.Host, c Client, cfg SessionConfig) (*Session, error) {
	s := &Session{h: h, c: c, cfg: cfg.withDefaults(), mu: host.NewMutex(h, "coord session"), parts: map[string]*part{}}
	for s.id == 0 {
		s.id = LeaseID(h.Rand().Uint64())
	}
	s.sure = h.Clock().Now().Add(s.cfg.TTL)
	if err := c.Grant(ctx, s.id, s.cfg.TTL); err != nil {
		return nil, err
	}
	s.life, s.end = host.WithCancel(h, context.Background())
	h.Go("coord session", s.keep)
	return s, nil
}

// Lease is the session's lease.
func (s *Session) Lease() LeaseID { return s.id }

// Context is done once the session is lost or closed.
func (s *Session) Context() context.Context { return s.life }

// Err is nil while the session holds, as far as is known here: it asks the clock, too, and so tells
// after a pause what Context does not yet. Then it is ErrSessionLost.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil && !s.h.Clock().Now().Before(s.sure) {
		s.h.Sometimes("coord: a session gave itself up by its own clock", true)
		s.loseLocked(errors.New("no keep-alive was confirmed for its time to live"))
	}
	return s.lost
}

// Close ends the session and revokes its lease, with one call of the client. If that fails the lease runs out.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.loseLocked(errors.New("it was closed"))
	s.mu.Unlock()
	return s.c.Revoke(ctx, s.id)
}

// campaigns counts another campaign in an election and returns its number, from 1.
func (s *Session) campaigns(prefix string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partLocked(prefix)
	p.campaigns++
	return p.campaigns
}

// campaign is the number of the latest campaign in an election.
func (s *Session) campaign(prefix string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partLocked(prefix).campaigns
}

// putUnknown counts a put of the key in an election that may still take effect.
func (s *Session) putUnknown(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partLocked(prefix).puts++
}

// putArrived counts one that has: a key was found that no put is known to have made.
func (s *Session) putArrived(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partLocked(prefix)
	p.puts = max(0, p.puts-1)
}

// putsUnknown is how many puts of the key may still take effect, at most.
func (s *Session) putsUnknown(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partLocked(prefix).puts
}

func (s *Session) partLocked(prefix string) *part {
	p := s.parts[prefix]
	if p == nil {
		p = &part{}
		s.parts[prefix] = p
	}
	return p
}

// Abandon ends the session without revoking its lease, which runs out.
func (s *Session) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseLocked(errors.New("it was abandoned"))
}

func (s *Session) loseLocked(cause error) {
	if s.lost == nil {
		s.lost = fmt.Errorf("%w: %w", ErrSessionLost, cause)
		s.end()
	}
}

// keep is the task that keeps the lease alive.
func (s *Session) keep() {
	for host.Sleep(s.life, s.h, s.cfg.Interval) == nil {
		for s.Err() == nil {
			begun := s.h.Clock().Now()
			ctx, cancel := s.h.Clock().WithTimeout(s.life, s.cfg.Interval)
			err := s.c.KeepAlive(ctx, s.id)
			cancel()
			if err == nil {
				s.confirmed(begun)
				break
			}
			if !passing(err) {
				s.mu.Lock()
				s.h.Sometimes("coord: a session was told that it is gone", s.lost == nil && errors.Is(err, ErrNoLease))
				s.loseLocked(err)
				s.mu.Unlock()
				return
			}
			if host.Sleep(s.life, s.h, s.cfg.Interval/10) != nil {
				return
			}
		}
	}
}

// confirmed records a keep-alive that began at a time: from then on, not from when the answer came, the
// lease has its time to live.
func (s *Session) confirmed(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The time to live may have passed before the answer was looked at.
	if sure := begun.Add(s.cfg.TTL); sure.After(s.sure) {
		s.sure = sure
	}
}
