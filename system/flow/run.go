package flow

import (
	"context"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// RunAvailable moves what is in the buffers of the sources to the workers and lets them work through it,
// as of now; blocking waits until they have. It returns how many rows were moved.
func (m *Manager) RunAvailable(ctx context.Context, blocking bool) (rows int, err error) {
	rows = m.flushAllSenders()
	now := m.ticks.tick()
	if !blocking {
		return rows, m.eachWorker(func(w *WorkerHandle) error { return w.RunAvailable(ctx, now, false) })
	}
	// All at once: none waits for another.
	running := host.NewWaitGroup(m.h, "workers")
	errs := make([]error, len(m.workers))
	for i, w := range m.workers {
		running.Go(m.h, "run worker", func() { errs[i] = w.RunAvailable(ctx, now, true) })
	}
	running.Wait()
	return rows, errors.Join(errs...)
}

func (m *Manager) eachWorker(do func(*WorkerHandle) error) error {
	var errs []error
	for _, w := range m.workers {
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
}

// flushAllSenders publishes what is in the buffers, as far as flows can take it.
func (m *Manager) flushAllSenders() (rows int) {
	for _, s := range m.context.allSources() {
		rows += s.tryFlush()
	}
	return rows
}

// Run lets flows work and writes their results, until shutdown is closed; nil is never. Whatever fails is
// logged and tried again. Mirrored inserts are not its business, and come by [Manager.HandleInserts].
// At the end the manager has no frontend any more.
func (m *Manager) Run(shutdown *host.Chan[struct{}]) {
	defer m.SetFrontendInvoker(nil)
	clock := m.h.Clock()
	pace := pace{batch: m.cfg.BatchSize, most: m.cfg.RunInterval}
	ctx := context.Background()
	for last := clock.Now(); ; {
		rows, err := m.RunAvailable(ctx, false)
		if err != nil {
			m.h.Logf("flow: running: %v", err)
		}
		if _, err := m.SendWritebackRequests(ctx); err != nil {
			m.h.Logf("flow: write-back: %v", err)
		}
		m.LogAllErrors()
		now := clock.Now()
		wait := pace.next(rows, now.Sub(last))
		last = now
		if m.pause(shutdown, wait) {
			return
		}
	}
}

// pause waits, and tells whether it is time to end.
func (m *Manager) pause(shutdown *host.Chan[struct{}], d time.Duration) (ended bool) {
	ctx, cancel := m.h.Clock().WithTimeout(context.Background(), d)
	defer cancel()
	return host.SelectFirst(m.h, closed(shutdown), host.OnDone(ctx)) == 0
}

// closed is the end of a channel; a nil one has none.
func closed(c *host.Chan[struct{}]) host.Case { return c.OnRecv(nil, nil) }

// pace tells how long to wait until there is about a batch to work on, at the speed at which rows have
// come: which rises at once, and falls slowly.
type pace struct {
	batch   int
	most    time.Duration
	average int64 // rows a second
}

func (p *pace) next(rows int, took time.Duration) time.Duration {
	speed := int64(rows) * 1000 / max(1, took.Milliseconds())
	if speed > p.average {
		p.average = speed
	} else {
		p.average = (9*p.average + speed) / 10
	}
	return min(p.most, time.Duration(int64(p.batch)*1000/max(1, p.average))*time.Millisecond)
}

// RunBackground starts tasks that answer requests for state reports, fetch inserts that were missed, and
// run the manager, until shutdown is closed. It returns a channel that is closed when they have ended.
func (m *Manager) RunBackground(shutdown *host.Chan[struct{}]) *host.Chan[struct{}] {
	ended := host.NewChan[struct{}](m.h, "manager has ended", 0)
	tasks := host.NewWaitGroup(m.h, "manager")
	m.startStateReportHandler(tasks, shutdown)
	tasks.Go(m.h, "catch up", func() { m.keepUp(shutdown) })
	tasks.Go(m.h, "run flows", func() { m.Run(shutdown) })
	m.h.Go("end of manager", func() {
		tasks.Wait()
		for _, r := range m.context.allFlows() {
			r.end() // and its refill, if there is one
		}
		for _, w := range m.workers {
			_ = w.Shutdown()
		}
		ended.Close()
	})
	return ended
}

// LogAllErrors logs the errors of flows and forgets them.
func (m *Manager) LogAllErrors() {
	for _, r := range m.context.allFlows() {
		if errs, more := r.errs.drain(); len(errs) > 0 {
			m.h.Logf("flow %s: %d errors: %v", r.args.Name, len(errs)+more, errors.Join(errs...))
		}
	}
}
