package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// computeRun is a short run that is right: one controller, one replica, one collection over one table.
type computeRun struct {
	*models.Compute
	event uint64
}

func computeNumber(n int64) dataflow.Row { return dataflow.Pack(dataflow.Int(n)) }

func newComputeRun() *computeRun {
	schema := dataflow.NewSchema(dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)})
	r := &computeRun{Compute: models.NewCompute(dataflow.Catalog{"t": schema})}
	r.Defined(1, dataflow.Get("t"))
	r.Writing("t", []dataflow.Update{{Row: computeNumber(1), Time: 3, Diff: 1}, {Row: computeNumber(2), Time: 5, Diff: 1}}, r.now())
	r.Spawned("r", r.epoch(1), r.now())
	r.Accepted("r", r.epoch(1), r.now())
	r.Created(1, 1, 3, nil, []string{"t"}, r.now())
	r.TellsDataflow("r", r.epoch(1), 1, persist.At(3), true, r.now())
	r.TellsSchedule("r", r.epoch(1), 1, 1, r.now())
	r.Complete("r", r.epoch(1), r.now())
	r.Rendered("r", r.epoch(1), 1, persist.At(3), r.now())
	r.Scheduled("r", r.epoch(1), 1, 1, r.now())
	r.Reconciled("r", r.epoch(1), r.now())
	r.told(1, 4)
	r.Hears("r", r.epoch(1), 1, persist.At(4), r.now())
	r.Applied("r", r.epoch(1), r.now())
	r.Advanced(1, 1, persist.At(4), r.now())
	r.PeekBegun(1, "p", 1, "", 3, r.now())
	r.Answered("r", r.epoch(1), "p", r.now())
	r.PeekEnded("p", r.now())
	r.PeekRows("p", []dataflow.RowCount{{Row: computeNumber(1), Count: 1}}, nil, r.now())
	r.Subscribed(1, 1, true)
	r.Batch(1, 1, persist.At(0), persist.At(4), []dataflow.Update{{Row: computeNumber(1), Time: 3, Diff: 1}}, nil, r.now())
	r.SinceAdvanced(1, 1, persist.At(4), r.now())
	r.ShardSinceAdvanced(1, "t", persist.At(4), r.now())
	r.Appending("r", "out", true, r.now())
	return r
}

func (r *computeRun) now() models.Moment {
	r.event++
	return models.Moment{Event: r.event, NS: int64(r.event) * 1000}
}

func (r *computeRun) epoch(n uint64) models.ComputeEpoch {
	return models.ComputeEpoch{Controller: 1, Connection: n}
}

func (r *computeRun) told(connection, upper uint64) {
	at := persist.At(upper)
	r.Told("r", r.epoch(connection), 1, models.CollectionFrontiers{Write: at, Input: at, Output: at}, r.now())
}

// objections are the oracles that object, with what they say.
func (r *computeRun) objections() map[string]string {
	found := map[string]string{}
	for _, o := range r.Oracles() {
		if j := o.Judge(); j.Verdict == models.VerdictFail {
			for _, v := range j.Violations {
				found[o.Name()] += v.Message + "\n"
			}
		}
	}
	return found
}

func TestComputePasses(t *testing.T) {
	r := newComputeRun()
	for _, o := range r.Oracles() {
		j := o.Judge()
		require.Equal(t, models.VerdictPass, j.Verdict, "%v", j)
	}
	require.Len(t, r.Oracles(), len(models.ComputeOracles()))
}

func TestComputeIsVacuousAtFirst(t *testing.T) {
	for _, o := range models.NewCompute(nil).Oracles() {
		require.Equal(t, models.VerdictUnknown, o.Judge().Verdict, o.Name())
	}
}

