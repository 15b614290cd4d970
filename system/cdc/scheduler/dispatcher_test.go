package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
)

const (
	feed  = "feed"
	start = model.Ts(1000)
)

var background = context.Background()

// messenger is a communicator that writes down what is sent. Messages are "announce a", "add 1 to a"
// and "remove 1 from a".
type messenger struct {
	sent   []string
	full   map[string]bool // messages that can't be queued
	broken map[string]error
}

func (m *messenger) send(message string) (bool, error) {
	if err := m.broken[message]; err != nil {
		return false, err
	}
	if m.full[message] {
		return false, nil
	}
	m.sent = append(m.sent, message)
	return true, nil
}

func (m *messenger) DispatchKeySpan(_ context.Context, cf model.ChangeFeedID, id model.KeySpanID, capture model.CaptureID, isDelete bool) (bool, error) {
	if cf != feed {
		panic(cf)
	}
	if isDelete {
		return m.send(fmt.Sprintf("remove %d from %s", id, capture))
	}
	return m.send(fmt.Sprintf("add %d to %s", id, capture))
}

func (m *messenger) Announce(_ context.Context, cf model.ChangeFeedID, capture model.CaptureID) (bool, error) {
	if cf != feed {
		panic(cf)
	}
	return m.send("announce " + capture)
}

// fixture is a dispatcher and what is around it.
type fixture struct {
	t *testing.T
	*scheduler.BaseScheduleDispatcher
	m        *messenger
	wanted   []model.KeySpanID
	captures map[model.CaptureID]*model.CaptureInfo
	at       model.Ts
}

func newFixture(t *testing.T, captures string, wanted ...model.KeySpanID) *fixture {
	m := &messenger{full: map[string]bool{}, broken: map[string]error{}}
	f := &fixture{t: t, m: m, wanted: wanted, at: start, captures: map[model.CaptureID]*model.CaptureInfo{}}
	f.BaseScheduleDispatcher = scheduler.NewBaseScheduleDispatcher(feed, m, start)
	f.alive(captures)
	return f
}

// alive says which captures there are: one for each letter.
func (f *fixture) alive(captures string) {
	f.captures = map[model.CaptureID]*model.CaptureInfo{}
	for _, id := range strings.Split(captures, "") {
		f.captures[id] = &model.CaptureInfo{ID: id}
	}
}

// tick ticks and checks what was sent. It returns what Tick does.
func (f *fixture) tick(sent ...string) (model.Ts, model.Ts) {
	f.t.Helper()
	checkpoint, resolved, err := f.tickErr(sent...)
	require.NoError(f.t, err)
	return checkpoint, resolved
}

func (f *fixture) tickErr(sent ...string) (model.Ts, model.Ts, error) {
	f.t.Helper()
	f.m.sent = nil
	checkpoint, resolved, err := f.Tick(background, f.at, f.wanted, f.captures)
	require.Equal(f.t, sent, f.m.sent)
	return checkpoint, resolved, err
}

// stops is tick that can't proceed.
func (f *fixture) stops(sent ...string) {
	f.t.Helper()
	checkpoint, resolved := f.tick(sent...)
	require.Equal(f.t, scheduler.CheckpointCannotProceed, checkpoint)
	require.Equal(f.t, scheduler.CheckpointCannotProceed, resolved)
}

// proceeds is tick that returns these.
func (f *fixture) proceeds(checkpoint, resolved model.Ts, sent ...string) {
	f.t.Helper()
	c, r := f.tick(sent...)
	require.Equal(f.t, checkpoint, c)
	require.Equal(f.t, resolved, r)
}

// has checks what the dispatcher believes of a capture: "1 +2 -3" is that 1 runs, 2 is being added and
// 3 is being removed.
func (f *fixture) has(capture, want string) {
	f.t.Helper()
	statuses, err := f.GetTaskStatuses()
	require.NoError(f.t, err)
	status, listed := statuses[capture]
	require.Equal(f.t, want != "", listed, "a capture without key spans is not listed")
	var got []string
	if listed {
		for id, info := range status.KeySpans {
			require.Equal(f.t, &model.KeySpanReplicaInfo{}, info)
			switch op := status.Operation[id]; {
			case op == nil:
				got = append(got, fmt.Sprint(id))
			case op.Delete:
				require.Equal(f.t, &model.KeySpanOperation{Delete: true, Status: model.OperDispatched}, op)
				got = append(got, fmt.Sprint("-", id))
			default:
				require.Equal(f.t, &model.KeySpanOperation{Status: model.OperDispatched}, op)
				got = append(got, fmt.Sprint("+", id))
			}
		}
		require.NotNil(f.t, status.Operation)
		require.LessOrEqual(f.t, len(status.Operation), len(status.KeySpans))
	}
	slices.SortFunc(got, func(a, b string) int { return strings.Compare(strings.Trim(a, "+-"), strings.Trim(b, "+-")) })
	require.Equal(f.t, want, strings.Join(got, " "))
}

