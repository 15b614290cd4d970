package replica

import (
	"context"
	"sync/atomic"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// pressure is how much of what shards gave waits for workers, in their inboxes and inputs. Who reads shards waits while
// it is too much: workers send each other what they have to, and never wait.
type pressure struct {
	h     host.Host
	limit int64 // in bytes, about
	load  atomic.Int64
	// relief wakes one of those that wait, who wakes the next one.
	relief *host.Chan[struct{}]
}

func newPressure(h host.Host, limit int) *pressure {
	return &pressure{h: h, limit: int64(limit), relief: host.NewChan[struct{}](h, "compute room in inboxes", 1)}
}

// add counts what was handed to a worker.
func (p *pressure) add(bytes int64) { p.load.Add(bytes) }

// sub counts what a worker has worked off.
func (p *pressure) sub(bytes int64) {
	if p.load.Add(-bytes) < p.limit {
		p.relief.TrySend(struct{}{})
	}
}

// wait waits until there is room. The error is ctx's.
func (p *pressure) wait(ctx context.Context) error {
	for p.load.Load() >= p.limit {
		p.h.Sometimes("compute: reading a shard waits for busy workers", true)
		if _, _, err := p.relief.RecvContext(ctx); err != nil {
			return err
		}
		if p.load.Load() < p.limit {
			p.relief.TrySend(struct{}{}) // others may wait too
		}
	}
	return ctx.Err()
}

// updateBytes is about what an update takes besides its row.
const updateBytes = 48

func bytesOf(out dataflow.Output) int64 {
	size := updateBytes * (1 + len(out.Updates) + len(out.Errors))
	for _, u := range out.Updates {
		size += len(u.Row)
	}
	return int64(size)
}

func bytesRead(e persist.Event) int64 {
	size := updateBytes * (1 + len(e.Updates))
	for _, u := range e.Updates {
		size += len(u.Data)
	}
	return int64(size)
}
