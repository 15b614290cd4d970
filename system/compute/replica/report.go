package replica

import (
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// reportSoon sees to it that frontiers that have advanced are told, several at once.
func (w *worker) reportSoon() {
	if w.reporting || w.conn == nil || !w.advanced() {
		return
	}
	w.reporting = true
	life, wait := w.life, w.params.ReportInterval
	w.h.Go("compute report", func() {
		w.h.Clock().Sleep(wait)
		w.post(func(w *worker) {
			w.reporting = false
			if w.life == life {
				w.report()
			}
		})
	})
}

func (w *worker) advanced() bool {
	for _, all := range [][]*collection{w.collections, w.logs} {
		for _, c := range all {
			if _, news := c.frontiers(); news {
				return true
			}
		}
	}
	return false
}

// report tells all frontiers that have advanced.
func (w *worker) report() {
	if w.conn == nil {
		return
	}
	for _, all := range [][]*collection{w.collections, w.logs} {
		for _, c := range all {
			if f, news := c.frontiers(); news {
				c.told, c.toldAny = f, true
				w.send(f)
			}
		}
	}
}

// frontiers are how far this worker's share of the collection is, never before its AsOf, and whether that has not been told yet.
func (c *collection) frontiers() (f protocol.Frontiers, news bool) {
	if c.subscribe != nil {
		return f, false
	}
	f = c.frontiersNow()
	return f, !c.toldAny || f != c.told
}

func (c *collection) frontiersNow() protocol.Frontiers {
	f := protocol.Frontiers{ID: c.desc.ID, Input: persist.Empty(), Output: c.computed()}
	for _, read := range c.read {
		f.Input = f.Input.Meet(read)
	}
	switch {
	case c.sink != nil:
		f.Write = c.sink.persisted
	case c.desc.Sink.Kind == protocol.Shard: // it is up to another worker
		f.Write = persist.Empty()
	default:
		f.Write = f.Output
	}
	asOf := c.desc.AsOf
	f.Write, f.Input, f.Output = f.Write.Join(asOf), f.Input.Join(asOf), f.Output.Join(asOf)
	return f
}

// logStatus tells a connection now and then what the collections hold.
func (w *worker) logStatus(conn *connection, every time.Duration) {
	w.after(every, func(w *worker) {
		if w.conn != conn {
			return
		}
		for _, c := range w.collections {
			size := c.size()
			s := protocol.Status{
				ID: c.desc.ID, Worker: w.number, Hydrated: c.desc.AsOf.Before(c.computed()), Records: size.Records, Bytes: size.Bytes,
			}
			if c.index != nil {
				s.Records += c.index.Len()
			}
			w.send(s)
		}
		w.logStatus(conn, every)
	})
}
