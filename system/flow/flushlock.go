package flow

import (
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// flushLock lets a flush wait for the inserts in progress, and for none that begin later: inserts never
// wait for it.
type flushLock struct {
	h       host.Host
	mu      *host.Mutex
	current *host.WaitGroup // of the inserts that began since the latest flush
	// older are those that earlier flushes wait for: a later flush has to wait for them too.
	older []*host.WaitGroup
}

func newFlushLock(h host.Host) *flushLock {
	return &flushLock{h: h, mu: host.NewMutex(h, "flush lock"), current: host.NewWaitGroup(h, "inserts in progress")}
}

// read is held by an insert until it calls done.
func (l *flushLock) read() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.current
	g.Add(1)
	return g.Done
}

// wait waits for the inserts in progress.
func (l *flushLock) wait() {
	l.mu.Lock()
	groups := append(slices.Clone(l.older), l.current)
	l.older = groups
	l.current = host.NewWaitGroup(l.h, "inserts in progress")
	l.mu.Unlock()
	for _, g := range groups {
		g.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.older = slices.DeleteFunc(slices.Clone(l.older), func(g *host.WaitGroup) bool { return slices.Contains(groups, g) })
}
