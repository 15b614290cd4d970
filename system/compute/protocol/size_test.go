package protocol_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// What is small enough in memory is small enough in a message.
func TestMessagesAreNoLongerThanTheirSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 23, 24, 255, 256, 70_000}).Draw(t, label))
		}
		number := func() uint64 {
			return rapid.SampledFrom([]uint64{0, 1, math.MaxInt32, math.MaxInt64, math.MaxUint64}).Draw(t, "number")
		}
		peek := protocol.PeekResponse{ID: protocol.PeekID(text("id")), Error: text("error"), Canceled: true}
		batch := &protocol.SubscribeBatch{Lower: persist.At(number()), Upper: persist.At(number())}
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			row, count := dataflow.Row(text("row")), int64(number())
			peek.Rows = append(peek.Rows, dataflow.RowCount{Row: row, Count: count})
			batch.Updates = append(batch.Updates, dataflow.Update{Row: row, Time: number(), Diff: count})
			batch.Errors = append(batch.Errors, dataflow.ErrorUpdate{Err: dataflow.RowError{Code: 255, Where: text("where")}, Time: number(), Diff: count})
		}
		at := persist.At(math.MaxUint64)
		for _, r := range []protocol.Response{
			peek, protocol.SubscribeResponse{ID: math.MaxUint64, Batch: batch},
			protocol.SubscribeResponse{ID: math.MaxUint64, DroppedAt: &at, Error: text("error")},
			protocol.Frontiers{ID: math.MaxUint64, Write: at, Input: at, Output: at},
			protocol.Status{ID: math.MaxUint64, Worker: math.MaxInt, Hydrated: true, Records: math.MaxInt, Bytes: math.MaxInt},
		} {
			require.LessOrEqual(t, len(protocol.EncodeResponse(r)), protocol.SizeOf(r), "%T", r)
		}
	})
}

// What is too long is refused by who sends it, and the connection goes on. Of a peer that sends it all the same nothing
// more is heard.
func TestLongMessages(t *testing.T) {
	long := protocol.PeekResponse{ID: "p", Error: strings.Repeat("long ", 300)}
	for seed := range uint64(8) { // some with tiny frames
		connected(t, seed, v1, v1, func(_ *sim.World, conn *protocol.Conn, err error) {
			require.NoError(t, err)
			conn.SetLongest(1000)
			require.ErrorIs(t, conn.SendResponse(background, long), host.ErrTooLong)
			require.NoError(t, conn.SendResponse(background, protocol.Frontiers{ID: 1}))
			conn.SetLongest(10_000)
			require.NoError(t, conn.SendResponse(background, long))
			_, err = conn.RecvCommand(background)
			require.Error(t, err)
		}, func(_ *sim.World, conn *protocol.Conn, err error) {
			require.NoError(t, err)
			conn.SetLongest(1000)
			r, err := conn.RecvResponse(background)
			require.NoError(t, err)
			require.Equal(t, protocol.Frontiers{ID: 1}, r)
			_, err = conn.RecvResponse(background)
			require.ErrorIs(t, err, protocol.ErrMalformed)
			conn.Close()
		})
	}
}

// A command that fits now fits when it is told again as of a later time.
func TestFits(t *testing.T) {
	require.NoError(t, protocol.Fits(protocol.Schedule{ID: 1}))
	flow := protocol.Dataflow{ID: 1, Plan: dataflow.Get(dataflow.SourceID(strings.Repeat("x", 1000)))}
	now := protocol.CreateDataflow{Dataflow: &flow}
	later := protocol.CreateDataflow{Dataflow: flow.Clone()}
	later.Dataflow.AsOf = persist.At(math.MaxUint64)
	for longest := range 2000 {
		if err := protocol.FitsInto(now, longest); err != nil {
			require.ErrorIs(t, err, host.ErrTooLong)
			require.Less(t, longest, len(protocol.EncodeCommand(now))+100, "it is not refused without need")
			continue
		}
		require.LessOrEqual(t, len(protocol.EncodeCommand(later)), longest)
	}
}
