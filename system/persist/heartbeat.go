package persist

import (
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// Heartbeats: one task keeps the leases of all of a client's readers of a shard alive. Each heartbeat
// is a version of the shard, which all who follow it have to fetch, so it is worth one only when a lease
// needs it or it lets go of something; and then all the readers ride in it.

// attend has the reader's lease kept alive until dismiss.
func (m *machine) attend(r *ReadHandle) {
	m.mu.Lock()
	m.readers = append(m.readers, r)
	begin := !m.beating
	m.beating = true
	m.mu.Unlock()
	if begin {
		m.h.Go("persist heartbeats "+string(m.shard), m.beat)
	}
}

// dismiss leaves the reader's lease to run out, or to be expired.
func (m *machine) dismiss(r *ReadHandle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readers = slices.DeleteFunc(m.readers, func(other *ReadHandle) bool { return other == r })
}

// beat is the task, which ends when there is no reader left.
func (m *machine) beat() {
	for host.Sleep(m.life, m.h, m.cfg.HeartbeatInterval) == nil {
		m.mu.Lock()
		readers, latest := slices.Clone(m.readers), m.cached
		m.beating = len(readers) > 0
		m.mu.Unlock()
		if len(readers) == 0 {
			return
		}
		if !slices.ContainsFunc(readers, func(r *ReadHandle) bool { return r.due(latest) }) {
			continue
		}
		if err := m.renew(m.life, readers); err != nil && m.life.Err() == nil {
			m.h.Logf("persist: heartbeat of %d readers of %s: %v", len(readers), m.shard, err)
		}
	}
}

// due tells whether the reader should be heard of now, given that latest was seen.
func (r *ReadHandle) due(latest *state) bool {
	needed := r.oldestNeeded(latest.SeqNo)
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg := r.c.cfg
	quiet := r.c.h.Clock().Now().Sub(r.heard)
	// The clock may have been set back: then the time is not known, and is taken to be over.
	if quiet < 0 || quiet >= cfg.ReaderLease/3 || quiet+cfg.HeartbeatInterval > cfg.ReaderLease/2 {
		return true
	}
	if r.since.Before(r.wanted) {
		return true
	}
	// What waits for the reader alone is worth a version once it would be collected. A reader that is not
	// there is to notice that its lease is over.
	registered, ok := latest.Readers[r.id]
	return !ok || needed >= registered.Hold+SeqNo(cfg.CollectInterval)
}

// renew is a heartbeat of the readers, together with what each wants to give up.
func (m *machine) renew(ctx context.Context, readers []*ReadHandle) error {
	type outcome struct {
		held Frontier
		ok   bool
	}
	outcomes := make([]outcome, len(readers))
	s, _, err := m.idempotent(ctx, func(next *state, now uint64) verdict {
		together := decline
		for i, r := range readers {
			o := &outcomes[i]
			var v verdict
			o.held, o.ok, v = next.downgradeReader(r.id, r.oldestNeeded(next.SeqNo-1), r.wants(), now)
			if v == commit {
				together = commit
			}
		}
		return together
	})
	if err != nil {
		return err
	}
	m.h.Sometimes("persist: readers were heard of together", len(readers) > 1)
	heard := m.h.Clock().Now()
	for i, r := range readers {
		if outcomes[i].ok {
			r.held(outcomes[i].held, heard)
		} else if r.checkLease(s) != nil {
			m.dismiss(r)
		}
	}
	return nil
}

// wants is the hold that the next heartbeat asks for.
func (r *ReadHandle) wants() Frontier {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// held takes note of what the shard holds for the reader, as it was told at the time heard.
func (r *ReadHandle) held(since Frontier, heard time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = r.since.Join(since)
	r.heard = heard
}