// position checks how far a capture has come; untracked when it is absent.
func (f *fixture) position(capture string, want *model.TaskPosition) {
	f.t.Helper()
	positions, err := f.GetTaskPositions()
	require.NoError(f.t, err)
	require.Equal(f.t, want, positions[capture])
}

func ids(list ...model.KeySpanID) []model.KeySpanID { return list }

// running is a fixture all of whose captures have synced with these running key spans, one list for
// each capture in order.
func running(t *testing.T, captures string, lists ...[]model.KeySpanID) *fixture {
	f := newFixture(t, captures, slices.Concat(lists...)...)
	var announced []string
	for _, id := range strings.Split(captures, "") {
		announced = append(announced, "announce "+id)
	}
	f.stops(announced...)
	for i, id := range strings.Split(captures, "") {
		f.OnAgentSyncTaskStatuses(id, lists[i], nil, nil)
		f.OnAgentCheckpoint(id, start+10*model.Ts(i+1), start+20*model.Ts(i+1))
	}
	return f
}

func TestAddsAreSpreadAndFinish(t *testing.T) {
	f := newFixture(t, "abc", 5, 4, 3, 2, 1)
	f.stops("announce a", "announce b", "announce c")
	f.stops()
	f.OnAgentSyncTaskStatuses("a", nil, nil, nil)
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.stops() // c has not told yet
	f.OnAgentSyncTaskStatuses("c", nil, nil, nil)
	f.stops("add 1 to a", "add 2 to b", "add 3 to c", "add 4 to a", "add 5 to b")
	f.has("a", "+1 +4")
	f.has("b", "+2 +5")
	f.has("c", "+3")
	f.stops()
	for _, done := range []struct {
		capture string
		id      model.KeySpanID
	}{{"a", 1}, {"b", 2}, {"c", 3}, {"a", 4}} {
		f.OnAgentFinishedKeySpanOperation(done.capture, done.id)
		f.stops()
	}
	f.OnAgentFinishedKeySpanOperation("b", 5)
	f.has("a", "1 4")
	f.proceeds(start, start)
	f.OnAgentCheckpoint("a", start+5, start+50)
	f.OnAgentCheckpoint("b", start+7, start+9)
	f.proceeds(start, start)
	f.OnAgentCheckpoint("c", start+6, start+100)
	f.proceeds(start+5, start+9) // independent minima
	f.at = start + 5
	f.OnAgentCheckpoint("a", start+3, start+50)
	f.proceeds(start+3, start+9) // as it is; the caller sees that it is below
}

func TestTickWithNobody(t *testing.T) {
	f := newFixture(t, "a", 1)
	f.captures = map[model.CaptureID]*model.CaptureInfo{}
	f.stops() // no captures: nobody to add the key span to, and no way on
	f.wanted = nil
	f.proceeds(math.MaxUint64, math.MaxUint64)
}

func TestCaptureWithoutKeySpansHoldsNothingBack(t *testing.T) {
	f := running(t, "ab", ids(1), nil)
	f.OnAgentCheckpoint("b", 1, 1)
	f.proceeds(start+10, start+20)
	f.position("b", &model.TaskPosition{CheckPointTs: 1, ResolvedTs: 1})
	f.position("c", nil)
}

func TestDuplicateInWantedBlocks(t *testing.T) {
	f := running(t, "a", ids(1))
	f.wanted = ids(1, 1)
	f.stops()
	f.wanted = ids(1, 2, 2)
	f.stops("add 2 to a")
}

