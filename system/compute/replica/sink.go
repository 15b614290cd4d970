package replica

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// sink makes a shard hold what a dataflow computes. Others do the same to the same shard: it follows what
// is there, and appends at the upper what is wrong or missing. What became of an append it takes from the
// shard as well.
type sink struct {
	c     *collection
	shard persist.ShardID

	correction correction
	// desired is how far the dataflow has computed.
	desired protocol.Frontier
	// persisted is how far the shard was followed; nothing is known of the shard before the first time.
	persisted protocol.Frontier
	known     bool
	// busy: an append is under way, or has just failed. Afterwards the shard has to be followed to awaited.
	busy    bool
	awaited protocol.Frontier
	writer  *persist.WriteHandle
}

func newSink(c *collection) *sink {
	return &sink{c: c, shard: c.desc.Sink.Shard, desired: c.desc.AsOf}
}

// follow learns what the shard holds, as a task.
func (s *sink) follow() {
	writer, err := s.c.w.p.s.cfg.Persist.OpenWriter(s.c.life, s.shard)
	if err == nil {
		err = s.meet(writer)
	}
	if err == nil {
		err = listen(s.c.life, s.c.w, s.shard, persist.Frontier.Time, func(e persist.Event) {
			s.c.post(func() { s.learn(e) })
		})
	}
	s.c.post(func() {
		if err != nil {
			s.c.w.lost(s.c.life, s.shard, err)
			return
		}
		s.persisted, s.known = persist.Empty(), true // what is closed, or can't be read, there is nothing to do about
	})
	if writer != nil {
		writer.Close()
	}
}

// meet finds out whether the shard is new. Of one that is not, a listener will tell.
func (s *sink) meet(writer *persist.WriteHandle) error {
	upper, err := writer.FetchRecentUpper(s.c.life)
	if err != nil {
		return err
	}
	s.c.post(func() {
		s.writer = writer
		s.known = upper == protocol.Frontier{}
		s.write()
	})
	return nil
}

// learn takes what the shard has shown.
func (s *sink) learn(e persist.Event) {
	if e.Snapshot { // as of a time that is not over, for all it says
		s.correction.persisted(e.Updates, protocol.Frontier{})
		return
	}
	s.correction.persisted(e.Updates, e.Progress)
	s.persisted, s.known = e.Progress, true
	s.write()
}

// desire takes what the dataflow has computed.
func (s *sink) desire(out dataflow.Output) {
	s.correction.desire(dataflow.ToShard(out.Updates, out.Errors))
	s.desired = out.Upper
	s.write()
}

// write appends what is wrong or missing in the shard, if it may and knows.
func (s *sink) write() {
	switch {
	case s.writer == nil || !s.known || s.busy || !s.c.w.writes:
		return
	case s.persisted.Before(s.awaited) || !s.persisted.Before(s.desired) || !s.c.desc.AsOf.Before(s.desired):
		return // an upper that is not beyond the AsOf would leave a shard that can't be read at all
	case s.persisted != protocol.Frontier{} && s.persisted.Before(s.c.desc.AsOf):
		return // what belongs between the two this dataflow does not compute
	}
	lower, upper := s.persisted, s.desired
	updates := s.correction.before(upper)
	s.busy = true
	s.c.w.observe(Appending{ID: s.c.desc.ID, Shard: s.shard, Lower: lower, Upper: upper, Allowed: s.c.w.writes})
	s.c.start("compute append "+string(s.shard), func() {
		err := s.append(s.c.life, updates, lower, upper)
		s.c.post(func() { s.appended(upper, err) })
	})
}

func (s *sink) append(ctx context.Context, updates []persist.Update, lower, upper protocol.Frontier) error {
	if s.c.w.h.Buggify("compute/slow append") {
		s.c.w.h.Clock().Sleep(retry / 4)
	}
	return s.writer.CompareAndAppend(ctx, updates, lower, upper)
}

// appended waits for the shard to show what became of an append.
func (s *sink) appended(upper protocol.Frontier, err error) {
	var mismatch *persist.UpperMismatch
	switch {
	case err == nil:
		s.awaited = upper
	case errors.As(err, &mismatch):
		s.c.w.h.Sometimes("compute: another replica had written to the shard", true)
		s.awaited = mismatch.Current
	case s.c.life.Err() != nil:
		return // the process has forgotten everything, and the worker is about to be told
	default:
		// It may be in or not; if it is, the next one finds another upper.
		s.c.w.h.Logf("compute: append to %s: %v", s.shard, err)
		s.c.w.after(retry, func(*worker) { s.free() })
		return
	}
	s.free()
}

// free lets the next append begin.
func (s *sink) free() {
	s.busy = false
	if !s.c.stopped {
		s.write()
	}
}
