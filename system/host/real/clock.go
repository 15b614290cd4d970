package real

import (
	"runtime"
	"time"

	"github.com/benbjohnson/clock"
)

// hostClock is the machine's clock. What waits by it ends with the host, and what it calls is a task.
type hostClock struct {
	clock.Clock
	h *Host
}

func (c *hostClock) Sleep(d time.Duration) {
	if !c.h.alive() {
		return
	}
	if d <= 0 {
		runtime.Gosched()
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.h.life.Done():
		c.h.unwind("sleep")
	}
}

func (c *hostClock) AfterFunc(d time.Duration, f func()) *clock.Timer {
	return c.Clock.AfterFunc(d, func() {
		if c.h.begin() {
			c.h.run("AfterFunc", f)
		}
	})
}
