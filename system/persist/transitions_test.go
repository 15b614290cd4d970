package persist

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/wal"
)

const (
	lease = 1000 // ms
	now   = 5000
)

// aState is a shard with one batch up to [10], since [4], a writer, a reader and a critical
// since.
func aState() *state {
	return &state{
		SeqNo: 7, Walltime: 4000, Since: At(4),
		Batches:  []batch{{Upper: At(10), Parts: []part{{Key: "b0", Updates: 1}}}},
		Writers:  map[WriterID]writerState{"w": {LastToken: "t", LastUpper: At(10), Heartbeat: 4000, Lease: lease}},
		Readers:  map[ReaderID]readerState{"r": {Hold: 5, Since: At(6), Heartbeat: 4500, Lease: lease}},
		Critical: map[CriticalID]criticalState{"c": {Since: At(4), Opaque: 1, LastToken: "t1"}},
	}
}

// aTombstone is a shard that is gone for good.
func aTombstone() *state {
	return &state{SeqNo: 7, Since: Empty(), Batches: []batch{{Upper: Empty()}}}
}

// apply clones s as a command does, applies a transition, and checks what always holds.
func apply(t *testing.T, s *state, transition func(next *state) verdict) (*state, verdict) {
	before := wal.Encode(s)
	next := s.clone()
	next.SeqNo++
	next.Walltime++
	v := transition(next)
	require.Equal(t, before, wal.Encode(s), "a transition changed the version it was applied to")
	if v == commit {
		require.NoError(t, next.check())
		require.NoError(t, s.checkSuccessor(next))
	}
	return next, v
}

func TestCompareAndAppend(t *testing.T) {
	data := []part{{Key: "b1", Updates: 2}}
	for _, c := range []struct {
		name    string
		state   *state
		batch   batch
		writer  WriterID
		token   Token
		want    appendResult
		upper   Frontier // after
		batches int      // after
	}{
		{"appends", aState(), batch{Lower: At(10), Upper: At(20), Parts: data}, "w", "t2", appended, At(20), 2},
		{"by a writer not known", aState(), batch{Lower: At(10), Upper: At(20), Parts: data}, "v", "t2", appended, At(20), 2},
		{"without updates", aState(), batch{Lower: At(10), Upper: At(20)}, "w", "t2", appended, At(20), 2},
		{"nothing at all", aState(), batch{Lower: At(10), Upper: At(10)}, "w", "t2", appended, At(10), 1},
		{"closes", aState(), batch{Lower: At(10), Upper: Empty()}, "w", "t2", appended, Empty(), 2},
		{"the first", initialState(now), batch{Lower: At(0), Upper: At(1)}, "w", "t2", appended, At(1), 1},
		{"expected too low", aState(), batch{Lower: At(9), Upper: At(20)}, "w", "t2", upperDiffers, At(10), 1},
		{"expected too high", aState(), batch{Lower: At(11), Upper: At(20)}, "w", "t2", upperDiffers, At(10), 1},
		{"shard closed", aTombstone(), batch{Lower: At(10), Upper: At(20)}, "w", "t2", upperDiffers, Empty(), 1},
		{"own token", aState(), batch{Lower: At(3), Upper: At(10)}, "w", "t", alreadyAppended, At(10), 1},
		{"another writer's token", aState(), batch{Lower: At(3), Upper: At(10)}, "v", "t", upperDiffers, At(10), 1},
		{"bounds the wrong way round", aState(), batch{Lower: At(10), Upper: At(9)}, "w", "t2", invalidBounds, At(10), 1},
		{"bounds come before the token", aState(), batch{Lower: At(10), Upper: At(9)}, "w", "t", invalidBounds, At(10), 1},
		{"no time for updates", aState(), batch{Lower: At(10), Upper: At(10), Parts: data}, "w", "t2", emptyInterval, At(10), 1},
		{"no time for updates comes before the upper", aState(), batch{Lower: At(3), Upper: At(3), Parts: data}, "w", "t2", emptyInterval, At(10), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got appendResult
			next, v := apply(t, c.state, func(next *state) (v verdict) {
				got, v = next.compareAndAppend(c.batch, c.writer, c.token, now, lease)
				return v
			})
			require.Equal(t, c.want, got)
			require.Equal(t, c.want == appended, v == commit)
			require.Equal(t, c.upper, next.upper())
			require.Len(t, next.Batches, c.batches)
			if c.want == appended {
				require.Equal(t, writerState{LastToken: c.token, LastUpper: c.batch.Upper, Heartbeat: now, Lease: lease}, next.Writers[c.writer])
			} else {
				require.Equal(t, wal.Encode(c.state.Writers), wal.Encode(next.Writers))
			}
		})
	}
}

