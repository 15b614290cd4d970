package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// Timeline is what happened up to a failure, and shortly after it: who sent what to whom, who was
// asked what, what was broken. It is made of the events of a run, all of them in order, and keeps
// the last few thousand that can be drawn.
type Timeline struct {
	// Seed, Oracle and Message say what failed, Command how to run it again.
	Seed            uint64
	Oracle, Message string
	Command         string
	// FailNS is when, in virtual time, FailEvent at which event.
	FailNS    int64
	FailEvent uint64

	lanes   []string
	lane    map[string]int
	items   []timelineItem
	dropped int // items that are not kept
	after   int // items kept behind the failure

	sent   map[uint64]int64          // when messages were sent that are under way, by event
	asked  map[string]timelineItem   // operations begun and not ended, by caller
	faults map[string]timelineItem   // faults begun and not ended, by ID
	down   map[string][]timelineItem // nodes that are down or paused
	// instant are the faults that are over as they begin, by ID.
	instant map[string]bool
	end     int64
	events  uint64
}

const (
	// timelineBefore and timelineAfter are how many items up to the failure, and behind it, a
	// timeline keeps.
	timelineBefore = 3000
	timelineAfter  = 150
)

// timelineItem is something to draw.
type timelineItem struct {
	Kind string `json:"k"` // message, drop, op, fault, down, log, note, check, start, crash, pause, resume, fail
	Lane int    `json:"l"` // where it is, or comes from
	To   int    `json:"o"` // of messages: the lane they go to
	// Lanes are where a fault acts; none is everywhere.
	Lanes []int `json:"s,omitempty"`
	// Begin and End are virtual times in ns; the same for what takes no time.
	Begin int64  `json:"b"`
	End   int64  `json:"e"`
	Open  bool   `json:"u,omitempty"` // it had not ended at the end of what is known
	Text  string `json:"t"`
	Event uint64 `json:"n"`
}

// NewTimeline returns the timeline of a run that failed, without events.
func NewTimeline(r scenarios.Result, command string) *Timeline {
	t := &Timeline{
		Seed: r.Seed, Command: command, FailNS: r.VirtualNS, FailEvent: r.Events,
		lane: map[string]int{}, sent: map[uint64]int64{}, asked: map[string]timelineItem{},
		faults: map[string]timelineItem{}, down: map[string][]timelineItem{},
	}
	if len(r.Failures) > 0 {
		f := &r.Failures[0]
		t.Oracle, t.Message, t.FailNS, t.FailEvent = f.Oracle, f.Message, f.AtNS, f.Event
	}
	return t
}

// Plan tells which faults the run has, before its events: those that are over as they begin are
// drawn so.
func (t *Timeline) Plan(p *faults.Plan) {
	t.instant = make(map[string]bool)
	for _, k := range faults.Kinds() {
		for i := range p.Faults {
			if f := &p.Faults[i]; f.Kind == k.Name && k.Instant {
				t.instant[f.ID] = true
			}
		}
	}
}

// worldLane is the process in which workloads, faults and checks run that have no machine.
const worldLane = "simrun"

// Add takes in the next event.
func (t *Timeline) Add(e sim.Event) {
	if t.after >= timelineAfter {
		return
	}
	t.end, t.events = e.At, e.Number
	point := timelineItem{Kind: e.Kind.String(), Lane: -1, Begin: e.At, End: e.At, Text: e.Text, Event: e.Number}
	switch e.Kind {
	case sim.EventSend:
		t.sent[e.Number] = e.At
	case sim.EventDeliver, sim.EventDrop:
		t.arrived(e)
	case sim.EventOp:
		t.operation(e, point)
	case sim.EventFault:
		t.fault(e, point)
	case sim.EventLog, sim.EventNote, sim.EventCheck:
		t.keep(t.at(e.Node, point))
	case sim.EventFail:
		point.Kind = "fail"
		t.keep(t.at(e.Node, point))
	case sim.EventCrash, sim.EventPause:
		point.Text = map[sim.EventKind]string{sim.EventCrash: "crashed", sim.EventPause: "paused"}[e.Kind]
		t.keep(t.at(e.Node, point))
		point.Kind = "down"
		t.down[e.Node] = append(t.down[e.Node], t.at(e.Node, point))
	case sim.EventStart, sim.EventResume:
		t.up(e, point)
	}
}

