package persist

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/wal"
)

// contentMachine runs random commands on a shard together with the updates in its blobs, and
// keeps beside it every update that was ever appended. Whatever is merged, what can be read and
// what listeners emit is to follow from those alone.
type contentMachine struct {
	s         *state
	blobs     map[string][]Update
	log       []Update
	count     int
	listeners []*modelListener
}

// modelListener is a listener, with what it has emitted.
type modelListener struct {
	id       ReaderID
	asOf     uint64
	frontier Frontier
	done     Frontier
	emitted  []Update
}

func (m *contentMachine) step(t *rapid.T, transition func(next *state) verdict) {
	next := m.s.clone()
	next.SeqNo++
	next.Walltime++
	if transition(next) == decline {
		return
	}
	requireReplays(t, m.s, next)
	require.NoError(t, next.check())
	require.NoError(t, m.s.checkSuccessor(next))
	m.s = next
}

// requireReplays holds what is stored of next against next.
func requireReplays(t require.TestingT, base, next *state) {
	base.tally = base.count()
	made, err := versionOf(base, next)
	require.NoError(t, err)
	var v, reflected version
	require.NoError(t, v.decode(wal.Encode(made)))
	require.NoError(t, wal.Decode(wal.Encode(made), &reflected))
	require.Equal(t, reflected, v)
	replayed, err := history{}.follows(base, v)
	require.NoError(t, err)
	require.True(t, replayed.equal(next))
	require.Equal(t, next.count(), next.tally)
}

func (m *contentMachine) store(updates []Update) []part {
	var parts []part
	for chunk := range slices.Chunk(updates, 2) {
		m.count++
		p, _ := encodePart(fmt.Sprint("b", m.count), chunk)
		m.blobs[p.Key] = chunk
		parts = append(parts, p)
	}
	return parts
}

func (m *contentMachine) fetch(b *batch) (updates []Update) {
	for _, p := range b.Parts {
		updates = append(updates, m.blobs[p.Key]...)
	}
	return updates
}

// Append appends updates, some of them written for wider bounds than they are appended under.
func (m *contentMachine) Append(t *rapid.T) {
	lower, open := m.s.upper().Time()
	if !open || lower > 60 {
		return
	}
	upper := lower + rapid.Uint64Range(0, 4).Draw(t, "width")
	var written []Update
	if upper > lower {
		written = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Update {
			return Update{
				Data: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "data"),
				Time: rapid.Uint64Range(lower-min(lower, 2), upper+2).Draw(t, "time"),
				Diff: rapid.SampledFrom([]int64{-1, 1, 2}).Draw(t, "diff"),
			}
		}), 0, 4).Draw(t, "updates")
	}
	b := batch{Lower: At(lower), Upper: At(upper), Parts: m.store(written)}
	m.count++
	m.step(t, func(s *state) verdict {
		r, v := s.compareAndAppend(b, "w", Token(fmt.Sprint("t", m.count)), 0, propertyLease)
		require.Equal(t, appended, r)
		return v
	})
	for _, u := range written {
		if u.Time >= lower && u.Time < upper {
			m.log = append(m.log, u)
		}
	}
}

// Merge merges some run, due or not.
func (m *contentMachine) Merge(t *rapid.T) {
	if len(m.s.Batches) == 0 {
		return
	}
	from := rapid.IntRange(0, len(m.s.Batches)-1).Draw(t, "from")
	to := rapid.IntRange(from+1, len(m.s.Batches)).Draw(t, "to")
	m.mergeRun(t, from, to)
}

// MergeDue merges what the policy says.
func (m *contentMachine) MergeDue(t *rapid.T) {
	if from, to, due := m.s.mergeDue(rapid.IntRange(2, 4).Draw(t, "few"), 1000); due {
		m.mergeRun(t, from, to)
	}
}