func TestEmptyBatchesBecomeOne(t *testing.T) {
	s := initialState(now)
	for i := range uint64(10) {
		r, v := s.compareAndAppend(batch{Lower: At(i), Upper: At(i + 1)}, "w", Token(rune('a'+i)), now, lease)
		require.Equal(t, appended, r)
		require.Equal(t, commit, v)
	}
	require.Equal(t, []batch{{Upper: At(10)}}, s.Batches)
	s.push(batch{Lower: At(10), Upper: At(11), Parts: []part{{Key: "p"}}})
	s.push(batch{Lower: At(11), Upper: At(12)})
	s.push(batch{Lower: At(12), Upper: At(13)})
	require.Len(t, s.Batches, 3, "but never one with data: a filter by its bounds may hide data outside them")
	require.Equal(t, At(13), s.upper())
	require.NoError(t, s.check())
}

func TestRegisterReader(t *testing.T) {
	register := func(s *state, id ReaderID) (since Frontier, next *state, v verdict) {
		next, v = apply(t, s, func(next *state) (v verdict) {
			since, v = next.registerReader(id, now, lease)
			return v
		})
		return since, next, v
	}
	since, next, v := register(aState(), "new")
	require.Equal(t, commit, v)
	require.Equal(t, At(4), since)
	require.Equal(t, readerState{Hold: 8, Since: At(4), Heartbeat: now, Lease: lease}, next.Readers["new"])

	since, next, v = register(aState(), "r")
	require.Equal(t, commit, v)
	require.Equal(t, At(6), since, "the call was made before: its hold stays")
	require.Equal(t, readerState{Hold: 5, Since: At(6), Heartbeat: now, Lease: lease}, next.Readers["r"])

	since, _, v = register(aTombstone(), "new")
	require.Equal(t, decline, v)
	require.Equal(t, Empty(), since)
}

func TestDowngradeReader(t *testing.T) {
	for _, c := range []struct {
		name        string
		reader      ReaderID
		outstanding SeqNo
		since       Frontier
		held        Frontier
		ok          bool
		hold        SeqNo    // of the reader, after
		shardSince  Frontier // after
	}{
		{"forward, held back by another", "r", 0, At(8), At(8), true, 8, At(4)},
		{"backward", "r", 0, At(5), At(6), true, 8, At(4)},
		{"heartbeat", "r", 0, Frontier{}, At(6), true, 8, At(4)},
		{"for good", "r", 0, Empty(), Empty(), true, 8, At(4)},
		{"with a snapshot being fetched", "r", 6, At(8), At(8), true, 6, At(4)},
		{"with an old snapshot being fetched", "r", 5, At(8), At(8), true, 5, At(4)},
		{"expired", "gone", 0, At(8), Empty(), false, 0, At(4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var held Frontier
			var ok bool
			next, v := apply(t, aState(), func(next *state) (v verdict) {
				held, ok, v = next.downgradeReader(c.reader, c.outstanding, c.since, now)
				return v
			})
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.ok, v == commit)
			require.Equal(t, c.held, held)
			require.Equal(t, c.shardSince, next.Since)
			if c.ok {
				require.Equal(t, readerState{Hold: c.hold, Since: c.held, Heartbeat: now, Lease: lease}, next.Readers[c.reader])
			}
		})
	}
}

