package protocol_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

func flow(id protocol.GlobalID, asOf uint64) protocol.CreateDataflow {
	return protocol.CreateDataflow{Dataflow: &protocol.Dataflow{ID: id, AsOf: persist.At(asOf), Until: persist.Empty()}}
}

func TestHistoryReduces(t *testing.T) {
	compaction := func(id protocol.GlobalID, f protocol.Frontier) protocol.AllowCompaction {
		return protocol.AllowCompaction{ID: id, Frontier: f}
	}
	begin := []protocol.Command{protocol.CreateTimely{}, protocol.CreateInstance{}}
	for _, c := range []struct {
		name   string
		pushed []protocol.Command
		left   []protocol.Command
	}{
		{
			"the latest compaction becomes the time at which the dataflow begins",
			[]protocol.Command{flow(1, 5), protocol.Schedule{ID: 1}, compaction(1, persist.At(7)), compaction(1, persist.At(9))},
			[]protocol.Command{flow(1, 9), protocol.Schedule{ID: 1}},
		},
		{
			"a compaction to what was never to be read changes nothing",
			[]protocol.Command{flow(1, 5), compaction(1, persist.At(5))},
			[]protocol.Command{flow(1, 5)},
		},
		{
			"of a dropped dataflow nothing is left",
			[]protocol.Command{flow(1, 5), flow(2, 6), protocol.Schedule{ID: 1}, compaction(1, persist.Empty()), protocol.Schedule{ID: 2}},
			[]protocol.Command{flow(2, 6), protocol.Schedule{ID: 2}},
		},
		{
			"a cancelled peek is forgotten, another is not",
			[]protocol.Command{flow(1, 5), protocol.Peek{ID: "b"}, protocol.Peek{ID: "a"}, protocol.CancelPeek{ID: "b"}},
			[]protocol.Command{flow(1, 5), protocol.Peek{ID: "a"}},
		},
		{
			"configuration adds up, and comes first",
			[]protocol.Command{
				protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 1, ReportInterval: 2}}, flow(1, 5),
				protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 3}},
			},
			[]protocol.Command{protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 3, ReportInterval: 2}}, flow(1, 5)},
		},
		{
			"dataflows keep their order, and the end of the initialisation comes after them",
			[]protocol.Command{flow(9, 5), protocol.InitializationComplete{}, protocol.AllowWrites{}, flow(3, 6), protocol.Schedule{ID: 3}, protocol.Schedule{ID: 9}},
			[]protocol.Command{flow(9, 5), flow(3, 6), protocol.Schedule{ID: 3}, protocol.Schedule{ID: 9}, protocol.InitializationComplete{}, protocol.AllowWrites{}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h protocol.History
			for _, cmd := range append(slices.Clone(begin), c.pushed...) {
				h.Push(cmd)
			}
			h.Reduce()
			require.Equal(t, append(slices.Clone(begin), c.left...), h.Commands())
			h.Reduce()
			require.Equal(t, append(slices.Clone(begin), c.left...), h.Commands(), "reducing again changes nothing")
		})
	}
}

func TestHistoryRefusesTwoBeginnings(t *testing.T) {
	var h protocol.History
	h.Push(protocol.CreateTimely{})
	require.PanicsWithValue(t, "compute protocol: a history with two protocol.CreateTimely", func() {
		h.Push(protocol.CreateTimely{})
		h.Reduce()
	})
}

// replayed is what a replica has after all commands: the times from which on its collections can be read,
// the order in which they came, what is scheduled, which peeks wait, and whether it is initialised and may write.
type replayed struct {
	since      map[protocol.GlobalID]protocol.Frontier
	order      []protocol.GlobalID
	scheduled  map[protocol.GlobalID]bool
	peeks      map[protocol.PeekID]uint64
	parameters protocol.Parameters
	complete   bool
	writes     bool
}

