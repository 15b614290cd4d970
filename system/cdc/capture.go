package cdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Capture is a process that takes part in replicating. It lives one life after another: each under a new
// id, each as long as its session.
type Capture struct {
	h      host.Host
	cfg    Config
	server *rpc.Server
	inbox  *peer.Server[message]
	life   context.Context
	end    context.CancelFunc
	ended  *host.Chan[struct{}] // closed when the last life has ended

	mu      *host.Mutex
	current *life // nil between lives
}

// Start makes the process take part, until Close. It fails when the port can't be listened on.
func Start(h host.Host, cfg Config) (*Capture, error) {
	c := &Capture{
		h: h, cfg: cfg.withDefaults(), mu: host.NewMutex(h, "cdc capture"),
		ended: host.NewChan[struct{}](h, "cdc capture ended", 0),
	}
	s := rpc.NewService()
	c.inbox = peer.NewServer[message](h, s)
	c.handle(s)
	var err error
	if c.server, err = rpc.Serve(h, c.cfg.Port, s, rpc.ServerOptions{}); err != nil {
		return nil, err
	}
	c.life, c.end = host.WithCancel(h, context.Background())
	h.Go("cdc capture", c.run)
	return c, nil
}

// Close ends the capture's life in good order: it resigns, and others take over at once. Ctx bounds the
// telling.
func (c *Capture) Close(ctx context.Context) {
	c.end()
	_, _, _ = c.ended.RecvContext(ctx)
	c.server.Close()
}

// ID is the id of the present life, "" between two.
func (c *Capture) ID() model.CaptureID {
	if l := c.present(); l != nil {
		return l.id
	}
	return ""
}

// Epoch is the epoch of the capture's ownership, 0 when it is not the owner as far as it knows.
func (c *Capture) Epoch() coord.Revision {
	if l := c.present(); l != nil {
		if o := l.owning(); o != nil {
			return o.epoch
		}
	}
	return 0
}

func (c *Capture) present() *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

func (c *Capture) run() {
	defer c.ended.Close()
	for c.life.Err() == nil {
		if err := c.live(); err != nil && c.life.Err() == nil {
			c.h.Logf("cdc: a capture's life ended: %v", err)
		}
		_ = host.Sleep(c.life, c.h, c.cfg.RestartDelay/2+time.Duration(c.h.Rand().Int64N(int64(c.cfg.RestartDelay))))
	}
}

// live is one life.
func (c *Capture) live() error {
	opening, cancel := c.h.Clock().WithTimeout(c.life, c.cfg.SessionTTL)
	session, err := coord.NewSession(opening, c.h, c.cfg.Coord, coord.SessionConfig{TTL: c.cfg.SessionTTL})
	cancel()
	if err != nil {
		return err
	}
	l := newLife(c, session)
	c.mu.Lock()
	c.current = l
	c.mu.Unlock()
	c.inbox.Use(l.node)
	c.cfg.Observer.Observe(CaptureStarted{Capture: l.id, Machine: c.h.Name()})
	err = l.run(c.life)
	c.mu.Lock()
	c.current = nil
	c.mu.Unlock()
	c.cfg.Observer.Observe(CaptureStopped{Capture: l.id, Reason: err})
	return err
}

// life is one life of a capture.
type life struct {
	h       host.Host
	cfg     Config
	id      model.CaptureID
	session *coord.Session
	node    *peer.Node[message]
	view    *view
	ctx     context.Context // done when the life ends
	end     context.CancelFunc
	tasks   *host.WaitGroup

	allegiance *allegiance

	mu         *host.Mutex
	owner      *owner
	processors map[model.ChangeFeedID]*processor
	ending     map[model.ChangeFeedID]bool // changefeeds whose last processor is still ending
	reason     error
}

func newLife(c *Capture, session *coord.Session) *life {
	l := &life{
		h: c.h, cfg: c.cfg, session: session,
		id:    fmt.Sprintf("%s.%d-%08x", c.h.Name(), c.h.Incarnation(), c.h.Rand().Uint32()),
		tasks: host.NewWaitGroup(c.h, "cdc life"), allegiance: newAllegiance(c.h),
		mu: host.NewMutex(c.h, "cdc life"), processors: map[model.ChangeFeedID]*processor{}, ending: map[model.ChangeFeedID]bool{},
	}
	l.node = peer.NewNode(c.h, l.id, c.cfg.Peer, l.receive)
	l.view = newView(c.h, c.cfg.Coord, l.left)
	l.ctx, l.end = host.WithCancel(c.h, session.Context())
	return l
}