// at puts an item on a node's lane.
func (t *Timeline) at(node string, i timelineItem) timelineItem {
	i.Lane = t.laneOf(node)
	return i
}

func (t *Timeline) laneOf(node string) int {
	n, ok := t.lane[node]
	if !ok {
		n = len(t.lanes)
		t.lane[node] = n
		t.lanes = append(t.lanes, node)
	}
	return n
}

// keep adds an item, and drops the oldest when there are too many.
func (t *Timeline) keep(i timelineItem) {
	if i.Event > t.FailEvent {
		t.after++
	} else if len(t.items) >= 2*timelineBefore {
		t.dropped += timelineBefore
		t.items = append(t.items[:0], t.items[timelineBefore:]...)
	}
	t.items = append(t.items, i)
}

func (t *Timeline) arrived(e sim.Event) {
	at, ok := t.sent[e.Cause]
	if !ok {
		at = e.At // lost as it was sent, or caused by something else
	}
	delete(t.sent, e.Cause)
	kind, verb := "message", " to "
	if e.Kind == sim.EventDrop {
		kind, verb = "drop", " lost on the way to "
	}
	t.keep(timelineItem{
		Kind: kind, Lane: t.laneOf(e.From), To: t.laneOf(e.To), Begin: at, End: e.At,
		Text: "message from " + e.From + verb + e.To, Event: e.Number,
	})
}

// operation pairs "CALLER calls WHAT" with "CALLER: OUTCOME"; other words are a point in time.
func (t *Timeline) operation(e sim.Event, point timelineItem) {
	if caller, _, ok := strings.Cut(e.Text, " calls "); ok {
		if before, busy := t.asked[caller]; busy {
			t.keep(opened(before, e.At))
		}
		t.asked[caller] = t.at(e.Node, point)
		return
	}
	caller, outcome, ok := strings.Cut(e.Text, ": ")
	began, asked := t.asked[caller]
	if !ok || !asked {
		t.keep(t.at(e.Node, point))
		return
	}
	delete(t.asked, caller)
	began.End, began.Event, began.Text = e.At, e.Number, began.Text+" = "+outcome
	t.keep(began)
}

// opened is an item of which no end is known.
func opened(i timelineItem, end int64) timelineItem {
	i.End, i.Open = end, true
	return i
}

// fault follows the injector's notes: "begin ID on TARGETS ...", "end ID", "phase NAME".
func (t *Timeline) fault(e sim.Event, point timelineItem) {
	point.Kind = "fault"
	if begun, ok := strings.CutPrefix(e.Text, "begin "); ok {
		id, rest, _ := strings.Cut(begun, " ")
		point.Text = begun
		if targets, ok := strings.CutPrefix(rest, "on "); ok {
			targets, _, _ = strings.Cut(targets, " ")
			for target := range strings.SplitSeq(targets, ",") {
				if lane, ok := t.lane[target]; ok {
					point.Lanes = append(point.Lanes, lane)
				}
			}
		}
		if t.instant[id] {
			t.keep(point)
		} else {
			t.faults[id] = point
		}
		return
	}
	id, ok := strings.CutPrefix(e.Text, "end ")
	begun, known := t.faults[id]
	if !ok || !known {
		t.keep(t.at(worldLane, timelineItem{Kind: "note", Begin: e.At, End: e.At, Text: e.Text, Event: e.Number}))
		return
	}
	delete(t.faults, id)
	begun.End, begun.Event = e.At, e.Number
	t.keep(begun)
}