func replay(commands []protocol.Command) replayed {
	r := replayed{since: map[protocol.GlobalID]protocol.Frontier{}, order: []protocol.GlobalID{}, scheduled: map[protocol.GlobalID]bool{}, peeks: map[protocol.PeekID]uint64{}}
	for _, cmd := range commands {
		switch cmd := cmd.(type) {
		case protocol.CreateDataflow:
			r.since[cmd.Dataflow.ID] = cmd.Dataflow.AsOf
			r.order = append(r.order, cmd.Dataflow.ID)
		case protocol.Schedule:
			r.scheduled[cmd.ID] = true
		case protocol.AllowCompaction:
			if cmd.Frontier.IsEmpty() {
				delete(r.since, cmd.ID)
				delete(r.scheduled, cmd.ID)
				r.order = slices.DeleteFunc(r.order, func(id protocol.GlobalID) bool { return id == cmd.ID })
			} else {
				r.since[cmd.ID] = r.since[cmd.ID].Join(cmd.Frontier)
			}
		case protocol.Peek:
			r.peeks[cmd.ID] = cmd.Timestamp
		case protocol.CancelPeek:
			delete(r.peeks, cmd.ID)
		case protocol.UpdateConfiguration:
			r.parameters = r.parameters.Merge(cmd.Parameters)
		case protocol.InitializationComplete:
			r.complete = true
		case protocol.AllowWrites:
			r.writes = true
		}
	}
	return r
}

// Whatever a controller commands, what is left of it comes to the same, at every moment.
func TestReducedHistoryReplaysAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h protocol.History
		all := []protocol.Command{protocol.CreateTimely{}, protocol.CreateInstance{}}
		for _, cmd := range all {
			h.Push(cmd)
		}
		var live []protocol.GlobalID
		since, scheduled := map[protocol.GlobalID]uint64{}, map[protocol.GlobalID]bool{}
		next, peeks := protocol.GlobalID(0), 0
		complete, writes := false, false
		for range rapid.IntRange(0, 60).Draw(t, "commands") {
			var cmd protocol.Command
			pick := func() protocol.GlobalID { return rapid.SampledFrom(live).Draw(t, "of") }
			kind := rapid.IntRange(0, 8).Draw(t, "kind")
			switch {
			case kind <= 1 || len(live) == 0:
				next++
				since[next] = rapid.Uint64Range(0, 10).Draw(t, "as of")
				live = append(live, next)
				cmd = flow(next, since[next])
			case kind == 2 && !scheduled[live[0]]:
				scheduled[live[0]] = true // once
				cmd = protocol.Schedule{ID: live[0]}
			case kind == 3:
				id := pick()
				since[id] += rapid.Uint64Range(0, 3).Draw(t, "by")
				cmd = protocol.AllowCompaction{ID: id, Frontier: persist.At(since[id])}
			case kind == 4:
				id := pick()
				live = slices.DeleteFunc(live, func(o protocol.GlobalID) bool { return o == id })
				cmd = protocol.AllowCompaction{ID: id, Frontier: persist.Empty()}
			case kind == 5:
				peeks++
				id := pick()
				cmd = protocol.Peek{ID: protocol.PeekID(fmt.Sprint(peeks)), Target: protocol.PeekTarget{ID: id}, Timestamp: since[id]}
			case kind == 6:
				cmd = protocol.CancelPeek{ID: protocol.PeekID(fmt.Sprint(rapid.IntRange(1, max(1, peeks)).Draw(t, "peek")))}
			case kind == 7 && !complete:
				complete = true
				cmd = protocol.InitializationComplete{}
			case kind == 7 && !writes:
				writes = true
				cmd = protocol.AllowWrites{}
			default:
				cmd = protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: rapid.IntRange(0, 3).Draw(t, "size")}}
			}
			all = append(all, cmd)
			h.Push(cmd)
			if rapid.IntRange(0, 5).Draw(t, "reduce") == 0 {
				h.Reduce()
			}
			require.Equal(t, replay(all), replay(h.Commands()))
		}
		h.Reduce()
		require.LessOrEqual(t, len(h.Commands()), 5+2*len(live)+peeks, "what is left is what matters")
	})
}
