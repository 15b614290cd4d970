package models

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// observed feeds a model a system of one feed, two captures and two spans, and keeps time.
type observed struct {
	*Checkpoints
	n uint64
}

func newObserved() *observed {
	o := &observed{Checkpoints: NewCheckpoints()}
	for _, name := range []string{"a", "b"} {
		o.Registered(name)
	}
	o.Scheduling("f", 1)
	o.Knows("f", 1, []string{"a", "b"})
	o.Created("f", 10, o.now())
	o.Stored("f", 1, 10, 25, o.now())
	o.Wanted("f", 1, 10)
	o.Wanted("f", 2, 10)
	return o
}

func (o *observed) now() Moment {
	o.n++
	return Moment{Event: o.n, NS: int64(o.n) * 1000}
}

func (o *observed) sync() {
	o.Synced("f", 1, "a")
	o.Synced("f", 1, "b")
}

func run1(capture string, span uint64) RunID {
	return RunID{Feed: "f", Span: span, Capture: capture, N: 1}
}
func put(key string, ts uint64) Change {
	return Change{Key: key, Value: fmt.Sprint("v", ts), CommitTS: ts}
}

// replicate takes a change all the way into the sink.
func (o *observed) replicate(id RunID, change Change) {
	o.Committed(id.Span, change, o.now())
	o.Written(id, []Change{change}, o.now())
}