func TestCheckpointRegressionPanics(t *testing.T) {
	f := newFixture(t, "a", 1)
	f.at = start - 1
	require.PanicsWithValue(t, "scheduler: checkpointTs regressed from 1000 to 999: the changefeed's status was written by somebody else, or its owner computed too small a checkpoint", func() { f.tick() })
	f = newFixture(t, "a", 1)
	f.stops("announce a") // equal is fine
	f.at = start + 5
	f.stops()
	f.at = start + 4
	require.Panics(t, func() { f.tick() })
	// The lock was given back.
	f.Rebalance()
	f.at = start + 5
	f.stops()
}

func TestAnnounceIsTriedAgain(t *testing.T) {
	f := newFixture(t, "abc", 1)
	f.m.full["announce b"] = true
	f.stops("announce a", "announce c")
	f.stops()
	f.OnAgentSyncTaskStatuses("a", nil, nil, nil)
	f.OnAgentSyncTaskStatuses("c", nil, nil, nil)
	f.stops()
	delete(f.m.full, "announce b")
	f.stops("announce b")
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.stops("add 1 to a")
}

func TestUnaskedSyncCounts(t *testing.T) {
	f := newFixture(t, "ab", 1)
	f.m.full["announce b"] = true
	f.stops("announce a")
	f.OnAgentSyncTaskStatuses("a", ids(1), nil, nil)
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.proceeds(start, start) // b is not announced to any more
}

func TestSyncBeforeItIsTrackedIsIgnored(t *testing.T) {
	f := newFixture(t, "ab", 1)
	f.OnAgentSyncTaskStatuses("a", ids(1), nil, nil)
	f.has("a", "")
	f.stops("announce a", "announce b")
}

func TestSyncStatuses(t *testing.T) {
	f := newFixture(t, "ab", 1, 2, 3, 4)
	f.stops("announce a", "announce b")
	f.OnAgentSyncTaskStatuses("a", ids(1), ids(2), ids(3))
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.has("a", "1 +2 -3")
	f.stops("add 4 to b") // what is under way is left alone
	f.OnAgentFinishedKeySpanOperation("a", 3)
	f.OnAgentFinishedKeySpanOperation("a", 2)
	f.has("a", "1 2")
	f.stops("add 3 to b") // counted with its record of adding 4
	f.OnAgentFinishedKeySpanOperation("b", 3)
	f.OnAgentFinishedKeySpanOperation("b", 4)
	f.proceeds(start, start)
	// Its processor starts anew, with nothing.
	f.OnAgentSyncTaskStatuses("a", nil, nil, nil)
	f.has("a", "")
	f.position("a", &model.TaskPosition{CheckPointTs: start, ResolvedTs: start})
	f.stops("add 1 to a", "add 2 to a")
	// What is not wanted is removed.
	f.OnAgentSyncTaskStatuses("a", ids(1, 9), ids(8), nil)
	f.stops("add 2 to b", "remove 9 from a")
	f.has("a", "1 +8 -9")
	f.OnAgentFinishedKeySpanOperation("a", 8)
	f.stops("remove 8 from a")
}

func TestSyncPanics(t *testing.T) {
	for name, sync := range map[string]func(f *fixture){
		"another capture's":     func(f *fixture) { f.OnAgentSyncTaskStatuses("b", ids(1), nil, nil) },
		"being added, and runs": func(f *fixture) { f.OnAgentSyncTaskStatuses("b", ids(7), ids(7), nil) },
		"twice":                 func(f *fixture) { f.OnAgentSyncTaskStatuses("b", nil, nil, ids(7, 7)) },
	} {
		f := running(t, "ab", ids(1), ids(2))
		require.Panics(t, func() { sync(f) }, name)
	}
	f := running(t, "ab", ids(1), ids(2))
	require.PanicsWithValue(t, "scheduler: duplicate record of key span 1: on capture a, and now on capture b", func() {
		f.OnAgentSyncTaskStatuses("b", ids(1), nil, nil)
	})
}

// A Sync of a capture that is not tracked still takes away what was recorded for it.
func TestSyncOfLostCapture(t *testing.T) {
	f := running(t, "ab", ids(1), ids(2))
	f.proceeds(start+10, start+20)
	f.alive("bc")
	f.stops("announce c") // a is no longer tracked, and its record still there
	f.has("a", "1")
	f.OnAgentSyncTaskStatuses("a", ids(1, 5), nil, nil)
	f.has("a", "")
	f.OnAgentSyncTaskStatuses("c", ids(1), nil, nil)
	f.proceeds(start, start)
}

