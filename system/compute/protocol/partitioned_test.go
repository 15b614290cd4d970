package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

func TestPartitionedFrontiers(t *testing.T) {
	s := protocol.NewPartitionedState(2)
	at := persist.At
	tell := func(part int, write, input, output protocol.Frontier) (protocol.Response, bool) {
		return absorb(t, s, part, protocol.Frontiers{ID: 1, Write: write, Input: input, Output: output})
	}
	_, ok := tell(0, at(5), at(6), at(5))
	require.False(t, ok, "the other part has told nothing")
	r, ok := tell(1, at(4), persist.Empty(), at(9))
	require.True(t, ok)
	require.Equal(t, protocol.Frontiers{ID: 1, Write: at(4), Input: at(6), Output: at(5)}, r)
	_, ok = tell(1, at(4), persist.Empty(), at(10))
	require.False(t, ok, "the slower part is where it was")
	_, ok = tell(0, persist.Empty(), persist.Empty(), persist.Empty())
	require.True(t, ok)
	r, ok = tell(1, persist.Empty(), persist.Empty(), persist.Empty())
	require.True(t, ok)
	require.Equal(t, protocol.Frontiers{ID: 1, Write: persist.Empty(), Input: persist.Empty(), Output: persist.Empty()}, r)
}

func TestPartitionedPeeks(t *testing.T) {
	row := func(n int64) dataflow.RowCount {
		return dataflow.RowCount{Row: dataflow.Pack(dataflow.Int(n)), Count: 1}
	}
	s := protocol.NewPartitionedState(2)
	ask := func(id protocol.PeekID) { require.Equal(t, 2, asked(s.Split(protocol.Peek{ID: id}))) }
	for name, c := range map[string]struct{ first, second, want protocol.PeekResponse }{
		"rows":      {protocol.PeekResponse{Rows: []dataflow.RowCount{row(2)}}, protocol.PeekResponse{Rows: []dataflow.RowCount{row(1)}}, protocol.PeekResponse{Rows: []dataflow.RowCount{row(1), row(2)}}},
		"error":     {protocol.PeekResponse{Error: "bad"}, protocol.PeekResponse{Rows: []dataflow.RowCount{row(1)}}, protocol.PeekResponse{Error: "bad"}},
		"cancelled": {protocol.PeekResponse{Error: "bad"}, protocol.PeekResponse{Canceled: true}, protocol.PeekResponse{Canceled: true}},
	} {
		id := protocol.PeekID(name)
		ask(id)
		c.first.ID, c.second.ID, c.want.ID = id, id, id
		r, err := s.Absorb(1, c.first)
		require.NoError(t, err)
		require.Nil(t, r)
		_, err = s.Absorb(1, c.first)
		require.ErrorIs(t, err, protocol.ErrUnasked, "a part answers once")
		r, err = s.Absorb(0, c.second)
		require.NoError(t, err)
		require.Equal(t, c.want, r)
		_, err = s.Absorb(0, c.second)
		require.ErrorIs(t, err, protocol.ErrUnasked, "the peek is answered")
		require.Zero(t, asked(s.Split(protocol.CancelPeek{ID: id})))
	}
}

// A shard is read by one part.
func TestPartitionedPeekOfAShard(t *testing.T) {
	s := protocol.NewPartitionedState(3)
	commands := s.Split(protocol.Peek{ID: "p", Target: protocol.PeekTarget{Shard: "s"}})
	require.Equal(t, 1, asked(commands))
	require.Equal(t, 1, asked(s.Split(protocol.CancelPeek{ID: "p"})))
	for part, cmd := range commands {
		_, err := s.Absorb(part, protocol.PeekResponse{ID: "p"})
		require.Equal(t, cmd == nil, err != nil)
	}
}

func absorb(t testing.TB, s *protocol.PartitionedState, part int, r protocol.Response) (protocol.Response, bool) {
	whole, err := s.Absorb(part, r)
	require.NoError(t, err)
	return whole, whole != nil
}

func asked(commands []protocol.Command) (n int) {
	for _, cmd := range commands {
		if cmd != nil {
			n++
		}
	}
	return n
}

func TestPartitionedSubscribe(t *testing.T) {
	s := protocol.NewPartitionedState(2)
	row := dataflow.Pack(dataflow.Int(1))
	batch := func(part int, lower, upper protocol.Frontier, updates ...dataflow.Update) (protocol.Response, bool) {
		return absorb(t, s, part, protocol.SubscribeResponse{ID: 1, Batch: &protocol.SubscribeBatch{Lower: lower, Upper: upper, Updates: updates}})
	}
	begin := protocol.Frontier{}
	_, ok := batch(0, begin, persist.At(8), dataflow.Update{Row: row, Time: 3, Diff: 1}, dataflow.Update{Row: row, Time: 7, Diff: 1})
	require.False(t, ok)
	r, ok := batch(1, begin, persist.At(5), dataflow.Update{Row: row, Time: 3, Diff: -1}, dataflow.Update{Row: row, Time: 4, Diff: 2})
	require.True(t, ok)
	require.Equal(t, &protocol.SubscribeBatch{
		Lower: begin, Upper: persist.At(5), Updates: []dataflow.Update{{Row: row, Time: 4, Diff: 2}},
	}, r.(protocol.SubscribeResponse).Batch)
	upper := persist.At(8)
	_, ok = absorb(t, s, 0, protocol.SubscribeResponse{ID: 1, DroppedAt: &upper})
	require.False(t, ok, "the other part may still read")
	upper = persist.At(5)
	r, ok = absorb(t, s, 1, protocol.SubscribeResponse{ID: 1, DroppedAt: &upper})
	require.True(t, ok)
	require.Equal(t, persist.At(5), *r.(protocol.SubscribeResponse).DroppedAt)
}

// A subscribe that has come to its end on all parts ends with a batch, and not with being dropped.
func TestPartitionedSubscribeEnds(t *testing.T) {
	s := protocol.NewPartitionedState(2)
	end := protocol.SubscribeResponse{ID: 1, Batch: &protocol.SubscribeBatch{Upper: persist.Empty()}}
	_, ok := absorb(t, s, 0, end)
	require.False(t, ok)
	r, ok := absorb(t, s, 1, end)
	require.True(t, ok)
	require.True(t, r.(protocol.SubscribeResponse).Batch.Upper.IsEmpty())
}

func BenchmarkPartitionedState(b *testing.B) {
	s := protocol.NewPartitionedState(4)
	n := uint64(0)
	for b.Loop() {
		n++
		for part := range 4 {
			absorb(b, s, part, protocol.Frontiers{ID: 1, Write: persist.At(n), Input: persist.At(n), Output: persist.At(n)})
		}
	}
}
