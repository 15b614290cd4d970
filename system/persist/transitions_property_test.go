package persist

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shardMachine runs random commands on a shard, one after the other, and keeps beside it what
// is easy to say: which appends went in, and who holds which since.
type shardMachine struct {
	s        *state
	now      uint64
	tokens   int
	last     map[WriterID]lastAppend // the latest that went in, of writers not expired
	appended []batch                 // in order
	readers  map[ReaderID]Frontier
	critical map[CriticalID]Frontier
}

type lastAppend struct {
	b     batch
	token Token
}

// step applies a transition to the shard, with what every command does around it.
func (m *shardMachine) step(t *rapid.T, transition func(next *state) verdict) {
	m.now += rapid.Uint64Range(0, 3).Draw(t, "ms")
	next := m.s.clone()
	next.SeqNo++
	next.Walltime = max(m.now, m.s.Walltime+1)
	if transition(next) == decline {
		return
	}
	next.expireLeases(m.now)
	require.NoError(t, m.s.checkSuccessor(next))
	requireReplays(t, m.s, next)
	m.s = next
	// Whoever's lease ran out is forgotten here too.
	for id := range m.last {
		if _, ok := next.Writers[id]; !ok {
			delete(m.last, id)
		}
	}
	for id := range m.readers {
		if _, ok := next.Readers[id]; !ok {
			delete(m.readers, id)
		}
	}
}

var (
	writerIDs   = rapid.SampledFrom([]WriterID{"w1", "w2", "w3"})
	readerIDs   = rapid.SampledFrom([]ReaderID{"r1", "r2", "r3"})
	criticalIDs = rapid.SampledFrom([]CriticalID{"c1", "c2"})
)

const propertyLease = 30 // ms

func (m *shardMachine) Append(t *rapid.T) {
	id := writerIDs.Draw(t, "writer")
	upper := m.s.upper()
	at, open := upper.Time()
	expected := upper
	if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		expected = At(rapid.Uint64Range(0, at+3).Draw(t, "expected"))
	}
	if !open && expected.IsEmpty() {
		return // the handle does not let this through
	}
	from, _ := expected.Time()
	next := At(from + rapid.Uint64Range(0, 4).Draw(t, "width"))
	if rapid.IntRange(0, 200).Draw(t, "close") == 0 {
		next = Empty()
	}
	b := batch{Lower: expected, Upper: next}
	m.tokens++
	token := Token(fmt.Sprint("t", m.tokens))
	if rapid.Bool().Draw(t, "data") {
		b.Parts = []part{{Key: fmt.Sprint("b", m.tokens), Updates: 1}}
	}
	m.step(t, func(s *state) verdict {
		r, v := s.compareAndAppend(b, id, token, m.now, propertyLease)
		switch {
		case next == expected && b.Parts != nil:
			require.Equal(t, emptyInterval, r)
		case expected != upper:
			require.Equal(t, upperDiffers, r)
		default:
			require.Equal(t, appended, r)
			require.Equal(t, next, s.upper())
			if next != expected {
				m.appended = append(m.appended, b)
			}
			m.last[id] = lastAppend{b, token}
		}
		return v
	})
}

// Retry repeats the latest append of a writer, as one does who did not get the answer. While
// the shard knows the writer it finds out.
func (m *shardMachine) Retry(t *rapid.T) {
	id := writerIDs.Draw(t, "writer")
	last, ok := m.last[id]
	if !ok {
		return
	}
	m.step(t, func(s *state) verdict {
		r, v := s.compareAndAppend(last.b, id, last.token, m.now, propertyLease)
		require.Equal(t, alreadyAppended, r)
		require.Equal(t, decline, v)
		return v
	})
}

func (m *shardMachine) ExpireWriter(t *rapid.T) {
	id := writerIDs.Draw(t, "writer")
	m.step(t, func(s *state) verdict {
		existed, v := s.expireWriter(id)
		_, known := m.last[id]
		require.Equal(t, known, existed)
		delete(m.last, id)
		return v
	})
}