func TestCheckpoints(t *testing.T) {
	a1, b2 := run1("a", 1), run1("b", 2)
	run := func(o *observed) {
		o.sync()
		o.Dispatched("f", 1, 1, "a", false, o.now())
		o.Dispatched("f", 1, 2, "b", false, o.now())
		o.Started(a1, 1, 10, o.now())
		o.Started(b2, 1, 10, o.now())
		o.replicate(a1, put("x", 20))
		o.replicate(b2, put("y", 21))
		o.Reported("f", 1, "a", 30, 40, o.now())
		o.Safepoint(9, o.now())
		o.Progressed(a1, 30, 40, o.now())
		o.Progressed(b2, 35, 40, o.now())
		o.Stored("f", 1, 30, 40, o.now())
	}
	for name, test := range map[string]struct {
		do     func(o *observed)
		oracle string // "" if nothing is wrong
		want   string
	}{
		"all well": {func(o *observed) {}, "", ""},
		"checkpoint goes back": {func(o *observed) { o.Stored("f", 1, 29, 40, o.now()) },
			OracleCheckpointMonotone, "goes back from 30, stored by the owner of epoch 1, to 29"},
		"a deposed owner stores": {func(o *observed) { o.Stored("f", 2, 30, 40, o.now()); o.Stored("f", 1, 30, 40, o.now()) },
			OracleCheckpointMonotone, "the owner of epoch 1 stores a checkpoint after that of epoch 2"},
		"above resolved": {func(o *observed) { o.Stored("f", 1, 30, 29, o.now()) },
			OracleCheckpointLeResolved, "checkpoint 30 is stored with a resolved timestamp of 29"},
		"a run above its resolved": {func(o *observed) { o.Progressed(a1, 31, 30, o.now()) },
			OracleCheckpointLeResolved, "its checkpoint 31 is above"},
		"reported above resolved": {func(o *observed) { o.Reported("f", 1, "b", 41, 40, o.now()) },
			OracleCheckpointLeResolved, "b reports to the owner of epoch 1 a checkpoint of 41, above its resolved timestamp 40"},
		"written above resolved": {func(o *observed) { o.replicate(a1, put("x", 41)) },
			OracleCheckpointLeResolved, `writes "x" = "v41" at 41, above the largest resolved timestamp that was stored, 40`},
		"written above resolved, which was missed": {func(o *observed) { o.Missed(); o.replicate(a1, put("x", 41)) }, "", ""},
		"stored after the end":                     {func(o *observed) { o.Ended("f"); o.Stored("f", 1, 30, 40, o.now()) }, "", ""},
		"stored after the removal": {func(o *observed) { o.Removed("f"); o.Stored("f", 1, 30, 40, o.now()) },
			OracleCheckpointMonotone, "the owner of epoch 1 stores checkpoint 30 after the feed was removed"},
		"history from the checkpoint on": {func(o *observed) { o.Safepoint(30, o.now()) }, "", ""},
		"history after the checkpoint": {func(o *observed) { o.Safepoint(31, o.now()) },
			OracleSafepoint, "the source gives up its history before 31, and feed f has a checkpoint of 30"},
		"history of a feed that ended":       {func(o *observed) { o.Ended("f"); o.Safepoint(31, o.now()) }, "", ""},
		"history of a feed that was removed": {func(o *observed) { o.Removed("f"); o.Safepoint(31, o.now()) }, "", ""},
		"a feed that starts too low": {func(o *observed) { o.Created("g", 8, o.now()) },
			OracleSafepoint, "the source gives up its history before 9, and feed g is to start at 8"},
		"a feed that starts low": {func(o *observed) { o.Created("g", 9, o.now()) }, "", ""},
		"written by turns": {func(o *observed) {
			o.Stopped(a1)
			o.Started(run1("b", 1), 1, 30, o.now())
			o.replicate(run1("b", 1), put("x", 31))
		}, "", ""},
		"written after a stop": {func(o *observed) { o.Stopped(a1); o.replicate(a1, put("x", 31)) },
			OracleSingleReplication, "run 1 of span 1 of f on a writes after it said that it stopped"},
		"written out of turn": {func(o *observed) {
			o.Crashed("a") // and its registration is there still
			o.Started(run1("b", 1), 2, 30, o.now())
			o.replicate(run1("b", 1), put("x", 31))
			o.Written(a1, []Change{put("x", 20)}, o.now())
		}, OracleSingleReplication, "run 1 of span 1 of f on a, of the owner of epoch 1, writes after run 1 of span 1 of f on b, of that of epoch 2, has"},
		"written for a deposed owner": {func(o *observed) {
			o.Stopped(a1)
			o.Started(run1("b", 1), 3, 30, o.now())
			o.replicate(run1("b", 1), put("x", 31))
			o.Stopped(run1("b", 1))
			o.Started(RunID{"f", 1, "a", 2}, 2, 30, o.now())
			o.Written(RunID{"f", 1, "a", 2}, []Change{put("x", 31)}, o.now())
		}, OracleSingleReplication, "run 2 of span 1 of f on a, of the owner of epoch 2, writes after run 1 of span 1 of f on b, of that of epoch 3, has"},
		"written late by a dead capture": {func(o *observed) {
			o.Crashed("a")
			o.Unregistered("a")
			o.Started(run1("b", 1), 2, 30, o.now())
			o.replicate(run1("b", 1), put("x", 31))
			o.Written(a1, []Change{put("x", 20)}, o.now())
		}, "", ""},
		"a change is not in the sink": {func(o *observed) {
			o.Committed(1, put("x", 31), o.now())
			o.Progressed(a1, 30, 40, o.now())
			o.Stored("f", 1, 31, 40, o.now())
		}, OracleCheckpointDurable, `stores checkpoint 31, and "x" = "v31" at 31 of span 1 is not in the sink`},
		"of a span that nobody has": {func(o *observed) {
			o.Stopped(a1)
			o.Progressed(b2, 40, 40, o.now())
			o.Stored("f", 1, 31, 40, o.now())
		}, OracleCheckpointSources, "span 1, which no capture replicates, came only to 30"},
		"above a run": {func(o *observed) { o.Stored("f", 1, 33, 40, o.now()) },
			OracleCheckpointSources, "run 1 of span 1 of f on a is only at 30"},
		"above a zombie's run": {func(o *observed) {
			o.Unregistered("a")
			o.Started(RunID{"f", 1, "b", 1}, 1, 30, o.now())
			o.Progressed(RunID{"f", 1, "b", 1}, 36, 40, o.now())
			o.Stored("f", 1, 33, 40, o.now())
		}, "", ""},
		"progress claimed": {func(o *observed) {
			o.Committed(1, put("x", 31), o.now())
			o.Progressed(a1, 31, 40, o.now())
		}, OracleCheckpointSources, `claims progress to 31, and "x" = "v31" at 31 is not in the sink`},
		"progress goes back": {func(o *observed) { o.Progressed(a1, 29, 40, o.now()) }, OracleCheckpointSources, "went back from 30 to 29"},
		"committed too late": {func(o *observed) { o.Committed(1, put("z", 30), o.now()) }, OracleCheckpointDurable, "after a checkpoint of 30 was stored"},
		"a run starts too late": {func(o *observed) {
			o.Committed(1, put("z", 31), o.now())
			o.Stopped(a1)
			o.Started(RunID{"f", 1, "b", 1}, 1, 31, o.now())
		}, OracleCheckpointSources, "starts from 31, and"},
		"two at once":         {func(o *observed) { o.Started(run1("b", 1), 1, 30, o.now()) }, OracleSingleReplication, "run 1 of span 1 of f on b starts while run 1 of span 1 of f on a goes on"},
		"one after the other": {func(o *observed) { o.Stopped(a1); o.Started(run1("b", 1), 1, 30, o.now()) }, "", ""},
		"after a crash":       {func(o *observed) { o.Crashed("a"); o.Started(run1("b", 1), 1, 30, o.now()) }, "", ""},
		"beside a zombie":     {func(o *observed) { o.Unregistered("a"); o.Started(run1("b", 1), 1, 30, o.now()) }, "", ""},
		"dispatch before sync": {func(o *observed) {
			o.Knows("f", 1, []string{"a", "b", "c"})
			o.Dispatched("f", 1, 1, "a", true, o.now())
		}, OracleDispatchAfterSync, "the owner of epoch 1 removes span 1 on a before it knows what c runs"},
		"dispatch to a stranger": {func(o *observed) { o.Dispatched("f", 1, 1, "d", false, o.now()) }, OracleDispatchAfterSync, "adds span 1 on d, a capture it does not know"},
		"a new owner forgets": {func(o *observed) {
			o.Scheduling("f", 2)
			o.Knows("f", 2, []string{"a"})
			o.Dispatched("f", 2, 1, "a", false, o.now())
		}, OracleDispatchAfterSync, "the owner of epoch 2 adds span 1 on a before it knows what a runs"},
		"made up":      {func(o *observed) { o.Written(a1, []Change{put("x", 25)}, o.now()) }, OracleExactlyOnceSink, "which the source never committed"},
		"out of order": {func(o *observed) { o.replicate(a1, put("x", 31)); o.Written(a1, []Change{put("x", 20)}, o.now()) }, OracleExactlyOnceSink, "after a later version, of 31"},
		"again, later": {func(o *observed) {
			o.Stopped(a1)
			o.Started(RunID{"f", 1, "a", 2}, 1, 30, o.now())
			o.Written(RunID{"f", 1, "a", 2}, []Change{put("x", 20)}, o.now())
		}, "", ""},
		"a run starts behind the checkpoint": {func(o *observed) {
			o.Stopped(a1)
			o.Started(RunID{"f", 1, "a", 2}, 1, 29, o.now())
		}, OracleCheckpointSources, "starts from 29, below the stored checkpoint 30"},
		"a zombie's run starts behind the checkpoint": {func(o *observed) {
			o.Unregistered("a")
			o.Started(RunID{"f", 1, "a", 2}, 1, 29, o.now())
		}, "", ""},
		"stored by the owner": {func(o *observed) { o.StoredWhile("f", 1, 1, 30, o.now()) }, "", ""},
		"stored by one who does not own any more": {func(o *observed) { o.StoredWhile("f", 1, 2, 30, o.now()) },
			OracleCheckpointMonotone, "the owner of epoch 1 stores checkpoint 30 when it does not own any more: the owner is that of epoch 2"},
		"contents": {func(o *observed) {
			o.Contents("f", 20, map[string]string{"x": "v20"}, o.now())
			o.Contents("f", 30, map[string]string{"x": "v20", "y": "v21"}, o.now())
		}, "", ""},
		"row missing": {func(o *observed) { o.Contents("f", 30, map[string]string{"x": "v20"}, o.now()) },
			OracleExactlyOnceSink, "the sink has no such row"},
		"old row": {func(o *observed) {
			o.replicate(a1, put("x", 31))
			o.Contents("f", 31, map[string]string{"x": "v20", "y": "v21"}, o.now())
		}, OracleExactlyOnceSink, `as of 31: the source has "x" = "v31" at 31, and the sink has "v20"`},
		"row came back": {func(o *observed) {
			o.replicate(a1, Change{Key: "x", Deleted: true, CommitTS: 31})
			o.Contents("f", 31, map[string]string{"x": "v20", "y": "v21"}, o.now())
		}, OracleExactlyOnceSink, "the source has no such row"},
		"a dropped span": {func(o *observed) {
			o.Committed(1, Change{Key: "x", Deleted: true, CommitTS: 33}, o.now())
			o.Dropped(1, 33)
			o.Written(a1, []Change{{Key: "x", Deleted: true, CommitTS: 33}}, o.now())
			o.Progressed(a1, 33, 40, o.now())
			o.Progressed(b2, 38, 40, o.now())
			o.Stored("f", 1, 38, 40, o.now())
			o.Contents("f", 38, map[string]string{"y": "v21"}, o.now())
		}, "", ""},
		"a dropped span forgotten": {func(o *observed) {
			o.Committed(1, Change{Key: "x", Deleted: true, CommitTS: 33}, o.now())
			o.Dropped(1, 33)
			o.Progressed(b2, 38, 40, o.now())
			o.Stored("f", 1, 38, 40, o.now())
		}, OracleCheckpointDurable, `stores checkpoint 33, and deletion of "x" at 33 of span 1 is not in the sink`},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserved()
			run(o)
			test.do(o)
			for _, oracle := range o.Oracles() {
				j := oracle.Judge()
				if test.oracle == OracleCheckpointDurable && oracle.Name() == OracleCheckpointSources {
					continue // what is lost is mostly behind some run's progress as well
				}
				if oracle.Name() != test.oracle {
					require.NotEqual(t, VerdictFail, j.Verdict, j.Violations)
					continue
				}
				require.Equal(t, VerdictFail, j.Verdict)
				require.Contains(t, j.Violations[0].Message, test.want)
			}
		})
	}
}

func TestCheckpointsOfNothing(t *testing.T) {
	var names []string
	for _, o := range NewCheckpoints().Oracles() {
		names = append(names, o.Name())
		require.Equal(t, VerdictUnknown, o.Judge().Verdict)
	}
	require.Equal(t, CheckpointOracles(), names)
}