func (m *contentMachine) mergeRun(t *rapid.T, from, to int) {
	inputs := slices.Clone(m.s.Batches[from:to])
	merged := batch{Lower: inputs[0].Lower, Upper: inputs[len(inputs)-1].Upper, Since: m.s.Since}
	var updates []Update
	for i := range inputs {
		updates = inputs[i].movedTo(m.s.Since, m.fetch(&inputs[i]), updates)
	}
	merged.Parts = m.store(Consolidate(updates))
	before := m.s
	m.step(t, func(s *state) verdict {
		applied, v := s.applyMerge(inputs, merged)
		require.True(t, applied)
		return v
	})
	again, v := m.s.clone().applyMerge(inputs, merged)
	require.True(t, again, "it is there")
	require.Equal(t, decline, v)
	if len(inputs) > 1 || !inputs[0].equal(merged) {
		late, v := m.s.clone().applyMerge(inputs, batch{Lower: merged.Lower, Upper: merged.Upper, Since: merged.Since, Parts: []part{{Key: "another"}}})
		require.False(t, late, "what it was made of is not there any more: %v", before.Batches)
		require.Equal(t, decline, v)
	}
}

func (m *contentMachine) Listen(t *rapid.T) {
	if len(m.listeners) == 3 {
		return
	}
	m.count++
	l := &modelListener{id: ReaderID(fmt.Sprint("r", m.count))}
	since, _ := m.s.Since.Time()
	l.asOf = since + rapid.Uint64Range(0, 5).Draw(t, "as of")
	l.frontier, l.done = At(l.asOf), At(l.asOf)
	m.step(t, func(s *state) verdict {
		_, v := s.registerReader(l.id, 0, propertyLease)
		return v
	})
	m.downgrade(t, l)
	m.listeners = append(m.listeners, l)
}

func (m *contentMachine) downgrade(t *rapid.T, l *modelListener) {
	m.step(t, func(s *state) verdict {
		_, ok, v := s.downgradeReader(l.id, s.SeqNo-1, l.done, 0)
		require.True(t, ok)
		return v
	})
}

// Next takes one step of a listener, and lets go of what it may, or not yet.
func (m *contentMachine) Next(t *rapid.T) {
	if len(m.listeners) == 0 {
		return
	}
	l := rapid.SampledFrom(m.listeners).Draw(t, "listener")
	if !l.frontier.Before(m.s.upper()) {
		return
	}
	b := m.s.batchAt(l.frontier)
	require.False(t, l.frontier.Before(b.Lower))
	require.True(t, l.frontier.Before(b.Upper))
	require.True(t, b.Since.Before(l.frontier) || b.Since == At(l.asOf))
	for _, u := range b.news(l.asOf, l.frontier, m.fetch(&b), nil) {
		require.True(t, l.frontier.LessEqual(u.Time) && !b.Upper.LessEqual(u.Time))
		l.emitted = append(l.emitted, u)
	}
	l.done, l.frontier = l.frontier, b.Upper
	if rapid.Bool().Draw(t, "downgrade") {
		m.downgrade(t, l)
	}
}

func (m *contentMachine) Leave(t *rapid.T) {
	if len(m.listeners) == 0 || rapid.IntRange(0, 3).Draw(t, "leave") > 0 {
		return
	}
	i := rapid.IntRange(0, len(m.listeners)-1).Draw(t, "listener")
	m.step(t, func(s *state) verdict {
		_, v := s.expireReader(m.listeners[i].id)
		return v
	})
	m.listeners = slices.Delete(m.listeners, i, i+1)
}

