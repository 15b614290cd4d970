package compute

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

func creates(id protocol.GlobalID, transient bool) protocol.Command {
	return protocol.CreateDataflow{Dataflow: &protocol.Dataflow{ID: id, AsOf: persist.At(10), Transient: transient}}
}

func schedules(id protocol.GlobalID) protocol.Command { return protocol.Schedule{ID: id} }

func drops(id protocol.GlobalID) protocol.Command {
	return protocol.AllowCompaction{ID: id, Frontier: persist.Empty()}
}

func output(id protocol.GlobalID, t uint64) protocol.Response {
	return protocol.Frontiers{ID: id, Output: persist.At(t)}
}

func batch(id protocol.GlobalID, upper uint64) protocol.Response {
	return protocol.SubscribeResponse{ID: id, Batch: &protocol.SubscribeBatch{Upper: persist.At(upper)}}
}

func TestHydration(t *testing.T) {
	type step struct {
		does any // a command or a response
		sent string
	}
	for name, steps := range map[string][]step{
		"one after the other": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"}, {creates(3, false), "create c3"},
			{schedules(1), "schedule c1"}, {schedules(2), ""}, {schedules(3), ""},
			{output(1, 10), ""}, // at its beginning it is not hydrated
			{output(1, 11), "schedule c2"}, {output(1, 12), ""}, {output(2, 11), "schedule c3"},
		},
		"transient dataflows don't wait and aren't waited for": {
			{creates(1, true), "create c1"}, {creates(2, false), "create c2"},
			{schedules(1), "schedule c1"}, {schedules(2), "schedule c2"},
		},
		"what is dropped while it hydrates leaves its place": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"},
			{schedules(1), "schedule c1"}, {schedules(2), ""}, {drops(1), "drop c1, schedule c2"},
		},
		"what is dropped while it waits is passed over": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"}, {creates(3, false), "create c3"},
			{schedules(1), "schedule c1"}, {schedules(2), ""}, {schedules(3), ""},
			{drops(2), "drop c2"}, {output(1, 11), "schedule c3"},
		},
		"a retained dataflow is scheduled as soon as it tells that it is hydrated": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"},
			{schedules(1), "schedule c1"}, {schedules(2), ""}, {output(2, 50), "schedule c2"}, {output(1, 11), ""},
		},
		"what is hydrated before it is scheduled does not wait": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"}, {schedules(1), "schedule c1"},
			{output(2, 50), ""}, {schedules(2), "schedule c2"},
		},
		"a subscribe is hydrated by its first batch beyond its beginning": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"}, {creates(3, false), "create c3"},
			{schedules(1), "schedule c1"}, {schedules(2), ""}, {schedules(3), ""},
			{batch(1, 10), ""}, {batch(1, 11), "schedule c2"},
			{protocol.SubscribeResponse{ID: 2, DroppedAt: &protocol.Frontier{}}, "schedule c3"},
		},
		"a complete collection is hydrated": {
			{creates(1, false), "create c1"}, {creates(2, false), "create c2"}, {schedules(1), "schedule c1"}, {schedules(2), ""},
			{protocol.Frontiers{ID: 1, Output: persist.Empty()}, "schedule c2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHydration(func() int { return 1 })
			for i, s := range steps {
				var sent []protocol.Command
				switch does := s.does.(type) {
				case protocol.Command:
					sent = h.command(does)
				case protocol.Response:
					sent = h.response(does)
				}
				require.Equal(t, s.sent, describe(sent), "step %d", i)
			}
		})
	}
}

func describe(commands []protocol.Command) (text string) {
	for i, cmd := range commands {
		if i > 0 {
			text += ", "
		}
		switch cmd := cmd.(type) {
		case protocol.CreateDataflow:
			text += fmt.Sprint("create ", cmd.Dataflow.ID)
		case protocol.Schedule:
			text += fmt.Sprint("schedule ", cmd.ID)
		case protocol.AllowCompaction:
			text += fmt.Sprint("drop ", cmd.ID)
		}
	}
	return text
}

// Whatever happens, no more hydrate at once than may, each is scheduled once, in the order in which that was
// asked for, and all that are not dropped in the end.
func TestHydrationProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		h := newHydration(func() int { return limit })
		var running, waiting, order []protocol.GlobalID
		asked := map[protocol.GlobalID]bool{}
		take := func(sent []protocol.Command) {
			for _, cmd := range sent {
				if s, ok := cmd.(protocol.Schedule); ok {
					require.Contains(t, waiting, s.ID)
					waiting = slices.DeleteFunc(waiting, func(id protocol.GlobalID) bool { return id == s.ID })
					running = append(running, s.ID)
					order = append(order, s.ID)
				}
			}
			require.LessOrEqual(t, len(running), limit)
		}
		remove := func(id protocol.GlobalID) {
			running = slices.DeleteFunc(running, func(o protocol.GlobalID) bool { return o == id })
			waiting = slices.DeleteFunc(waiting, func(o protocol.GlobalID) bool { return o == id })
		}
		next := protocol.GlobalID(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind <= 1:
				next++
				take(h.command(creates(next, false)))
				asked[next] = true
				waiting = append(waiting, next)
				take(h.command(schedules(next)))
			case kind == 2 && len(running) > 0:
				id := rapid.SampledFrom(running).Draw(t, "hydrated")
				remove(id)
				take(h.response(output(id, 11)))
			case kind == 3 && next > 0:
				id := protocol.GlobalID(rapid.Uint64Range(1, uint64(next)).Draw(t, "dropped"))
				remove(id)
				take(h.command(drops(id)))
			}
		}
		for len(running) > 0 {
			id := running[0]
			remove(id)
			take(h.response(output(id, 11)))
		}
		require.Empty(t, waiting)
		require.IsIncreasing(t, append([]protocol.GlobalID{0}, order...))
	})
}