func TestFinished(t *testing.T) {
	type step struct {
		capture string
		id      model.KeySpanID
	}
	for name, c := range map[string]struct {
		status string // of key span 1 on a
		step   step
		want   string
		panics string
	}{
		"added":                       {"+", step{"a", 1}, "1", ""},
		"removed":                     {"-", step{"a", 1}, "", ""},
		"nothing under way":           {"", step{"a", 1}, "1", "capture a finished an operation on key span 1, which had none"},
		"another capture, adding":     {"+", step{"b", 1}, "+1", "capture b finished an operation on key span 1, which is on capture a"},
		"another capture, removing":   {"-", step{"b", 1}, "-1", "which is on capture a"},
		"another capture, running":    {"", step{"b", 1}, "1", "which is on capture a"},
		"unknown key span":            {"+", step{"a", 5}, "+1", ""},
		"capture that is not alive":   {"+", step{"z", 1}, "+1", ""},
		"unknown of one not alive":    {"+", step{"z", 5}, "+1", ""},
		"not alive, nothing underway": {"", step{"z", 1}, "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "ab", 1)
			f.stops("announce a", "announce b")
			lists := map[string][]model.KeySpanID{c.status: ids(1)}
			f.OnAgentSyncTaskStatuses("a", lists[""], lists["+"], lists["-"])
			finish := func() { f.OnAgentFinishedKeySpanOperation(c.step.capture, c.step.id) }
			if c.panics == "" {
				finish()
			} else {
				require.Panics(t, finish)
				func() {
					defer func() { require.Contains(t, recover(), c.panics) }()
					finish()
				}()
			}
			f.has("a", c.want)
		})
	}
	// The sender need not have synced.
	f := newFixture(t, "ab", 1)
	f.stops("announce a", "announce b")
	f.OnAgentSyncTaskStatuses("a", nil, ids(1), nil)
	f.OnAgentFinishedKeySpanOperation("b", 7)
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.has("a", "1")
}

func TestCheckpointsAreIgnoredBeforeSync(t *testing.T) {
	f := newFixture(t, "a", 1)
	f.OnAgentCheckpoint("a", start+5, start+6) // not tracked
	f.position("a", nil)
	f.stops("announce a")
	f.OnAgentCheckpoint("a", start+5, start+6) // has not told
	f.position("a", &model.TaskPosition{CheckPointTs: start, ResolvedTs: start})
	f.OnAgentSyncTaskStatuses("a", ids(1), nil, nil)
	f.OnAgentCheckpoint("b", start+5, start+6)
	f.OnAgentCheckpoint("a", start+5, start+6)
	f.proceeds(start+5, start+6)
	f.OnAgentCheckpoint("a", start+2, start+3) // downwards too
	f.position("a", &model.TaskPosition{CheckPointTs: start + 2, ResolvedTs: start + 3})
}

func TestDispatchThatCannotBeQueued(t *testing.T) {
	f := newFixture(t, "ab", 1, 2, 3)
	f.stops("announce a", "announce b")
	f.OnAgentSyncTaskStatuses("a", nil, nil, nil)
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.m.full["add 2 to b"] = true
	f.stops("add 1 to a") // the others wait as well
	f.stops()
	delete(f.m.full, "add 2 to b")
	f.stops("add 2 to b", "add 3 to a")
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.OnAgentFinishedKeySpanOperation("b", 2)
	f.OnAgentFinishedKeySpanOperation("a", 3)
	f.wanted = nil
	f.m.full["remove 2 from b"] = true
	f.stops("remove 1 from a")
	f.has("a", "-1 3")
	f.has("b", "2")
	delete(f.m.full, "remove 2 from b")
	f.stops("remove 2 from b", "remove 3 from a")
}

