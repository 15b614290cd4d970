package persist

import (
	"context"
	"errors"
	"slices"
)

// mergeDue finds a run of batches that are worth being merged: at least few of them, and no more
// than limit updates. It begins with the newest.
//
// In a run, from its newest batch to its oldest, each weighs less than twice what the newer ones
// weigh together, and so does the newest compared with the rest. Hence
//
//   - an update that takes part in a merge comes out in a batch at least one and a half times as
//     heavy, unless updates cancelled out: one that stays is rewritten a number of times
//     logarithmic in the shard's size;
//   - where no run is due, every few-th batch, going back, weighs twice what follows it: there are
//     at most few times as many batches as the logarithm of the shard's size. (Among batches too
//     heavy to be merged under the limit there is no bound but their weight.)
//
// The policy is that of log-structured merge trees with tiers. The newest batch is left out as
// long as it is empty: appends without updates make it longer, which would let most merges of
// it come too late.
func (s *state) mergeDue(few, limit int) (from, to int, due bool) {
	end := len(s.Batches)
	if end > 0 && len(s.Batches[end-1].Parts) == 0 {
		end--
	}
	for ; end >= few; end-- {
		newest := s.Batches[end-1].weight()
		sum := newest
		begin := end - 1
		for begin > 0 {
			w := s.Batches[begin-1].weight()
			if w >= 2*sum || sum+w > limit {
				break
			}
			sum += w
			begin--
		}
		if end-begin >= few && newest < 2*(sum-newest) {
			return begin, end, true
		}
	}
	return 0, 0, false
}

// merge merges runs of batches as long as there are some. It holds nothing: when others merged
// the batches, and their blobs were collected, meanwhile, that is that.
func (m *machine) merge(ctx context.Context) error {
	for {
		s, _ := m.state()
		from, to, due := s.mergeDue(max(2, m.policy.merge), m.policy.mergeUpdates)
		if !due || s.tombstone() {
			return nil
		}
		inputs := slices.Clone(s.Batches[from:to])
		merged, err := m.mergeBatches(ctx, inputs, s.Since)
		if errors.Is(err, ErrMissingBlob) {
			latest, refreshErr := m.refresh(ctx)
			if refreshErr != nil {
				return refreshErr
			}
			if latest.run(inputs) < 0 {
				m.h.Sometimes("persist: batches to be merged were gone", true)
				return nil
			}
			m.h.Always("persist: the blobs of the latest version are there", false, "%s: %v", m.shard, err)
		}
		if err != nil {
			return err
		}
		if err := m.dawdle(ctx, "persist/dawdle before applying a merge"); err != nil {
			return err
		}
		applied, err := m.applied(ctx, func(next *state) (bool, verdict) { return next.applyMerge(inputs, merged) })
		if err != nil && !errors.Is(err, ErrDeterminate) {
			return err // the result may be in use
		}
		m.h.Sometimes("persist: batches were merged", applied)
		m.h.Sometimes("persist: batches were merged up to a since", applied && merged.Since != Frontier{})
		m.h.Sometimes("persist: a merge came too late", !applied)
		if !applied {
			m.discard(merged.Parts...)
			return err
		}
	}
}

// mergeBatches writes what the batches, which follow one another, hold together: as one batch
// in which the times before since are moved forward to it, and what is then equal added up.
func (m *machine) mergeBatches(ctx context.Context, inputs []batch, since Frontier) (batch, error) {
	merged := batch{Lower: inputs[0].Lower, Upper: inputs[len(inputs)-1].Upper, Since: since}
	fetched, err := m.fetchBatches(ctx, inputs, m.fetchPart)
	if err != nil {
		return merged, err
	}
	var updates []Update
	for i := range inputs {
		updates = inputs[i].movedTo(since, fetched[i], updates)
	}
	before := sumOfDiffs(updates)
	updates = Consolidate(updates)
	after := sumOfDiffs(updates)
	m.h.Always("persist: a merge keeps the sum of all diffs", before == after, "%s: [%v, %v): %d, %d", m.shard, merged.Lower, merged.Upper, before, after)
	merged.Parts, err = m.writeParts(ctx, updates)
	return merged, err
}

// movedTo adds the batch's updates to into, those of times before since moved forward to it. When
// since is empty no time can be read any more, and nothing is left.
func (b *batch) movedTo(since Frontier, updates []Update, into []Update) []Update {
	t, readable := since.Time()
	for _, u := range updates {
		if readable && b.has(u) {
			into = append(into, Update{Data: u.Data, Time: max(u.Time, t), Diff: u.Diff})
		}
	}
	return into
}

func sumOfDiffs(updates []Update) (sum int64) {
	for _, u := range updates {
		sum += u.Diff
	}
	return sum
}

// applyMerge puts merged in place of the batches that it was made of, and tells whether it is
// there: not if any of those is not, since others merged it.
func (s *state) applyMerge(inputs []batch, merged batch) (applied bool, v verdict) {
	if s.run([]batch{merged}) >= 0 {
		return true, decline
	}
	at := s.run(inputs)
	if at < 0 || s.tombstone() || !validMerge(inputs, merged) || s.Since.Before(merged.Since) {
		return false, decline
	}
	s.Batches = slices.Concat(s.Batches[:at], []batch{merged}, s.Batches[at+len(inputs):])
	return true, commit
}

// validMerge tells whether merged can have been made of inputs.
func validMerge(inputs []batch, merged batch) bool {
	updates := 0
	for i := range inputs {
		if i > 0 && inputs[i-1].Upper != inputs[i].Lower || merged.Since.Before(inputs[i].Since) {
			return false
		}
		updates += inputs[i].updates()
	}
	return merged.Lower == inputs[0].Lower && merged.Upper == inputs[len(inputs)-1].Upper && merged.updates() <= updates
}

// run is the index of the first of the batches, if they are there one after the other, or -1.
// They are looked for themselves, and not only as an interval: another merge may cover the same.
func (s *state) run(batches []batch) int {
	at := slices.IndexFunc(s.Batches, func(b batch) bool { return b.Lower == batches[0].Lower })
	if at < 0 || len(s.Batches)-at < len(batches) {
		return -1
	}
	for i := range batches {
		if !s.Batches[at+i].equal(batches[i]) {
			return -1
		}
	}
	return at
}