func (m *contentMachine) Check(t *rapid.T) {
	since, _ := m.s.Since.Time()
	upper, _ := m.s.upper().Time()
	for asOf := since; asOf < upper; asOf++ {
		var want, got []Update
		for _, u := range m.log {
			if u.Time <= asOf {
				want = append(want, Update{Data: u.Data, Time: asOf, Diff: u.Diff})
			}
		}
		for _, b := range m.s.snapshotBatches(asOf) {
			got = b.asOf(asOf, m.fetch(&b), got)
		}
		requireSame(t, want, got, "as of %d", asOf)
	}
	for _, l := range m.listeners {
		var want []Update
		for _, u := range m.log {
			if u.Time > l.asOf && !l.frontier.LessEqual(u.Time) {
				want = append(want, u)
			}
		}
		requireSame(t, want, slices.Clone(l.emitted), "listener from %d to %v", l.asOf, l.frontier)
	}
}

// requireSame requires that the two add up to the same.
func requireSame(t require.TestingT, want, got []Update, what string, args ...any) {
	require.Equal(t, append([]Update{}, Consolidate(want)...), append([]Update{}, Consolidate(got)...), append([]any{what}, args...)...)
}

func TestMergesChangeNothingThatCanBeSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &contentMachine{s: initialState(0), blobs: map[string][]Update{}}
		t.Repeat(map[string]func(*rapid.T){
			"append": m.Append, "merge": m.Merge, "merge due": m.MergeDue,
			"listen": m.Listen, "next": m.Next, "leave": m.Leave, "": m.Check,
		})
	})
}

// weights makes a shard whose batches weigh so much.
func weights(all ...int) *state {
	s := initialState(0)
	for i, w := range all {
		s.Batches = append(s.Batches, batch{Lower: At(uint64(i)), Upper: At(uint64(i + 1)), Parts: []part{{Key: fmt.Sprint(i), Updates: w}}})
	}
	return s
}

func TestMergeDue(t *testing.T) {
	for _, c := range []struct {
		name     string
		weights  []int
		few      int
		from, to int // 0, 0: none
	}{
		{"none", nil, 2, 0, 0},
		{"too few", []int{1, 1, 1}, 4, 0, 0},
		{"alike", []int{1, 1, 1, 1}, 4, 0, 4},
		{"all that are alike", []int{1, 1, 1, 1, 1, 1}, 4, 0, 6},
		{"not what is much heavier", []int{100, 1, 1, 1, 1}, 4, 1, 5},
		{"not twice what the newer ones weigh", []int{100, 100, 100, 3, 1, 1}, 3, 3, 6},
		{"twice what the newer ones weigh", []int{4, 1, 1}, 3, 0, 0},
		{"older ones, where the newest are too different", []int{7, 7, 7, 1}, 3, 0, 3},
		{"a heavy newest one waits", []int{1, 1, 1, 100}, 3, 0, 3},
		{"over the limit", []int{900, 900, 900}, 3, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to, due := weights(c.weights...).mergeDue(c.few, 1000)
			require.Equal(t, c.to > 0, due)
			require.Equal(t, []int{c.from, c.to}, []int{from, to})
		})
	}
	s := weights(1, 1, 1)
	s.Batches[2].Parts = nil
	_, _, due := s.mergeDue(3, 1000)
	require.False(t, due, "an empty newest batch may still grow")
}

// However sizes come, the batches stay few, and updates are not rewritten often.
func TestMergesKeepBatchesFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(2, 8).Draw(t, "few")
		sizes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int {
			return 1 << rapid.IntRange(0, 10).Draw(t, "log size")
		}), 1, 300).Draw(t, "sizes")
		var all []int
		total, written := 0, 0
		for _, size := range sizes {
			all = append(all, size)
			total += size
			for {
				from, to, due := weights(all...).mergeDue(few, 1<<40)
				if !due {
					break
				}
				require.GreaterOrEqual(t, to-from, few)
				sum := 0
				for _, w := range all[from:to] {
					sum += w
				}
				for i, w := range all[from:to] {
					require.LessOrEqual(t, 3*w, 2*sum, "batch %d of %v grows by half", i, all[from:to])
				}
				written += sum
				all = slices.Replace(all, from, to, sum)
			}
			log := len(fmt.Sprintf("%b", total))
			require.LessOrEqual(t, len(all), few*log, "%v", all)
			require.LessOrEqual(t, written, 2*log*total, "rewritten")
		}
	})
}

