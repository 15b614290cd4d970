package simsync

import (
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simrun-dev/simrun/sim/simvet/testdata/ledger"
	"github.com/simrun-dev/simrun/system/host"
)

type server struct {
	h     host.Host
	mu    sync.Mutex
	rw    sync.RWMutex
	once  sync.Once
	wg    sync.WaitGroup
	cond  *sync.Cond
	inbox *host.Chan[int] // of no capacity
	log   *host.Chan[int] // unbounded
	n     int
}

func newServer(h host.Host) *server {
	return &server{h: h, inbox: host.NewChan[int](h, "inbox", 0), log: host.NewChan[int](h, "log", host.Unbounded)}
}

func (s *server) waits() {
	s.wg.Wait()   // want `sync.WaitGroup.Wait blocks the only thread that the simulation has: use host.WaitGroup \(simsync\)`
	s.cond.Wait() // want `sync.Cond.Wait blocks the only thread`
	var g errgroup.Group
	_ = g.Wait() // want `errgroup.Group.Wait blocks the only thread`
}

func (s *server) heldToTheEnd() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.inbox.Recv() // want `s.inbox.Recv waits while s.mu, locked on line 39, is held: the next task that locks it blocks .*: use host.Mutex, or unlock first \(simsync\)`
	return v
}

func (s *server) heldInBetween(ctx context.Context, conn host.Conn, disk host.Disk) {
	s.rw.RLock()
	s.h.Clock().Sleep(time.Second) // want `s.h.Clock\(\).Sleep waits while s.rw, locked on line 46, is held`
	_ = conn.Send(ctx, nil)        // want `conn.Send waits while s.rw`
	_, _ = disk.List("")           // want `disk.List waits while s.rw`
	s.rw.RUnlock()
	_ = conn.Send(ctx, nil)
}

func (s *server) heldByALibrary(l host.Listener, raw net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = host.NetListener(s.h, l).Accept() // want `Accept waits while s.mu`
	_, _ = raw.Write(nil)                    // want `raw.Write waits while s.mu`
}

func (s *server) heldOnOnePath(urgent bool) {
	s.mu.Lock()
	if urgent {
		s.mu.Unlock()
	}
	s.inbox.Send(1) // want `s.inbox.Send waits while s.mu, locked on line 62, is held`
	if !urgent {
		s.mu.Unlock()
	}
}

func (s *server) heldAroundALoop() {
	s.mu.Lock()
	for s.n == 0 {
		s.mu.Unlock()
		host.Select(s.h, s.inbox.OnRecv(&s.n, nil))
		s.mu.Lock()
	}
	s.mu.Unlock()
}

func (s *server) heldAcrossPackages(ctx context.Context, l *ledger.Ledger, store ledger.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Wait()              // want `l.Wait, which calls host.Chan.Recv, waits while s.mu`
	_, _ = store.Get(ctx) // want `store.Get, which calls host.Conn.Recv, waits while s.mu`
	s.indirectly()        // want `s.indirectly, which calls host.Chan.Recv, waits while s.mu`
	l.Poll()
}

// indirectly and again call each other.
func (s *server) indirectly() { s.again(1) }

func (s *server) again(n int) {
	if n > 0 {
		s.indirectly()
	}
	s.inbox.Recv()
}

func (s *server) once1() {
	s.once.Do(func() { s.inbox.Recv() }) // want `sync.Once.Do around host.Chan.Recv, which waits: a second caller blocks`
	_ = sync.OnceFunc(s.indirectly)      // want `sync.OnceFunc around host.Chan.Recv`
	s.once.Do(func() { s.n++ })
}

func (s *server) right() {
	s.mu.Lock()
	s.n++
	s.log.Send(s.n)      // unbounded: it does not wait
	s.inbox.TrySend(s.n) // nor do these
	host.TrySelect(s.h, s.inbox.OnRecv(&s.n, nil))
	s.h.Go("later", func() { s.inbox.Recv() }) // another task
	s.mu.Unlock()
	s.inbox.Recv()

	m := host.NewMutex(s.h, "m")
	m.Lock()
	s.inbox.Recv()
	m.Unlock()
	s.wg.Add(1)
	s.wg.Done()
}

func (s *server) otherTasks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := func() { s.inbox.Recv() }
	s.h.Go("wait", wait)
}

func (s *server) throughAVariable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := func() { s.inbox.Recv() }
	wait() // want `wait, which calls host.Chan.Recv, waits while s.mu`
	var loop func(n int)
	loop = func(n int) {
		if n > 0 {
			loop(n - 1)
		}
	}
	loop(3)
}

type embedding struct {
	sync.Mutex
	inbox *host.Chan[int]
}

func (e *embedding) byEitherName() {
	e.Mutex.Lock()
	e.Unlock()
	e.inbox.Recv()
	e.Lock()
	e.inbox.Recv() // want `e.inbox.Recv waits while e.Mutex, locked on line`
	e.Mutex.Unlock()
}

type table[K comparable, V any] interface{ put(K, V) }

type sendingTable[A comparable, B any] struct{ changes *host.Chan[B] }

func (t *sendingTable[A, B]) put(_ A, v B) { t.changes.Send(v) }

func heldByAGeneric[K comparable, V any](mu *sync.Mutex, t table[K, V], k K, v V) {
	mu.Lock()
	defer mu.Unlock()
	t.put(k, v) // want `t.put, which calls host.Chan.Send, waits while mu`
}

func (s *server) inPlace() {
	s.mu.Lock()
	func() {
		s.inbox.Recv() // want `s.inbox.Recv waits while s.mu`
	}()
	s.mu.Unlock()
}
