package flow

import (
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// tickManager tells the engine's time: milliseconds since 1970 as the host's clock had it when the manager
// began, and from then on the time that has gone by since, so that a clock that is set does not matter. It
// is never less than it told before. After a restart it begins anew, and may tell less than in an earlier
// life.
type tickManager struct {
	h     host.Host
	start time.Time
	mu    *host.Mutex
	last  int64
}

func newTickManager(h host.Host) *tickManager {
	return &tickManager{h: h, start: h.Clock().Now(), mu: host.NewMutex(h, "ticks")}
}

func (t *tickManager) tick() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last, t.start.Add(t.h.Clock().Since(t.start)).UnixMilli())
	return t.last
}