func TestComputeObjects(t *testing.T) {
	at := persist.At
	for _, c := range []struct {
		oracle string
		does   func(r *computeRun)
		says   string // "" is no objection
	}{
		{models.OracleEpochIncreases, func(r *computeRun) { r.Spawned("r", r.epoch(1), r.now()) }, "under epoch (1, 1) after (1, 1)"},
		{models.OracleEpochIncreases, func(r *computeRun) { r.Accepted("r", r.epoch(1), r.now()) }, "accepts epoch (1, 1) after (1, 1)"},
		{models.OracleEpochIncreases, func(r *computeRun) {
			r.Spawned("r", models.ComputeEpoch{Controller: 2, Connection: 1}, r.now())
			r.Spawned("r", r.epoch(2), r.now()) // by the older controller, which does not know
		}, ""},
		{models.OracleEpochIncreases, func(r *computeRun) { r.Restarted("r", r.now()); r.Accepted("r", r.epoch(1), r.now()) }, ""},
		{models.OracleNoStaleResponse, func(r *computeRun) { r.Spawned("r", r.epoch(2), r.now()); r.Applied("r", r.epoch(1), r.now()) }, "the connection that counts is (1, 2)"},
		{models.OracleNoStaleResponse, func(r *computeRun) { r.Removed("r", r.epoch(1), r.now()); r.Applied("r", r.epoch(1), r.now()) }, "epoch (1, 1) is applied"},
		{models.OraclePeekOnce, func(r *computeRun) { r.PeekEnded("p", r.now()) }, "answered again"},
		{models.OraclePeekOnce, func(r *computeRun) { r.Answered("r", r.epoch(1), "p", r.now()) }, "answers peek p again"},
		{models.OraclePeekOnce, func(r *computeRun) { r.Answered("r", r.epoch(2), "p", r.now()) }, ""},
		{models.OraclePeekCorrect, func(r *computeRun) {
			r.PeekBegun(1, "q", 1, "", 5, r.now())
			r.PeekRows("q", []dataflow.RowCount{{Row: computeNumber(1), Count: 1}}, nil, r.now())
		}, "gives [(1):+1], and not [(1):+1 (2):+1]"},
		{models.OraclePeekCorrect, func(r *computeRun) {
			r.PeekBegun(1, "q", 1, "", 5, r.now())
			r.PeekRows("q", []dataflow.RowCount{{Row: computeNumber(2), Count: 1}}, func(row dataflow.Row) bool { return row == computeNumber(2) }, r.now())
		}, ""},
		{models.OraclePeekCorrect, func(r *computeRun) { r.PeekFailed("p", "division by zero in x", r.now()) }, "fails: division by zero"},
		{models.OracleSubscribeComplete, func(r *computeRun) { r.Batch(1, 1, at(5), at(6), nil, nil, r.now()) }, "goes on at [5], where the last batch ended at [4]"},
		{models.OracleSubscribeComplete, func(r *computeRun) { r.Batch(1, 1, at(4), at(4), nil, nil, r.now()) }, "from [4] to [4]"},
		{models.OracleSubscribeComplete, func(r *computeRun) { r.Batch(1, 1, at(4), at(6), nil, nil, r.now()) }, "as of 5"},
		{models.OracleSubscribeComplete, func(r *computeRun) {
			r.Batch(1, 1, at(4), at(6), []dataflow.Update{{Row: computeNumber(2), Time: 3, Diff: 1}}, nil, r.now())
		}, "@3:+1 in a batch from [4] to [6]"},
		{models.OracleSubscribeComplete, func(r *computeRun) {
			r.Batch(1, 1, at(4), at(6), []dataflow.Update{{Row: computeNumber(2), Time: 5, Diff: 1}}, nil, r.now())
		}, ""},
		{models.OracleSubscribeComplete, func(r *computeRun) {
			r.Created(1, 2, 3, nil, nil, r.now())
			r.Defined(2, dataflow.Get("t"))
			r.Subscribed(1, 2, false)
			r.Batch(1, 2, at(0), at(6), []dataflow.Update{{Row: computeNumber(2), Time: 5, Diff: 1}}, nil, r.now())
		}, ""},
		{models.OracleFrontierMonotone, func(r *computeRun) { r.told(1, 3) }, "goes back from [4] to [3]"},
		{models.OracleFrontierMonotone, func(r *computeRun) { r.told(1, 4) }, "told again"},
		{models.OracleFrontierMonotone, func(r *computeRun) {
			r.Rendered("r", r.epoch(2), 1, at(9), r.now())
			r.told(2, 4)
		}, "before the beginning at [9]"},
		{models.OracleFrontierMonotone, func(r *computeRun) { r.Advanced(1, 1, at(4), r.now()) }, "up to [4] after [4]"},
		{models.OracleFrontierMonotone, func(r *computeRun) {
			r.Created(1, 2, 3, nil, nil, r.now())
			r.Advanced(1, 2, at(9), r.now())
		}, "up to [9], and no replica is beyond [0]"},
		{models.OracleHydrationBounded, func(r *computeRun) {
			r.Scheduled("r", r.epoch(2), 1, 1, r.now())
			r.Scheduled("r", r.epoch(2), 2, 1, r.now())
		}, "2 dataflows hydrate, of 1 that may"},
		{models.OracleHydrationBounded, func(r *computeRun) {
			r.Scheduled("r", r.epoch(2), 1, 1, r.now())
			r.told(2, 4)
			r.Scheduled("r", r.epoch(2), 2, 1, r.now())
			r.Discarded("r", r.epoch(2), 2, r.now())
			r.Scheduled("r", r.epoch(2), 3, 1, r.now())
			r.Computed("r", r.epoch(2), 3, at(1), r.now())
			r.Scheduled("r", r.epoch(2), 1, 1, r.now()) // as told, it is hydrated
			r.Scheduled("r", r.epoch(2), 4, 1, r.now())
		}, ""},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.PeekBegun(1, "q", 1, "", 5, r.now())
			r.SinceAdvanced(1, 1, at(6), r.now())
		}, "peek q at 5 is not answered"},
		{models.OracleSinceHeld, func(r *computeRun) { r.SinceAdvanced(1, 1, at(3), r.now()) }, "goes back"},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.Created(1, 2, 4, []uint64{1}, nil, r.now())
			r.SinceAdvanced(1, 1, at(6), r.now())
		}, "beyond that of c2"},
		{models.OracleSinceHeld, func(r *computeRun) { r.ShardSinceAdvanced(1, "t", at(5), r.now()) }, "beyond that of c1"},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.PeekBegun(1, "q", 1, "out", 5, r.now())
			r.ShardSinceAdvanced(1, "out", at(6), r.now())
		}, "the since of shard out goes to [6], and peek q at 5"},
		{models.OracleSinceHeld, func(r *computeRun) { r.ReadRefused("r", r.epoch(1), 1, "", "t", 3, at(4), r.now()) }, "can't read t as of 3"},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.Dropped(1, 1, r.now())
			r.ReadRefused("r", r.epoch(1), 1, "", "t", 3, at(4), r.now())
		}, ""},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.Over(1, r.now())
			r.ReadRefused("r", r.epoch(1), 1, "", "t", 3, at(4), r.now())
		}, ""},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.ShardSinceAdvanced(2, "t", at(4), r.now())
			r.ReadRefused("r", r.epoch(1), 1, "", "t", 3, at(4), r.now())
		}, ""},
		{models.OracleSinceHeld, func(r *computeRun) {
			r.ShardSinceAdvanced(2, "t", at(3), r.now())
			r.ReadRefused("r", r.epoch(1), 1, "", "t", 3, at(4), r.now())
		}, "can't read t as of 3"},
		{models.OracleSinceHeld, func(r *computeRun) { r.ReadRefused("r", r.epoch(1), 0, "p", "t", 3, at(4), r.now()) }, ""},
		{models.OracleReconciles, func(r *computeRun) { r.Reconciled("r", r.epoch(1), r.now()) }, "or again (true)"},
		{models.OracleReconciles, func(r *computeRun) { r.Reconciled("r", r.epoch(2), r.now()) }, "not told it everything (true)"},
		{models.OracleWritesAllowed, func(r *computeRun) { r.Appending("r", "out", false, r.now()) }, "before it was told"},
	} {
		r := newComputeRun()
		c.does(r)
		found := r.objections()
		if c.says == "" {
			require.Empty(t, found, "%s", c.oracle)
			continue
		}
		require.Contains(t, found[c.oracle], c.says)
	}
}