func TestSinceIsTheMeetOfAllHolds(t *testing.T) {
	s := &state{Since: At(1), Batches: []batch{{Upper: At(100)}}}
	s.registerReader("a", now, lease)
	s.registerReader("b", now, lease)
	s.registerCritical("c", 0)
	downgrade := func(id ReaderID, to Frontier) { s.downgradeReader(id, 0, to, now) }
	downgrade("a", At(50))
	require.Equal(t, At(1), s.Since)
	downgrade("b", At(40))
	require.Equal(t, At(1), s.Since, "the critical hold")
	s.compareAndDowngrade("c", 0, 0, At(60), "t")
	require.Equal(t, At(40), s.Since)
	downgrade("b", At(70))
	require.Equal(t, At(50), s.Since)
	s.expireReader("a")
	require.Equal(t, At(50), s.Since, "who leaves does not move the since")
	downgrade("b", At(70))
	require.Equal(t, At(50), s.Since, "nor does a downgrade that changes nothing")
	downgrade("b", At(71))
	require.Equal(t, At(60), s.Since, "the next one does")
	s.expireCritical("c")
	s.expireReader("b")
	require.Equal(t, At(60), s.Since)
	require.NoError(t, s.check())

	held, v := s.registerReader("late", now, lease)
	require.Equal(t, commit, v)
	require.Equal(t, At(60), held)
}

func TestExpire(t *testing.T) {
	for _, c := range []struct {
		name    string
		expire  func(*state) (bool, verdict)
		existed bool
	}{
		{"writer", func(s *state) (bool, verdict) { return s.expireWriter("w") }, true},
		{"unknown writer", func(s *state) (bool, verdict) { return s.expireWriter("x") }, false},
		{"reader", func(s *state) (bool, verdict) { return s.expireReader("r") }, true},
		{"unknown reader", func(s *state) (bool, verdict) { return s.expireReader("x") }, false},
		{"critical", func(s *state) (bool, verdict) { return s.expireCritical("c") }, true},
		{"unknown critical", func(s *state) (bool, verdict) { return s.expireCritical("x") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var existed bool
			next, v := apply(t, aState(), func(next *state) (v verdict) {
				existed, v = c.expire(next)
				return v
			})
			require.Equal(t, c.existed, existed)
			require.Equal(t, c.existed, v == commit)
			left := len(next.Writers) + len(next.Readers) + len(next.Critical)
			require.Equal(t, c.existed, left == 2)
			require.Equal(t, aState().Since, next.Since)
		})
	}
}

func TestRegisterCritical(t *testing.T) {
	s := aState()
	c, v := s.registerCritical("new", 9)
	require.Equal(t, commit, v)
	require.Equal(t, criticalState{Since: At(4), Opaque: 9}, c)
	require.Equal(t, c, s.Critical["new"])

	c, v = s.registerCritical("c", 9)
	require.Equal(t, commit, v)
	require.Equal(t, criticalState{Since: At(4), Opaque: 1, LastToken: "t1"}, c, "picked up as it was left")

	c, v = aTombstone().registerCritical("new", 9)
	require.Equal(t, decline, v)
	require.Equal(t, Empty(), c.Since)
}

func TestCompareAndDowngrade(t *testing.T) {
	for _, c := range []struct {
		name           string
		state          *state
		id             CriticalID
		expected, next Opaque
		since          Frontier
		token          Token
		want           downgradeResult
		verdict        verdict
		after          criticalState
		shardSince     Frontier
	}{
		{"forward", aState(), "c", 1, 2, At(5), "t2", downgraded, commit, criticalState{Since: At(5), Opaque: 2, LastToken: "t2"}, At(5)},
		{"forward, held back by a reader", aState(), "c", 1, 1, At(9), "t2", downgraded, commit, criticalState{Since: At(9), Opaque: 1, LastToken: "t2"}, At(6)},
		{"backward still writes the opaque", aState(), "c", 1, 2, At(1), "t2", downgraded, commit, criticalState{Since: At(4), Opaque: 2, LastToken: "t2"}, At(4)},
		{"for good", aState(), "c", 1, 1, Empty(), "t2", downgraded, commit, criticalState{Since: Empty(), Opaque: 1, LastToken: "t2"}, At(6)},
		{"held by a higher opaque", aState(), "c", 0, 5, At(5), "t2", opaqueDiffers, commit, criticalState{Since: At(4), Opaque: 1, LastToken: "t1"}, At(4)},
		{"held by a lower opaque", aState(), "c", 2, 5, At(5), "t2", opaqueDiffers, commit, criticalState{Since: At(4), Opaque: 1, LastToken: "t1"}, At(4)},
		{"the same call again", aState(), "c", 0, 1, At(4), "t1", downgraded, decline, criticalState{Since: At(4), Opaque: 1, LastToken: "t1"}, At(4)},
		{"unknown", aState(), "x", 1, 2, At(5), "t2", noCritical, decline, criticalState{}, At(4)},
		{"gone for good", aTombstone(), "c", 1, 2, At(5), "t2", downgraded, decline, criticalState{Since: Empty(), Opaque: 2}, Empty()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got criticalState
			var result downgradeResult
			next, v := apply(t, c.state, func(next *state) (v verdict) {
				got, result, v = next.compareAndDowngrade(c.id, c.expected, c.next, c.since, c.token)
				return v
			})
			require.Equal(t, c.want, result)
			require.Equal(t, c.verdict, v)
			require.Equal(t, c.after, got)
			require.Equal(t, c.shardSince, next.Since)
			if v == commit {
				require.Equal(t, c.after, next.Critical[c.id])
			}
		})
	}
}