func TestApplyMerge(t *testing.T) {
	three := func() *state { s := weights(1, 2, 3); s.Since = At(2); return s }
	inputs := three().Batches[:2]
	result := func(change func(b *batch)) batch {
		b := batch{Lower: At(0), Upper: At(2), Since: At(2), Parts: []part{{Key: "m", Updates: 3}}}
		change(&b)
		return b
	}
	for _, c := range []struct {
		name   string
		state  func() *state
		inputs []batch
		merged batch
		want   bool
	}{
		{"applies", three, inputs, result(func(*batch) {}), true},
		{"to a lower since", three, inputs, result(func(b *batch) { b.Since = At(1) }), true},
		{"to nothing", three, inputs, result(func(b *batch) { b.Parts = nil }), true},
		{"past the since", three, inputs, result(func(b *batch) { b.Since = At(3) }), false},
		{"to more updates", three, inputs, result(func(b *batch) { b.Parts[0].Updates = 4 }), false},
		{"to other bounds", three, inputs, result(func(b *batch) { b.Upper = At(3) }), false},
		{"with a gap", three, []batch{three().Batches[0], three().Batches[2]}, result(func(b *batch) { b.Upper = At(3) }), false},
		{"of what others merged", func() *state {
			s := three()
			s.applyMerge(inputs, result(func(b *batch) { b.Parts[0].Key = "other" }))
			return s
		}, inputs, result(func(*batch) {}), false},
		{"of what covers the same time and is not the same", func() *state {
			s := three()
			s.Batches[1].Parts = []part{{Key: "other", Updates: 2}}
			return s
		}, inputs, result(func(*batch) {}), false},
		{"of a tombstone", func() *state { return aTombstone() }, aTombstone().Batches, batch{Upper: Empty()}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bool
			next, v := apply(t, c.state(), func(next *state) (v verdict) {
				got, v = next.applyMerge(c.inputs, c.merged)
				return v
			})
			require.Equal(t, c.want, got)
			if v == commit {
				require.Equal(t, append([]batch{c.merged}, c.state().Batches[2:]...), next.Batches)
			}
		})
	}
	s := three()
	s.Since = At(3)
	s.Batches[1].Since = At(3)
	applied, _ := s.applyMerge(s.Batches[:2], result(func(*batch) {}))
	require.False(t, applied, "the since of a batch does not go back")
}

func TestRollups(t *testing.T) {
	a, b := rollup{Key: "a"}, rollup{Key: "b"}
	with := func(s *state, rollups map[SeqNo]rollup) *state { s.Rollups = rollups; return s }
	final := func(rollups map[SeqNo]rollup) *state {
		s := with(aTombstone(), rollups)
		s.Final = 6
		return s
	}
	for _, c := range []struct {
		name  string
		state *state
		of    SeqNo
		add   rollup
		want  bool
		v     verdict
	}{
		{"the first", aState(), 5, a, true, commit},
		{"a newer one", with(aState(), map[SeqNo]rollup{4: b}), 5, a, true, commit},
		{"itself", with(aState(), map[SeqNo]rollup{5: a}), 5, a, true, decline},
		{"there is another", with(aState(), map[SeqNo]rollup{5: b}), 5, a, false, decline},
		{"there is a newer one", with(aState(), map[SeqNo]rollup{6: b}), 5, a, false, decline},
		{"of a tombstone", aTombstone(), 5, a, false, decline},
		{"of the final state", final(map[SeqNo]rollup{3: b}), 6, a, true, commit},
		{"of a state before the final one", final(nil), 5, a, false, decline},
		{"of the final state, twice", final(map[SeqNo]rollup{6: b}), 7, a, false, decline},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bool
			next, v := apply(t, c.state, func(next *state) (v verdict) {
				got, v = next.addRollup(c.of, c.add)
				return v
			})
			require.Equal(t, c.want, got)
			require.Equal(t, c.v, v)
			require.Equal(t, c.want, next.Rollups[c.of] == c.add)
		})
	}
	s := with(aState(), map[SeqNo]rollup{2: a, 4: b})
	remove := func(s *state, oldest SeqNo) (*state, verdict) {
		return apply(t, s, func(next *state) verdict { _, v := next.removeRollups(oldest); return v })
	}
	next, v := remove(s, 4)
	require.Equal(t, commit, v)
	require.Equal(t, map[SeqNo]rollup{4: b}, next.Rollups)
	require.Equal(t, SeqNo(4), next.Asked.Collected)
	for _, again := range []SeqNo{4, 2} {
		_, v = remove(next, again)
		require.Equal(t, decline, v)
	}
	// Of the first collection it is only told that it is done.
	first, v := remove(with(aState(), map[SeqNo]rollup{2: a}), 2)
	require.Equal(t, commit, v)
	require.Equal(t, map[SeqNo]rollup{2: a}, first.Rollups)
	require.Equal(t, SeqNo(2), first.Asked.Collected)
}

