package real

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
)

// Host is a host.Host on the operating system.
type Host struct {
	cfg         Config
	log         *slog.Logger
	dir         *directory
	incarnation uint64
	clock       *hostClock
	random      *rand.Rand
	rt          *hostRuntime
	net         *network
	disk        *disk
	checks      checks

	life   context.Context // done when the host is closed
	end    context.CancelFunc
	closed atomic.Bool

	mu    sync.Mutex // held to start a task, so that none starts after Close
	tasks sync.WaitGroup

	closing sync.Once
	ended   chan struct{} // closed when Close is done
	err     error         // of Close
}

// New begins a life of the process on the machine. It fails with ErrConfig inside, with ErrInUse when
// another life has the directory, or with an error of the operating system.
func New(cfg Config) (h *Host, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("real: host %q: %w", cfg.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("real: host %q: %w", cfg.Name, err), dir.close())
		}
	}()
	h = &Host{cfg: cfg, dir: dir, ended: make(chan struct{})}
	if h.incarnation, err = dir.nextLife(); err != nil {
		return nil, err
	}
	h.log = cfg.Logger.With("host", cfg.Name, "life", h.incarnation)
	h.life, h.end = context.WithCancel(context.Background())
	h.clock = &hostClock{clock.New(), h}
	h.random = newRand(cfg.Seed, cfg.Name, h.incarnation)
	h.rt = newRuntime(h)
	if h.disk, err = openDisk(h); err != nil {
		return nil, err
	}
	if h.net, err = openNetwork(h); err != nil {
		return nil, errors.Join(err, h.disk.close())
	}
	return h, nil
}

// Name is part of host.Host.
func (h *Host) Name() string { return h.cfg.Name }

// Incarnation is part of host.Host.
func (h *Host) Incarnation() uint64 { return h.incarnation }

// Addr is the address at which the host is reached, with the port that the system has chosen if
// Config.Listen left it to do so. It is empty when Listen is.
func (h *Host) Addr() string { return h.net.addr }

// Clock is part of host.Host.
func (h *Host) Clock() clock.Clock { return h.clock }

// Rand is part of host.Host.
func (h *Host) Rand() *rand.Rand { return h.random }

// Net is part of host.Host.
func (h *Host) Net() host.Net { return h.net }

// Disk is part of host.Host.
func (h *Host) Disk() host.Disk { return h.disk }

// Runtime is part of host.Host.
func (h *Host) Runtime() host.Runtime { return h.rt }

// Logf is part of host.Host: an entry of level Info.
func (h *Host) Logf(format string, args ...any) {
	if h.alive() {
		h.log.Info(fmt.Sprintf(format, args...))
	}
}

// Note is part of host.Host: an entry of level Debug.
func (h *Host) Note(key, value string) {
	if h.alive() {
		h.log.Debug("note", "key", key, "value", value)
	}
}

// Close ends the life of the process, and waits until its tasks have ended and what was sent on
// connections closed before is handed to the system. It can be called again. A task of the host must
// not call it: it would wait for itself.
func (h *Host) Close() error {
	h.closing.Do(func() {
		// In a goroutine of its own: a task of another host may be the caller, and what is called
		// here ends the tasks that call it.
		go func() {
			defer close(h.ended)
			h.err = h.shutDown()
		}()
	})
	<-h.ended
	return h.err
}

func (h *Host) shutDown() error {
	h.mu.Lock()
	h.closed.Store(true)
	h.mu.Unlock()
	// Who waits for the network is told that it is closed; all others are unwound.
	h.net.close()
	h.end()
	h.tasks.Wait()
	h.net.wait()
	return errors.Join(h.disk.close(), h.dir.close())
}

// alive tells whether what is asked of the host shall be done. It does not return to a task of a
// host that is closed.
func (h *Host) alive() bool {
	if !h.closed.Load() {
		return true
	}
	exitTask()
	return false
}