func TestExpireLeases(t *testing.T) {
	for _, c := range []struct {
		now              uint64
		readers, writers int
	}{
		{4000, 0, 0},
		{5000, 0, 0}, // the lease's last millisecond
		{5001, 0, 1},
		{5500, 0, 1},
		{5501, 1, 1},
		{10, 0, 0}, // a clock that is behind
	} {
		s := aState()
		readers, writers := s.expireLeases(c.now)
		require.Equal(t, []int{c.readers, c.writers}, []int{readers, writers}, "at %d", c.now)
		require.Len(t, s.Readers, 1-c.readers)
		require.Len(t, s.Writers, 1-c.writers)
		require.Len(t, s.Critical, 1)
		require.Equal(t, At(4), s.Since)
	}
	require.False(t, overdue(1<<63, 1<<63, 1<<63))
	require.False(t, overdue(10, ^uint64(0), ^uint64(0)))
	require.True(t, overdue(10, 5, 16))
}

func TestSnapshotBatches(t *testing.T) {
	s := &state{Batches: []batch{{Upper: At(3)}, {Lower: At(3), Upper: At(7)}, {Lower: At(7), Upper: At(9)}}}
	for asOf, n := range map[uint64]int{0: 1, 2: 1, 3: 2, 6: 2, 7: 3, 8: 3} {
		require.Len(t, s.snapshotBatches(asOf), n, "as of %d", asOf)
	}
}

func TestSettle(t *testing.T) {
	b := batch{Lower: At(3), Upper: At(10), Parts: []part{{Key: "mine"}}}
	s := func(edit func(*state)) *state {
		s := aState()
		s.Walltime = 5000
		edit(s)
		return s
	}
	in := func(s *state) { s.Batches[0].Parts = []part{{Key: "mine"}} }
	for _, c := range []struct {
		name        string
		state       *state
		writer      WriterID
		earliest    uint64
		in, settled bool
	}{
		{"the writer is known, its token another", s(func(*state) {}), "w", 0, false, true},
		{"nobody can have expired the writer", s(func(*state) {}), "x", 4000, false, true},
		{"the upper is short of it", s(func(s *state) { s.Batches[0].Upper = At(9) }), "x", 0, false, true},
		{"its blob is there", s(in), "x", 0, true, true},
		{"nothing to go by", s(func(*state) {}), "x", 3999, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, settled := c.state.settle(b, c.writer, c.earliest, lease)
			require.Equal(t, c.in, in)
			require.Equal(t, c.settled, settled)
		})
	}
}

func TestStateCheck(t *testing.T) {
	require.NoError(t, aState().check())
	require.NoError(t, aTombstone().check())
	require.NoError(t, initialState(now).check())
	for name, edit := range map[string]func(*state){
		"gap":                 func(s *state) { s.Batches = append(s.Batches, batch{Lower: At(11), Upper: At(12)}) },
		"overlap":             func(s *state) { s.Batches = append(s.Batches, batch{Lower: At(9), Upper: At(12)}) },
		"first not from 0":    func(s *state) { s.Batches[0].Lower = At(1) },
		"no time":             func(s *state) { s.Batches = append(s.Batches, batch{Lower: At(10), Upper: At(10)}) },
		"after the end":       func(s *state) { s.Batches = append(s.Batches, batch{Lower: Empty(), Upper: Empty()}) },
		"past a reader":       func(s *state) { s.Since = At(7); s.Critical = nil },
		"past a critical":     func(s *state) { s.Since = At(5) },
		"held version to be":  func(s *state) { s.Readers["r"] = readerState{Hold: 8, Since: At(6)} },
		"writer past the end": func(s *state) { s.Writers["w"] = writerState{LastUpper: At(11)} },
	} {
		s := aState()
		edit(s)
		require.Error(t, s.check(), name)
	}
	for name, edit := range map[string]func(*state){
		"upper":    func(s *state) { s.Batches[0].Upper = At(9) },
		"since":    func(s *state) { s.Since = At(3) },
		"walltime": func(s *state) { s.Walltime = 4000 },
	} {
		later := aState()
		later.Walltime++
		require.NoError(t, aState().checkSuccessor(later))
		edit(later)
		require.Error(t, aState().checkSuccessor(later), name)
	}
}