func TestFinalize(t *testing.T) {
	closed := aState()
	closed.Since, closed.Batches[0].Upper = Empty(), Empty()
	closed.Readers, closed.Critical = map[ReaderID]readerState{"r": {Hold: 5, Since: Empty()}}, nil
	final := aTombstone()
	final.Final = 7
	for _, c := range []struct {
		name    string
		state   *state
		refused bool
		v       verdict
	}{
		{"open", aState(), true, decline},
		{"closed for writing only", func() *state { s := aState(); s.Batches[0].Upper = Empty(); return s }(), true, decline},
		{"closed", closed, false, commit},
		{"a tombstone that has its data", aTombstone(), false, commit},
		{"twice", final, false, decline},
	} {
		t.Run(c.name, func(t *testing.T) {
			var refused bool
			next, v := apply(t, c.state, func(next *state) (v verdict) { refused, v = next.finalize(); return v })
			require.Equal(t, c.refused, refused)
			require.Equal(t, c.v, v)
			if v == commit {
				require.True(t, next.tombstone())
				require.Equal(t, next.SeqNo, next.Final)
				require.Equal(t, []batch{{Upper: Empty(), Since: Empty()}}, next.Batches)
			}
		})
	}
}

func TestAssign(t *testing.T) {
	p := policy{rollup: 10, collect: 5, merge: 2, mergeUpdates: 1000, timeout: 60}
	at := func(n SeqNo, change func(s *state)) *state {
		s := weights(1)
		s.SeqNo, s.Walltime = n, 100
		change(s)
		return s
	}
	for _, c := range []struct {
		name  string
		state *state
		want  chores
	}{
		{"nothing is due", at(9, func(*state) {}), chores{}},
		{"a rollup", at(10, func(*state) {}), chores{rollup: true}},
		{"a rollup, there being one", at(22, func(s *state) { s.Rollups = map[SeqNo]rollup{12: {}}; s.Asked.Collect, s.Asked.Collected = 12, 12 }), chores{rollup: true}},
		{"one is under way", at(20, func(s *state) { s.Asked.Rollup, s.Asked.RollupTime = 11, 41 }), chores{}},
		{"one is lost", at(20, func(s *state) { s.Asked.Rollup, s.Asked.RollupTime = 11, 40 }), chores{rollup: true, again: true}},
		{"one is not due, long ago as the last was asked for", at(20, func(s *state) {
			s.Rollups = map[SeqNo]rollup{11: {}}
			s.Asked = asked{Rollup: 11, Collect: 11, Collected: 11}
		}), chores{}},
		{"others were faster than who was asked", at(20, func(s *state) {
			s.Rollups = map[SeqNo]rollup{12: {}}
			s.Asked = asked{Rollup: 11, Collect: 12, Collected: 12}
		}), chores{}},
		{"a collection", at(12, func(s *state) { s.Rollups = map[SeqNo]rollup{10: {}} }), chores{collect: 10}},
		{"a small one", at(12, func(s *state) { s.Rollups = map[SeqNo]rollup{10: {}}; s.Asked.Collect, s.Asked.Collected = 6, 6 }), chores{}},
		{"a collection is under way", at(12, func(s *state) { s.Rollups = map[SeqNo]rollup{10: {}}; s.Asked.Collect, s.Asked.CollectTime = 6, 41 }), chores{}},
		{"a collection is lost", at(12, func(s *state) { s.Rollups = map[SeqNo]rollup{10: {}}; s.Asked.Collect, s.Asked.CollectTime = 6, 40 }), chores{collect: 10, again: true}},
		{"a collection is lost, and there is more to collect", at(19, func(s *state) {
			s.Rollups = map[SeqNo]rollup{6: {}, 18: {}}
			s.Asked = asked{Collect: 6, CollectTime: 99}
		}), chores{collect: 18}},
		{"what a reader holds", at(12, func(s *state) {
			s.Rollups = map[SeqNo]rollup{6: {}, 10: {}}
			s.Readers = map[ReaderID]readerState{"r": {Hold: 9}}
		}), chores{collect: 6}},
		{"a merge", at(5, func(s *state) { s.Batches = weights(1, 1).Batches }), chores{merge: true}},
		{"a merge is under way", at(5, func(s *state) { s.Batches = weights(1, 1).Batches; s.Asked.Merge = 4 }), chores{}},
		{"a tombstone", func() *state { s := aTombstone(); s.SeqNo = 100; return s }(), chores{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.state.assign(p))
			require.Equal(t, chores{}, c.state.assign(p), "not twice")
		})
	}
}