func TestErrorsAreReturnedAtOnce(t *testing.T) {
	broken := errors.New("broken")
	f := newFixture(t, "ab", 1)
	f.m.broken["announce a"] = broken
	checkpoint, resolved, err := f.tickErr()
	require.Equal(t, []any{scheduler.CheckpointCannotProceed, scheduler.CheckpointCannotProceed, broken}, []any{checkpoint, resolved, err})
	for message, prepare := range map[string]func(f *fixture){
		"add 3 to a":      func(f *fixture) { f.wanted = ids(1, 2, 3) },
		"remove 2 from b": func(f *fixture) { f.wanted = ids(1) },
		"remove 1 from a": func(f *fixture) { f.MoveKeySpan(1, "b") },
	} {
		f := running(t, "ab", ids(1), ids(2))
		prepare(f)
		f.m.broken[message] = broken
		_, _, err := f.tickErr()
		require.ErrorIs(t, err, broken)
		f.m.broken = nil
		f.stops(message) // as if it had not been tried
	}
	f = running(t, "ab", ids(1, 2, 3), nil)
	f.Rebalance()
	f.m.broken["remove 1 from a"] = broken
	_, _, err = f.tickErr()
	require.ErrorIs(t, err, broken)
	f.m.broken = nil
	f.stops("remove 1 from a")
}

func TestLostCapture(t *testing.T) {
	f := running(t, "ab", ids(1, 2), ids(3))
	f.proceeds(start+10, start+20)
	f.wanted = ids(1, 2, 3, 4)
	f.stops("add 4 to b")
	f.alive("a")
	f.stops("add 3 to a", "add 4 to a") // what was being added as well
	f.position("b", nil)
	f.OnAgentFinishedKeySpanOperation("b", 4) // from the dead
	f.has("a", "1 2 +3 +4")
}

func TestMove(t *testing.T) {
	f := running(t, "ab", ids(1, 2), ids(3))
	f.MoveKeySpan(1, "b")
	f.MoveKeySpan(1, "a") // one is under way: ignored
	f.stops("remove 1 from a")
	f.stops()
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.stops("add 1 to b")
	f.OnAgentFinishedKeySpanOperation("b", 1)
	f.proceeds(start+10, start+20)
	f.MoveKeySpan(1, "b") // where it is: not special
	f.stops("remove 1 from b")
	f.OnAgentFinishedKeySpanOperation("b", 1)
	f.stops("add 1 to b")
}

func TestMoveIsGivenUp(t *testing.T) {
	f := running(t, "ab", ids(1), ids(2))
	f.MoveKeySpan(7, "b")
	f.MoveKeySpan(1, "z")
	f.proceeds(start+10, start+20)
	f.wanted = ids(1, 2, 7)
	f.stops("add 7 to a") // not where it was to go
	f.OnAgentFinishedKeySpanOperation("a", 7)
	f.proceeds(start+10, start+20)
	f.MoveKeySpan(1, "b") // the one to z does not stand in its way
	f.stops("remove 1 from a")
}

func TestMoveWaits(t *testing.T) {
	f := running(t, "ab", ids(1, 2), ids(3, 4))
	f.MoveKeySpan(1, "b")
	f.MoveKeySpan(2, "b")
	f.m.full["remove 2 from a"] = true
	f.stops("remove 1 from a")
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.stops("add 1 to b")
	delete(f.m.full, "remove 2 from a")
	f.stops() // not while something is under way
	f.OnAgentFinishedKeySpanOperation("b", 1)
	f.stops("remove 2 from a")
}

// The source of a move dies: the key span goes to the target all the same.
func TestMoveOutlivesItsSource(t *testing.T) {
	f := running(t, "abc", ids(1), nil, nil)
	f.MoveKeySpan(1, "c")
	f.stops("remove 1 from a")
	f.alive("bc")
	f.stops("add 1 to c")
}

// The target of a move dies before it was reached, with or without key spans of its own: the key span
// goes elsewhere.
func TestMoveToLostCapture(t *testing.T) {
	for _, others := range [][]model.KeySpanID{nil, ids(2)} {
		f := running(t, "abc", ids(1), nil, others)
		f.MoveKeySpan(1, "c")
		f.stops("remove 1 from a")
		f.alive("ab")
		f.m.full["add 1 to c"] = true // nobody is there to queue it for
		f.Tick(background, f.at, f.wanted, f.captures)
		f.OnAgentFinishedKeySpanOperation("a", 1)
		f.m.sent = nil
		f.Tick(background, f.at, f.wanted, f.captures)
		require.Len(t, f.m.sent, 1)
		require.Regexp(t, "add 1 to [ab]", f.m.sent[0])
	}
	f := running(t, "abc", ids(1), nil, ids(2))
	f.MoveKeySpan(1, "c")
	f.alive("ab")
	f.stops("add 2 to b")
	f.OnAgentFinishedKeySpanOperation("b", 2)
	f.proceeds(start+10, start+20) // not asked for any more
}

