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

// asked is when maintenance was last asked for, so that not everyone who commits next does the
// same.
type asked struct {
	_ struct{} `cbor:",toarray"`
	// Rollup and Merge are the versions that asked.
	Rollup, Merge SeqNo
	// Collect is the version before which everything was to go.
	Collect SeqNo
}

// chores are what a version asks of whoever committed it.
type chores struct {
	rollup  bool
	collect SeqNo // 0 for none
	merge   bool
}

// policy says when maintenance is due. 0 stands for never.
type policy struct {
	rollup       SeqNo // versions between two rollups
	collect      SeqNo // versions that are worth being collected
	merge        int   // batches that make a run worth being merged
	mergeUpdates int   // at most, in a merge
}

// assign records in s, a version about to be committed, what it asks for.
func (s *state) assign(p policy) (c chores) {
	if s.tombstone() {
		return c
	}
	newest, _ := s.newestRollup()
	if p.rollup > 0 && s.SeqNo-max(newest, s.Asked.Rollup) >= p.rollup {
		s.Asked.Rollup, c.rollup = s.SeqNo, true
	}
	// Nothing is to be had unless there is a rollup to begin from afterwards.
	target, _ := s.rollupAtMost(s.seqnoSince())
	if p.collect > 0 && target >= s.Asked.Collect+p.collect {
		s.Asked.Collect, c.collect = target, target
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
		p.merge = 0
	}
	m.mu.Unlock()
	return next.assign(p)
}

// start does, in tasks of its own, what s asked for when it was committed.
func (m *machine) start(c chores, s *state) {
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