func TestComputeTable(t *testing.T) {
	state := func(values map[int]int64) (s models.TableState) {
		for k, v := range values {
			s[k] = v
		}
		return s
	}
	record := func(last models.TableState) models.Judgement {
		h := models.NewHistory()
		first := h.Begin(1, models.KindTableWrite, models.TableWrite{0: 5, 1: 6}, 1, 1)
		h.End(first, models.Ok, nil, 2, 2)
		second := h.Begin(1, models.KindTableWrite, models.TableWrite{0: 7}, 3, 3)
		read := h.Begin(2, models.KindTablePeek, "", 4, 4)
		h.End(read, models.Ok, state(map[int]int64{0: 7, 1: 6}), 5, 5) // while the write is under way
		read = h.Begin(3, models.KindTablePeek, "", 6, 6)
		h.End(read, models.Ok, last, 7, 7)
		h.End(second, models.Ok, nil, 8, 8)
		return models.ComputeTable(h).Judge()
	}
	require.Equal(t, models.VerdictPass, record(state(map[int]int64{0: 7, 1: 6})).Verdict)
	stale := record(state(map[int]int64{0: 5, 1: 6}))
	require.Equal(t, models.VerdictFail, stale.Verdict, "what one peek has seen a later one sees")
	require.Equal(t, models.OracleComputeLinearizable, stale.Oracle)
	require.Equal(t, models.VerdictFail, record(state(map[int]int64{0: 7})).Verdict, "a write is seen as a whole")
}

func ExampleCompute() {
	r := newComputeRun()
	r.PeekBegun(1, "q", 1, "", 5, r.now())
	r.PeekRows("q", nil, nil, r.now())
	for _, o := range r.Oracles() {
		if j := o.Judge(); j.Verdict == models.VerdictFail {
			fmt.Println(j.Oracle, j.Violations[0].Message)
		}
	}
	// Output:
	// compute/peek-correct peek q of c1 at 5 gives [], and not [(1):+1 (2):+1]
}