// A key span that is dropped while it is moved, and comes back later, is nowhere bound to go.
func TestMoveOfADroppedKeySpanIsForgotten(t *testing.T) {
	f := running(t, "abc", ids(1), ids(2), ids(3))
	f.MoveKeySpan(1, "c")
	f.stops("remove 1 from a")
	f.wanted = ids(2, 3)
	f.stops()
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.proceeds(start+20, start+40)
	f.wanted = ids(1, 2, 3)
	f.stops("add 1 to a") // which has the fewest
}

func TestRebalanceOnRequest(t *testing.T) {
	f := running(t, "abc", ids(1, 2, 3, 4, 5), ids(6), nil)
	f.proceeds(start+10, start+20) // nobody asked
	f.Rebalance()
	f.m.full["remove 2 from a"] = true
	f.stops("remove 1 from a")
	f.OnAgentFinishedKeySpanOperation("a", 1)
	delete(f.m.full, "remove 2 from a")
	f.stops("add 1 to c")
	f.OnAgentFinishedKeySpanOperation("c", 1)
	f.stops("remove 2 from a", "remove 3 from a") // it was not finished
	f.OnAgentFinishedKeySpanOperation("a", 2)
	f.OnAgentFinishedKeySpanOperation("a", 3)
	f.stops("add 2 to b", "add 3 to c")
	f.OnAgentFinishedKeySpanOperation("b", 2)
	f.OnAgentFinishedKeySpanOperation("c", 3)
	f.proceeds(start+10, start+20)
	f.Rebalance() // nothing to give away: the same tick goes on
	f.proceeds(start+10, start+20)
}

func TestRebalanceWhenCapturesCome(t *testing.T) {
	f := running(t, "a", ids(1, 2, 3))
	f.proceeds(start+10, start+20)
	// One comes while the tick can't get far: it is not forgotten.
	f.wanted = ids(1, 2, 3, 4)
	f.stops("add 4 to a")
	f.alive("ab")
	f.stops("announce b")
	f.OnAgentSyncTaskStatuses("b", nil, nil, nil)
	f.stops()
	f.OnAgentFinishedKeySpanOperation("a", 4)
	f.stops("remove 1 from a", "remove 2 from a")
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.OnAgentFinishedKeySpanOperation("a", 2)
	f.stops("add 1 to b", "add 2 to b")
	// One replaced by another is not noticed, by the number.
	f = running(t, "ab", ids(1, 2, 3), ids(4))
	f.proceeds(start+10, start+20)
	f.alive("ac")
	f.stops("announce c")
	f.OnAgentSyncTaskStatuses("c", nil, nil, nil)
	f.stops("add 4 to c")
	f.OnAgentFinishedKeySpanOperation("c", 4)
	f.proceeds(start, start)
}

func TestNoRebalanceAtFirst(t *testing.T) {
	f := running(t, "abc", ids(1, 2, 3), nil, nil)
	f.proceeds(start+10, start+20)
}

// A key span that is not wanted and under way is left until it is not.
func TestSurplusUnderWay(t *testing.T) {
	f := newFixture(t, "a")
	f.stops("announce a")
	f.OnAgentSyncTaskStatuses("a", nil, ids(1), ids(2))
	f.stops()
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.stops("remove 1 from a")
	f.OnAgentFinishedKeySpanOperation("a", 2)
	f.stops()
	f.OnAgentFinishedKeySpanOperation("a", 1)
	f.proceeds(math.MaxUint64, math.MaxUint64)
}

// While a capture has not told, nothing else happens: no removals, no cleaning up, no moves.
func TestUnsyncedCaptureStopsAll(t *testing.T) {
	f := running(t, "ab", ids(1, 2), ids(3))
	f.proceeds(start+10, start+20)
	f.alive("ac")
	f.wanted = ids(1, 4)
	f.MoveKeySpan(1, "c")
	f.Rebalance()
	f.stops("announce c")
	f.stops()
	f.has("b", "3")
	f.OnAgentSyncTaskStatuses("c", nil, nil, nil)
	f.stops("add 4 to c", "remove 2 from a")
	f.has("b", "")
}
