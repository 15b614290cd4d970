package real

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// hostRuntime is what package host's primitives wait with: one lock for all of a host's.
type hostRuntime struct {
	h       *Host
	mu      sync.Mutex
	parkers sync.Pool

	// Guarded by mu, as all that follows.
	asked    *parker // the last, which those who watch timers wait with
	watching map[<-chan time.Time][]*timeWatch
	returned map[<-chan time.Time][]time.Time // received, and not wanted then; see timeWatch
}

func newRuntime(h *Host) *hostRuntime {
	r := &hostRuntime{
		h:        h,
		watching: map[<-chan time.Time][]*timeWatch{},
		returned: map[<-chan time.Time][]time.Time{},
	}
	r.parkers.New = func() any { return &parker{rt: r, woken: make(chan struct{}, 1)} }
	return r
}

func (r *hostRuntime) Lock() {
	r.mu.Lock()
	if r.h.closed.Load() {
		// What calls exitTask holds no lock: it may not return.
		r.mu.Unlock()
		exitTask()
		r.mu.Lock()
	}
}

func (r *hostRuntime) Unlock() { r.mu.Unlock() }

func (r *hostRuntime) Parker() host.Parker {
	r.asked = r.parkers.Get().(*parker)
	return r.asked
}

func (r *hostRuntime) Choose(n int) int { return rand.IntN(n) }

func (r *hostRuntime) WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(parent)
}

func (r *hostRuntime) WatchDone(ctx context.Context, w host.Waker) host.Watch {
	if ctx.Done() == nil {
		return nil
	}
	return contextWatch(context.AfterFunc(ctx, func() {
		r.mu.Lock()
		w.Wake()
		r.mu.Unlock()
	}))
}

// contextWatch is what context.AfterFunc returns.
type contextWatch func() bool

func (w contextWatch) Stop() { w() }
