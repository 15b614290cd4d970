package persist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// Maintenance keeps a shard small: rollups let old versions be dropped (rollup.go), collection
// drops them with the blobs that only they refer to (collect.go), and merges keep the batches
// few (merge.go). Each is asked for by a version, of the process that committed it, and is done
// by a task of that process. It may be done late, not at all, or twice: whatever it changes in
// the state is a command like any other, that sees whether it still applies.
//
// What was asked for is not asked for again by everyone who commits next. But whoever was asked may
// have died: a rollup or a collection of which the shard still shows nothing after a while is taken
// for lost, and the next version asks for it anew. Else a shard in which little happens would keep
// its garbage until as many versions again have come together. (Materialize's active_rollup and
// active_gc, which lapse, are the same idea.) A lost merge is due again a few versions later.

// asked is when maintenance was last asked for, and what is known to be done of it.
type asked struct {
	_ struct{} `cbor:",toarray"`
	// Rollup and Merge are the versions that asked.
	Rollup, Merge SeqNo
	// Collect is the version before which everything was to go, Collected the one before which
	// everything is gone.
	Collect, Collected SeqNo
	// RollupTime and CollectTime are when it was asked for, in milliseconds: Walltimes.
	RollupTime, CollectTime uint64
}

// chores are what a version asks of whoever committed it.
type chores struct {
	rollup  bool
	collect SeqNo // 0 for none
	merge   bool
	again   bool // some of it was asked for before, and taken for lost
}

// policy says when maintenance is due. 0 stands for never.
type policy struct {
	rollup       SeqNo  // versions between two rollups
	collect      SeqNo  // versions that are worth being collected
	merge        int    // batches that make a run worth being merged
	mergeUpdates int    // at most, in a merge
	timeout      uint64 // ms after which what was asked for is taken for lost
}

// assign records in s, a version about to be committed, what it asks for.
func (s *state) assign(p policy) (c chores) {
	if s.tombstone() {
		return c
	}
	newest, _ := s.newestRollup()
	if p.rollup > 0 && s.SeqNo-newest >= p.rollup {
		lost := s.Asked.Rollup > newest && s.Walltime-s.Asked.RollupTime >= p.timeout
		if lost || s.SeqNo-s.Asked.Rollup >= p.rollup {
			s.Asked.Rollup, s.Asked.RollupTime = s.SeqNo, s.Walltime
			c.rollup, c.again = true, lost
		}
	}
	// Nothing is to be had unless there is a rollup to begin from afterwards.
	target, _ := s.rollupAtMost(s.seqnoSince())
	if p.collect > 0 {
		lost := s.Asked.Collected < s.Asked.Collect && s.Walltime-s.Asked.CollectTime >= p.timeout
		if lost || target >= s.Asked.Collect+p.collect {
			s.Asked.Collect, s.Asked.CollectTime = target, s.Walltime
			c.collect, c.again = target, c.again || lost
		}
	}
	// A merge just asked for is most likely under way.
	if p.merge > 0 && s.SeqNo-s.Asked.Merge >= SeqNo(p.merge) {
		if _, _, due := s.mergeDue(p.merge, p.mergeUpdates); due {
			s.Asked.Merge, c.merge = s.SeqNo, true
		}
	}
	return c
}

// assign is what next, about to be committed, asks of this process. Those who only read leave
// most of it to those who write.
func (m *machine) assign(next *state) chores {
	p := m.policy
	if p == (policy{}) {
		return chores{}
	}
	if m.h.Buggify("persist/roll up early") {
		p.rollup = 1
	}
	if m.h.Buggify("persist/collect early") {
		p.collect = 1
	}
	if m.h.Buggify("persist/merge early") {
		p.merge = 2
	}
	m.mu.Lock()
	if !m.writes {
		p.rollup *= 2
		p.collect *= 2
		p.timeout *= 2
		p.merge = 0
	}
	m.mu.Unlock()
	return next.assign(p)
}

// start does, in tasks of its own, what s asked for when it was committed.
func (m *machine) start(c chores, s *state) {
	m.h.Sometimes("persist: maintenance was taken for lost and asked for again", c.again)
	if c.rollup {
		m.background("roll up", func(ctx context.Context) error { return m.rollUp(ctx, s) })
	}
	if c.collect != 0 {
		m.background("collect", func(ctx context.Context) error { return m.collect(ctx, c.collect) })
	}
	if c.merge {
		m.background("merge", m.merge)
	}
}

// background does a chore in a task, unless the same is being done. Failing does no harm: it
// will be asked for again.
func (m *machine) background(chore string, do func(ctx context.Context) error) {
	m.mu.Lock()
	busy := m.busy[chore]
	m.busy[chore] = true
	m.mu.Unlock()
	if busy || m.h.Buggify("persist/forget about maintenance") {
		m.h.Sometimes("persist: maintenance was still busy when it was asked for again", busy)
		if !busy {
			m.rest(chore)
		}
		return
	}
	m.h.Go("persist "+chore+" "+string(m.shard), func() {
		defer m.rest(chore)
		if err := do(m.life); err != nil && m.life.Err() == nil {
			m.h.Logf("persist: to %s %s: %v", chore, m.shard, err)
		}
	})
}

func (m *machine) rest(chore string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, chore)
}

// dawdle lets others go ahead between two steps of maintenance, where a simulation asks for it.
func (m *machine) dawdle(ctx context.Context, site string) error {
	if !m.h.Buggify(site) {
		return nil
	}
	return host.Sleep(ctx, m.h, time.Duration(m.h.Rand().Int64N(int64(time.Second))))
}

// applied is idempotent for work that either applies or comes too late. What it tells is sticky:
// work that applied in an attempt whose outcome is unknown counts as applied, even when a later
// attempt finds that it does not apply. That may well be because the earlier one went in, and
// what others have made of it since; whoever then deleted the blobs that the work brought in
// would delete what the shard refers to (Materialize #14043).
//
// When it fails nothing is known, unless the error is ErrDeterminate.
func (m *machine) applied(ctx context.Context, work func(next *state) (bool, verdict)) (bool, error) {
	wait := newBackoff(m.h, m.cfg.RetryMin, m.cfg.RetryMax)
	perhaps := false
	for {
		applies := false
		_, err := m.command(ctx, func(next *state, _ uint64) (v verdict) {
			applies, v = work(next)
			return v
		})
		switch {
		case err == nil:
			m.h.Sometimes("persist: maintenance counts as applied because it may have been", perhaps && !applies)
			return applies || perhaps, nil
		case !errors.Is(err, ErrIndeterminate):
			if perhaps {
				err = indeterminate("change state", string(m.shard), err)
			}
			return perhaps, err
		}
		perhaps = perhaps || applies
		if wait.wait(ctx) != nil {
			return perhaps, indeterminate("change state", string(m.shard), fmt.Errorf("%w: %w", ctx.Err(), err))
		}
	}
}