func TestTombstone(t *testing.T) {
	require.True(t, aTombstone().tombstone())
	require.Equal(t, SeqNo(7), aTombstone().seqnoSince())
	require.Equal(t, SeqNo(5), aState().seqnoSince())
	for _, edit := range []func(*state){
		func(s *state) { s.Since = At(1) },
		func(s *state) { s.Batches[0].Upper = At(1) },
		func(s *state) { s.Readers = aState().Readers },
		func(s *state) { s.Writers = aState().Writers },
		func(s *state) { s.Critical = aState().Critical },
	} {
		s := aTombstone()
		edit(s)
		require.False(t, s.tombstone())
	}
}

func TestStateEncoding(t *testing.T) {
	for _, s := range []*state{aState(), aTombstone(), initialState(now)} {
		var back state
		require.NoError(t, wal.Decode(wal.Encode(s), &back))
		require.Equal(t, wal.Encode(s), wal.Encode(&back))
		require.Equal(t, s.upper(), back.upper())
		require.Equal(t, s.Writers, back.Writers)
		require.Equal(t, s.Readers, back.Readers)
		require.Equal(t, s.Critical, back.Critical)
	}
}

// A writer whose lease ran out, and whose clock was set back since, is not one that went back.
func TestForgottenWriterComesBack(t *testing.T) {
	known := aState()
	forgotten, _ := apply(t, known, func(next *state) verdict {
		_, writers := next.expireLeases(known.Writers["w"].Heartbeat + lease + 1)
		require.Equal(t, 1, writers)
		return commit
	})
	back, v := apply(t, forgotten, func(next *state) (v verdict) {
		_, v = next.compareAndAppend(batch{Lower: At(10), Upper: At(20)}, "w", "t2", known.Writers["w"].Heartbeat-1, lease)
		return v
	})
	require.Equal(t, commit, v)
	require.NoError(t, known.checkSuccessor(back))
}

// A finalised shard has forgotten its writers, so that it can't tell any of them that nothing was written.
func TestFinalizedShardSettlesNothing(t *testing.T) {
	s := aState()
	b := batch{Lower: At(10), Upper: Empty(), Parts: []part{{Key: "b1", Updates: 1}}}
	appended, _ := apply(t, s, func(next *state) (v verdict) {
		_, v = next.compareAndAppend(b, "w", "t2", now, lease)
		return v
	})
	appended.Since = Empty()
	final, v := apply(t, appended, func(next *state) (v verdict) {
		_, v = next.finalize()
		return v
	})
	require.Equal(t, commit, v)
	in, settled := final.settle(b, "w", now, lease)
	require.False(t, settled, "in: %v", in)
}

func TestForgottenReaderComesBack(t *testing.T) {
	known := aState()
	forgotten, _ := apply(t, known, func(next *state) verdict {
		readers, _ := next.expireLeases(known.Readers["r"].Heartbeat + lease + 1)
		require.Equal(t, 1, readers)
		return commit
	})
	back, v := apply(t, forgotten, func(next *state) (v verdict) {
		_, v = next.registerReader("r", known.Readers["r"].Heartbeat-1, lease)
		return v
	})
	require.Equal(t, commit, v)
	back.Readers["r"] = readerState{Hold: back.SeqNo, Since: known.Readers["r"].Since, Heartbeat: known.Readers["r"].Heartbeat - 1, Lease: lease}
	require.NoError(t, known.checkSuccessor(back))
}
