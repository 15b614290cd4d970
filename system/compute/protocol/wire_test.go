package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

var schema = dataflow.NewSchema(dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)})

func row(n int64) dataflow.Row { return dataflow.Pack(dataflow.Int(n)) }

func TestCommandsTravel(t *testing.T) {
	key, plan := row(7), dataflow.Get(protocol.PeekSource).Distinct()
	for _, cmd := range []protocol.Command{
		protocol.CreateTimely{Config: protocol.TimelyConfig{Budget: 5}, Epoch: protocol.Epoch{Controller: 3, Replica: 4}},
		protocol.CreateInstance{Logging: protocol.LoggingConfig{Interval: time.Second}, Expiration: time.Hour},
		protocol.InitializationComplete{},
		protocol.AllowWrites{},
		protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 9}},
		protocol.CreateDataflow{Dataflow: &protocol.Dataflow{
			ID: 1, AsOf: persist.At(5), Until: persist.Empty(), Plan: dataflow.Union(dataflow.Get("a"), dataflow.Get("b")),
			Shards:  []protocol.ShardImport{{Name: "a", Shard: "s", Schema: schema}},
			Indexes: []protocol.IndexImport{{Name: "b", ID: 2, Schema: schema}},
			Sink:    protocol.Sink{Kind: protocol.Index, Key: []int{0}}, Transient: true,
		}},
		protocol.Schedule{ID: 1},
		protocol.AllowCompaction{ID: 1, Frontier: persist.Empty()},
		protocol.AllowCompaction{ID: 1, Frontier: persist.At(9)},
		protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1, Schema: schema}, Key: &key, Timestamp: 9, Plan: &plan},
		protocol.CancelPeek{ID: "p"},
	} {
		back, err := protocol.DecodeCommand(protocol.EncodeCommand(cmd))
		require.NoError(t, err)
		require.Equal(t, protocol.EncodeCommand(cmd), protocol.EncodeCommand(back), "%T", cmd)
		require.IsType(t, cmd, back)
		_, err = protocol.DecodeResponse(protocol.EncodeCommand(cmd))
		require.ErrorIs(t, err, protocol.ErrMalformed, "a command is no response")
	}
}

func TestResponsesTravel(t *testing.T) {
	dropped := persist.At(4)
	for _, r := range []protocol.Response{
		protocol.Frontiers{ID: 1, Write: persist.At(0), Input: persist.Empty(), Output: persist.At(3)},
		protocol.PeekResponse{ID: "p", Rows: []dataflow.RowCount{{Row: row(1), Count: 2}}},
		protocol.PeekResponse{ID: "p", Error: "no"},
		protocol.PeekResponse{ID: "p", Canceled: true},
		protocol.SubscribeResponse{ID: 1, Batch: &protocol.SubscribeBatch{
			Lower: persist.At(0), Upper: persist.Empty(), Updates: []dataflow.Update{{Row: row(1), Time: 3, Diff: -1}},
			Errors: []dataflow.ErrorUpdate{{Err: dataflow.NewRowError(dataflow.ErrOverflow, "x"), Time: 3, Diff: 1}},
		}},
		protocol.SubscribeResponse{ID: 1, DroppedAt: &dropped},
		protocol.Status{ID: 1, Hydrated: true, Records: 2, Bytes: 3},
	} {
		back, err := protocol.DecodeResponse(protocol.EncodeResponse(r))
		require.NoError(t, err)
		require.Equal(t, r, back)
		_, err = protocol.DecodeCommand(protocol.EncodeResponse(r))
		require.ErrorIs(t, err, protocol.ErrMalformed, "a response is no command")
	}
}

func TestMalformed(t *testing.T) {
	for _, p := range [][]byte{nil, {0}, {255, 1}, {1}, {6, 0xa0}, {9, 0xff}} {
		_, err := protocol.DecodeCommand(p)
		require.ErrorIs(t, err, protocol.ErrMalformed, "%x", p)
		_, err = protocol.DecodeResponse(p)
		require.ErrorIs(t, err, protocol.ErrMalformed, "%x", p)
	}
}

func TestEpochsAreOrdered(t *testing.T) {
	sorted := []protocol.Epoch{{}, {Replica: 9}, {Controller: 1, Replica: 1}, {Controller: 1, Replica: 99}, {Controller: 2, Replica: 1}}
	for i, a := range sorted {
		for j, b := range sorted {
			switch {
			case i < j:
				require.Negative(t, a.Compare(b), "%v %v", a, b)
			case i > j:
				require.Positive(t, a.Compare(b), "%v %v", a, b)
			default:
				require.Zero(t, a.Compare(b))
			}
		}
	}
}

func TestSameDataflow(t *testing.T) {
	a := &protocol.Dataflow{ID: 1, AsOf: persist.At(3), Until: persist.Empty(), Plan: dataflow.Get("a"), Sink: protocol.Sink{Kind: protocol.Index}}
	same := a.Clone()
	same.AsOf, same.Transient = persist.At(9), true
	require.True(t, a.SameAs(same), "whatever it is readable from")
	for name, change := range map[string]func(*protocol.Dataflow){
		"id":     func(d *protocol.Dataflow) { d.ID = 2 },
		"until":  func(d *protocol.Dataflow) { d.Until = persist.At(99) },
		"plan":   func(d *protocol.Dataflow) { d.Plan = d.Plan.Distinct() },
		"sink":   func(d *protocol.Dataflow) { d.Sink.Key = []int{0} },
		"shards": func(d *protocol.Dataflow) { d.Shards = []protocol.ShardImport{{Name: "a", Shard: "s"}} },
	} {
		other := a.Clone()
		change(other)
		require.False(t, a.SameAs(other), name)
	}
}
