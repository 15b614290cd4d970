package persist

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
)

// A process learns of the versions that others commit by looking at Consensus. Who waits for one looks
// again and again, but all who wait for versions of the same shard look for each other.

// looks counts the looks at Consensus, so that those who wait know of each other's.
type looks struct {
	begun uint64
	// done is the latest of those that brought the latest version there was when they began.
	done uint64
	// polling: somebody is at it because he waits.
	polling bool
}

// beginLook returns the number of a look that begins now.
func (m *machine) beginLook() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks.begun++
	return m.looks.begun
}

// endLook takes note that the look of that number succeeded.
func (m *machine) endLook(number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks.done = max(m.looks.done, number)
}

// looksSoFar is the number of the look that began last.
func (m *machine) looksSoFar() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks.begun
}

// startPolling tells whether the caller has to look, who has waited since the look numbered since began:
// not if somebody else has looked meanwhile, or is looking.
func (m *machine) startPolling(since uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looks.polling || m.looks.done > since {
		return false
	}
	m.looks.polling = true
	return true
}

func (m *machine) stopPolling() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks.polling = false
}

// waitPast waits until the upper is past f and returns a version where it is, or one of which
// stop is true, whichever is seen first.
func (m *machine) waitPast(ctx context.Context, f Frontier, stop func(*state) bool) (*state, error) {
	poll := newBackoff(m.h, m.cfg.PollMin, m.cfg.PollMax)
	for {
		since := m.looksSoFar()
		s, changed := m.state()
		if f.Before(s.upper()) || stop(s) {
			return s, nil
		}
		timer, cancel := m.h.Clock().WithTimeout(ctx, poll.step())
		i := host.SelectFirst(m.h, changed.OnRecv(nil, nil), host.OnDone(timer))
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case i == 0:
			// Whoever committed or fetched that version has looked for all who wait.
		case !m.startPolling(since):
			m.h.Sometimes("persist: one look was enough for several that wait", true)
		default:
			_, err := m.refresh(ctx)
			m.stopPolling()
			if err != nil {
				return nil, err
			}
		}
	}
}