// run is the whole life, until the session is lost, the capture is closed, or something can't go on.
func (l *life) run(closed context.Context) error {
	l.tasks.Go(l.h, "cdc view", func() { l.view.run(l.ctx) })
	l.tasks.Go(l.h, "cdc processors", l.process)
	l.tasks.Go(l.h, "cdc campaign", l.campaign)
	host.Select(l.h, host.OnDone(closed), host.OnDone(l.ctx))
	if closed.Err() != nil {
		l.stop(errClosed)
	}
	l.end()
	l.tasks.Wait()
	l.node.Close()
	lost := l.session.Err()
	l.h.Sometimes("cdc: a capture lost its session", lost != nil)
	// With a context that is not over: others should not have to wait for the lease to run out.
	ctx, cancel := l.h.Clock().WithTimeout(context.Background(), l.cfg.Timeout)
	defer cancel()
	_ = l.session.Close(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return l.reason
	}
	return lost
}

// stop ends the life for a reason.
func (l *life) stop(reason error) {
	l.mu.Lock()
	if l.reason == nil {
		l.reason = reason
	}
	l.mu.Unlock()
	l.end()
}

func (l *life) owning() *owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owner
}

// left is told of keys that are gone: captures among them never come back.
func (l *life) left(key string, at coord.Revision) {
	id, ok := strings.CutPrefix(key, capturePrefix)
	if !ok {
		return
	}
	l.node.Remove(id)
	if id == l.id {
		l.stop(errUnlisted)
	}
}

// receive takes in a message of another capture, or of this one to itself.
func (l *life) receive(from string, m message) {
	l.mu.Lock()
	o, p := l.owner, l.processors[m.Feed]
	l.mu.Unlock()
	if m.Dispatch != nil || m.Announce != nil {
		// Whoever the message is for, it tells who owns.
		if !l.allegiance.follow(from, m.Epoch) {
			return
		}
		// A processor that is made later tells of itself without being asked.
		l.h.Sometimes("cdc: an owner's message finds no processor", p == nil)
		l.h.Sometimes("cdc: an owner's message is about another incarnation", p != nil && p.incarnation != m.Incarnation)
		if p != nil && p.incarnation == m.Incarnation {
			p.agent.receive(from, m)
		}
		return
	}
	l.h.Sometimes("cdc: an agent's message finds no owner", o == nil)
	if o != nil {
		o.receive(from, m)
	}
}

// addr is where the capture listens.
func (l *life) addr() string { return host.JoinAddr(l.h.Name(), l.cfg.Port) }

// register puts the capture's key.
func (l *life) register() error {
	info := model.CaptureInfo{ID: l.id, AdvertiseAddr: l.addr(), Version: l.cfg.Version}
	for {
		_, err := coord.Write(l.ctx, l.cfg.Coord, coord.PutLeased(CaptureKey(l.id), encode(info), l.session.Lease()))
		if err == nil {
			return nil
		}
		if errors.Is(err, coord.ErrNoLease) {
			return err
		}
		_ = host.Sleep(l.ctx, l.h, 50*time.Millisecond)
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
	}
}

// campaign is the task that becomes the owner, again and again.
func (l *life) campaign() {
	if err := l.register(); err != nil {
		l.stop(err)
		return
	}
	for l.ctx.Err() == nil {
		election := coord.NewElection(l.session, OwnerElection)
		err := election.Campaign(l.ctx, l.id)
		if errors.Is(err, coord.ErrSessionLost) {
			l.stop(err)
			return
		}
		if err == nil {
			l.own(election)
		}
		_ = host.Sleep(l.ctx, l.h, l.cfg.RestartDelay)
	}
}

// own is one term of ownership.
func (l *life) own(election *coord.Election) {
	o := newOwner(l, election)
	l.mu.Lock()
	l.owner = o
	l.mu.Unlock()
	l.cfg.Observer.Observe(OwnerElected{Capture: l.id, Epoch: o.epoch})
	l.h.Note("cdc.owner", fmt.Sprintf("%s@%d", l.id, o.epoch))
	err := o.run(l.ctx)
	l.mu.Lock()
	l.owner = nil
	l.mu.Unlock()
	l.h.Sometimes("cdc: an owner notices that it is deposed", errors.Is(err, errDeposed))
	l.h.Sometimes("cdc: an owner resigns", errors.Is(err, errResigned))
	l.cfg.Observer.Observe(OwnerDeposed{Capture: l.id, Epoch: o.epoch, Reason: err})
	if errors.Is(err, errUnlisted) {
		l.stop(err)
	}
	if l.session.Err() == nil {
		ctx, cancel := l.h.Clock().WithTimeout(context.Background(), l.cfg.Timeout)
		_ = election.Resign(ctx)
		cancel()
	}
}