// Any two states lead to one another by their difference.
func TestDifference(t *testing.T) {
	states := rapid.Custom(func(t *rapid.T) *state {
		s := weights(rapid.SliceOfN(rapid.IntRange(0, 2), 0, 5).Draw(t, "batches")...)
		ids := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), func(s string) string { return s })
		for _, id := range ids.Draw(t, "readers") {
			s.registerReader(ReaderID(id), rapid.Uint64Range(0, 1).Draw(t, "heartbeat"), 1)
		}
		for _, id := range ids.Draw(t, "critical") {
			s.registerCritical(CriticalID(id), Opaque(rapid.Uint64Range(0, 1).Draw(t, "opaque")))
		}
		for _, id := range ids.Draw(t, "rollups") {
			s.addRollup(SeqNo(id[0]-'a'), rollup{Key: id})
		}
		s.Since = At(rapid.Uint64Range(0, 1).Draw(t, "since"))
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := states.Draw(t, "from"), states.Draw(t, "to")
		to.SeqNo = from.SeqNo + 1
		requireReplays(t, from, to)
	})
	require.Equal(t, &splice{At: 2, Insert: weights(1, 1, 7).Batches[2:]}, spliceOf(weights(1, 1).Batches, weights(1, 1, 7).Batches), "an append")
	_, err := (&splice{At: 1, Remove: 2}).apply(weights(1, 1).Batches, new(tally))
	require.Error(t, err)
	_, err = (&splice{At: 1, Insert: weights(1).Batches}).apply(weights(1, 1).Batches, new(tally))
	require.ErrorContains(t, err, "batch 1 begins at [0], the one before ends at [1]")
	require.Nil(t, spliceOf(weights(1, 1).Batches, weights(1, 1).Batches), "nothing")
	require.Nil(t, mapDifference(map[SeqNo]int{3: 1}, map[SeqNo]int{3: 1}))
	require.Equal(t, []SeqNo{2, 3}, mapDifference(map[SeqNo]int{3: 1, 1: 1, 2: 1}, map[SeqNo]int{1: 1}).Drop)
}
