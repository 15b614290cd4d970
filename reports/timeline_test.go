package reports

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// story is a run told event by event.
type story struct {
	t *Timeline
	n uint64
}

func (s *story) tell(at int64, e sim.Event) uint64 {
	s.n++
	e.Number, e.At = s.n, at
	s.t.Add(e)
	return s.n
}

func failingAt(event uint64, at int64) *Timeline {
	return NewTimeline(scenarios.Result{
		Seed: 7, Events: event + 1000, VirtualNS: at + 1000,
		Failures: []scenarios.Failure{{Oracle: "o", Message: "m", AtNS: at, Event: event}},
	}, "simrun repro shard:7")
}

func (d *drawing) only(kind string) []timelineItem {
	var found []timelineItem
	for _, i := range d.Items {
		if i.Kind == kind {
			found = append(found, i)
		}
	}
	return found
}

func TestTimelinePairs(t *testing.T) {
	s := &story{t: failingAt(100, 1000)}
	plan, err := faults.ParsePlan([]byte("faults:\n" +
		"  - {id: a, kind: node.pause, target: [x], from: 1s, to: 2s}\n" +
		"  - {id: once, kind: persist.upper_mismatch, target: [s1], from: 1s}\n"))
	require.NoError(t, err)
	s.t.Plan(plan)
	s.tell(0, sim.Event{Kind: sim.EventStart, Node: "x"})
	s.tell(0, sim.Event{Kind: sim.EventStart, Node: "idle"})
	sent := s.tell(10, sim.Event{Kind: sim.EventSend, Node: "x", From: "x", To: "y"})
	lost := s.tell(20, sim.Event{Kind: sim.EventSend, Node: "y", From: "y", To: "x"})
	s.tell(30, sim.Event{Kind: sim.EventOp, Node: "x", Text: "client 1 calls get(a)"})
	s.tell(35, sim.Event{Kind: sim.EventOp, Node: "x", Text: "client 2 calls put(a)"})
	s.tell(40, sim.Event{Kind: sim.EventDeliver, From: "x", To: "y", Cause: sent})
	s.tell(45, sim.Event{Kind: sim.EventDrop, From: "y", To: "x", Cause: lost})
	s.tell(50, sim.Event{Kind: sim.EventOp, Node: "x", Text: "client 1: ok 3"})
	s.tell(60, sim.Event{Kind: sim.EventFault, Node: "simrun", Text: "begin a on x"})
	s.tell(61, sim.Event{Kind: sim.EventFault, Node: "simrun", Text: "begin once on s1 rows=1"})
	s.tell(62, sim.Event{Kind: sim.EventPause, Node: "x"})
	s.tell(70, sim.Event{Kind: sim.EventResume, Node: "x"})
	s.tell(70, sim.Event{Kind: sim.EventFault, Node: "simrun", Text: "end a"})
	s.tell(80, sim.Event{Kind: sim.EventCrash, Node: "y"})
	s.tell(90, sim.Event{Kind: sim.EventRun, Node: "x"})

	d := s.t.drawing()
	require.Equal(t, []string{"x", "idle", "y"}, d.Lanes)
	require.Equal(t, []timelineItem{{Kind: "message", Lane: 0, To: 2, Begin: 10, End: 40, Text: "message from x to y", Event: 7}}, d.only("message"))
	require.Equal(t, []timelineItem{{Kind: "drop", Lane: 2, To: 0, Begin: 20, End: 45, Text: "message from y lost on the way to x", Event: 8}}, d.only("drop"))
	require.Equal(t, []timelineItem{
		{Kind: "op", Begin: 30, End: 50, Text: "client 1 calls get(a) = ok 3", Event: 9},
		{Kind: "op", Begin: 35, End: 90, Open: true, Text: "client 2 calls put(a)", Event: 6},
	}, d.only("op"))
	require.Equal(t, []timelineItem{
		{Kind: "fault", Lane: -1, Lanes: []int{0}, Begin: 60, End: 70, Text: "a on x", Event: 14},
		{Kind: "fault", Lane: -1, Begin: 61, End: 61, Text: "once on s1 rows=1", Event: 11},
	}, d.only("fault"))
	require.Equal(t, []timelineItem{
		{Kind: "down", Lane: 0, Begin: 62, End: 70, Text: "paused", Event: 13},
		{Kind: "down", Lane: 2, Begin: 80, End: 90, Open: true, Text: "crashed", Event: 15},
	}, d.only("down"))
	require.Zero(t, d.LeftOut)
	require.Equal(t, int64(1000), d.Fail)
}

// Of a long run the last events before the failure are kept, and a few behind it.
func TestTimelineKeepsTheEnd(t *testing.T) {
	const events = 20_000
	s := &story{t: failingAt(events-500, events-500)}
	s.tell(0, sim.Event{Kind: sim.EventFault, Node: "simrun", Text: "begin a on x"})
	for i := 2; i <= events; i++ {
		s.tell(int64(i), sim.Event{Kind: sim.EventLog, Node: "x", Text: fmt.Sprint("line ", i)})
	}
	d := s.t.drawing()
	logs := d.only("log")
	require.Len(t, logs, timelineBefore+timelineAfter)
	require.Equal(t, "line 16501", logs[0].Text)
	require.Equal(t, "line 19650", logs[len(logs)-1].Text)
	require.Equal(t, 16499, d.LeftOut)
	require.Equal(t, int64(16501), d.From)
	require.Len(t, d.only("fault"), 1, "what is in force began long before")
	require.True(t, d.only("fault")[0].Open)
}

// Whatever a run does, the drawing has only lanes that there are, and nothing ends before it
// begins.
func TestTimelineOfRealRuns(t *testing.T) {
	for _, s := range scenarios.Builtin() {
		var timeline *Timeline
		if s.Slowness > 1 {
			continue // millions of events; they are the same as those of full
		}
		s.Execute(t.Context(), scenarios.Options{Seed: 3, Record: true, Inspect: func(r *scenarios.Run) {
			timeline = NewTimeline(scenarios.Result{Seed: 3, Events: r.World.Events() / 2}, "")
			timeline.Plan(r.Plan())
			for _, e := range r.World.Trace() {
				timeline.Add(e)
			}
		}})
		d := timeline.drawing()
		require.NotEmpty(t, d.only("message"), s.Name)
		require.NotEmpty(t, d.only("fault"), s.Name)
		for _, i := range d.Items {
			require.LessOrEqual(t, i.Begin, i.End)
			require.Less(t, i.Lane, len(d.Lanes))
			require.True(t, i.To >= 0 && i.To < len(d.Lanes))
			for _, lane := range i.Lanes {
				require.True(t, lane >= 0 && lane < len(d.Lanes))
			}
			require.True(t, i.Lane >= 0 || i.Kind == "fault", i)
		}
	}
}
