package flow

import "github.com/simrun-dev/simrun/system/host"

// tickManager tells the engine's time: milliseconds since 1970, by the host's clock, and never less than
// it told before. After a restart it begins anew, and may tell less than in an earlier life.
type tickManager struct {
	h    host.Host
	mu   *host.Mutex
	last int64
}

func newTickManager(h host.Host) *tickManager {
	return &tickManager{h: h, mu: host.NewMutex(h, "ticks")}
}

func (t *tickManager) tick() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last, t.h.Clock().Now().UnixMilli())
	return t.last
}