// up ends what kept a node from running: a start ends a crash, a resume a pause.
func (t *Timeline) up(e sim.Event, point timelineItem) {
	ended, verb := "crashed", "started"
	if e.Kind == sim.EventResume {
		ended, verb = "paused", "resumed"
	}
	point.Text = verb
	point = t.at(e.Node, point)
	for i, d := range t.down[e.Node] {
		if d.Text == ended {
			t.down[e.Node] = slices.Delete(t.down[e.Node], i, i+1)
			d.End, d.Event = e.At, e.Number
			t.keep(d)
			break
		}
	}
	t.keep(point)
}

// drawing is a timeline as the page draws it.
type drawing struct {
	Seed   uint64         `json:"seed"`
	Oracle string         `json:"oracle"`
	Lanes  []string       `json:"lanes"`
	Fail   int64          `json:"fail"`
	From   int64          `json:"from"` // what is known, in ns
	Until  int64          `json:"until"`
	Items  []timelineItem `json:"items"`
	// Shown and LeftOut count what can be drawn, up to the failure.
	Shown   int `json:"shown"`
	LeftOut int `json:"leftOut"`
}

// drawing makes the drawing of what was added.
func (t *Timeline) drawing() drawing {
	items := slices.Clone(t.items)
	before := 0
	for _, i := range items {
		if i.Event <= t.FailEvent {
			before++
		}
	}
	leftOut := t.dropped
	if more := before - timelineBefore; more > 0 {
		items, leftOut = items[more:], leftOut+more
	}
	from := t.FailNS
	for _, i := range items {
		if i.Kind != "fault" && i.Kind != "down" {
			from = min(from, i.Begin)
		}
	}
	if leftOut == 0 {
		from = 0
	}
	items = append(items, t.unfinished()...)
	slices.SortStableFunc(items, func(a, b timelineItem) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Event, b.Event))
	})
	d := drawing{
		Seed: t.Seed, Oracle: t.Oracle, Fail: t.FailNS, From: from, Until: max(t.end, t.FailNS),
		Items: items, Shown: len(items), LeftOut: leftOut,
	}
	d.Lanes, d.Items = t.usedLanes(items)
	return d
}

// unfinished is what had begun and not ended, in a definite order.
func (t *Timeline) unfinished() []timelineItem {
	var open []timelineItem
	for _, i := range t.asked {
		open = append(open, opened(i, t.end))
	}
	for _, i := range t.faults {
		open = append(open, opened(i, t.end))
	}
	for _, down := range t.down {
		for _, i := range down {
			open = append(open, opened(i, t.end))
		}
	}
	slices.SortFunc(open, func(a, b timelineItem) int { return cmp.Compare(a.Event, b.Event) })
	return open
}

// usedLanes leaves out lanes on which nothing is, and puts the world's own last.
func (t *Timeline) usedLanes(items []timelineItem) ([]string, []timelineItem) {
	used := make([]bool, len(t.lanes))
	for _, i := range items {
		if i.Lane >= 0 {
			used[i.Lane] = true
		}
		if i.Kind == "message" || i.Kind == "drop" {
			used[i.To] = true
		}
	}
	var order []int
	for n, name := range t.lanes {
		if used[n] && name != worldLane {
			order = append(order, n)
		}
	}
	if n, ok := t.lane[worldLane]; ok && used[n] {
		order = append(order, n)
	}
	place, names := make([]int, len(t.lanes)), make([]string, len(order))
	for i := range place {
		place[i] = -1
	}
	for i, n := range order {
		place[n], names[i] = i, t.lanes[n]
	}
	for k := range items {
		i := &items[k]
		if i.Lane >= 0 {
			i.Lane = place[i.Lane]
		}
		if i.Kind == "message" || i.Kind == "drop" {
			i.To = place[i.To]
		}
		var lanes []int
		for _, n := range i.Lanes {
			if place[n] >= 0 {
				lanes = append(lanes, place[n])
			}
		}
		i.Lanes = lanes
	}
	return names, items
}