func (m *shardMachine) RegisterReader(t *rapid.T) {
	id := readerIDs.Draw(t, "reader")
	m.step(t, func(s *state) verdict {
		since, v := s.registerReader(id, m.now, propertyLease)
		if held, ok := m.readers[id]; ok {
			require.Equal(t, held, since)
		} else if v == commit {
			require.Equal(t, s.Since, since)
		}
		if v == commit {
			m.readers[id] = since
		}
		return v
	})
}

func (m *shardMachine) DowngradeReader(t *rapid.T) {
	id := readerIDs.Draw(t, "reader")
	to := At(rapid.Uint64Range(0, 60).Draw(t, "since"))
	if rapid.IntRange(0, 100).Draw(t, "for good") == 0 {
		to = Empty()
	}
	m.step(t, func(s *state) verdict {
		held, ok, v := s.downgradeReader(id, 0, to, m.now)
		before, known := m.readers[id]
		require.Equal(t, known, ok)
		if known {
			require.Equal(t, before.Join(to), held)
			m.readers[id] = held
		}
		return v
	})
}

func (m *shardMachine) ExpireReader(t *rapid.T) {
	id := readerIDs.Draw(t, "reader")
	m.step(t, func(s *state) verdict {
		before := s.Since
		_, v := s.expireReader(id)
		require.Equal(t, before, s.Since)
		delete(m.readers, id)
		return v
	})
}

func (m *shardMachine) Critical(t *rapid.T) {
	id := criticalIDs.Draw(t, "critical")
	if _, ok := m.critical[id]; !ok {
		m.step(t, func(s *state) verdict {
			c, v := s.registerCritical(id, 1)
			if v == commit {
				m.critical[id] = c.Since
			}
			return v
		})
		return
	}
	to := At(rapid.Uint64Range(0, 60).Draw(t, "since"))
	expected := Opaque(rapid.IntRange(1, 2).Draw(t, "expected"))
	next := Opaque(rapid.IntRange(1, 2).Draw(t, "next"))
	m.tokens++
	m.step(t, func(s *state) verdict {
		held := s.Critical[id].Opaque
		c, r, v := s.compareAndDowngrade(id, expected, next, to, Token(fmt.Sprint("t", m.tokens)))
		require.Equal(t, held == expected, r == downgraded)
		if r == downgraded {
			m.critical[id] = m.critical[id].Join(to)
			require.Equal(t, next, c.Opaque)
		}
		require.Equal(t, m.critical[id], c.Since)
		return v
	})
}

func (m *shardMachine) Check(t *rapid.T) {
	require.NoError(t, m.s.check())
	// The appends that went in follow one another up to the upper, and their blobs are there, once each.
	lower := Frontier{}
	var parts []part
	for _, b := range m.appended {
		require.Equal(t, lower, b.Lower)
		lower = b.Upper
		parts = append(parts, b.Parts...)
	}
	require.Equal(t, lower, m.s.upper())
	var got []part
	for _, b := range m.s.Batches {
		got = append(got, b.Parts...)
	}
	require.Equal(t, parts, got)
	for _, since := range m.readers {
		require.False(t, since.Before(m.s.Since), "reader's hold %v, since %v", since, m.s.Since)
	}
	for _, since := range m.critical {
		require.False(t, since.Before(m.s.Since), "critical hold %v, since %v", since, m.s.Since)
	}
}

func TestRandomCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &shardMachine{
			s: initialState(0), last: map[WriterID]lastAppend{},
			readers: map[ReaderID]Frontier{}, critical: map[CriticalID]Frontier{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": m.Append, "retry": m.Retry, "expire writer": m.ExpireWriter,
			"register reader": m.RegisterReader, "downgrade reader": m.DowngradeReader,
			"expire reader": m.ExpireReader, "critical": m.Critical, "": m.Check,
		})
	})
}
