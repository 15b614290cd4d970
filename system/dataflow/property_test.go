package dataflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
	"github.com/simrun-dev/simrun/system/persist"
)

const lastTime = 6

// TestIncrementalEqualsNaive: whatever the plan, the updates, how they are split into batches
// with frontiers, the budgets and the moments of compaction, the output at every time is what
// the plan means.
func TestIncrementalEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalog := dataflowtest.Catalog(t)
		run := newRun(t, dataflowtest.Plan(t, catalog, 4), catalog)
		for !run.flow.Frontier().IsEmpty() {
			run.act(t)
			run.check(t)
		}
		run.checkAll(t)
	})
}

// run is a dataflow being driven, and all that it was given.
type run struct {
	plan        dataflow.Plan
	flow        *dataflow.Dataflow
	schema      dataflow.Schema
	arrangement *dataflow.Arrangement
	inputs      naive.Inputs
	todo        map[dataflow.SourceID][]dataflow.Update
	frontiers   map[dataflow.SourceID]uint64 // lastTime + 1 stands for the empty one
	now         int64
	reached     persist.Frontier // by all sources
	nows        []int64          // by time
	emitted     []dataflow.Update
	failed      []dataflow.ErrorUpdate
	until       uint64
}

func newRun(t *rapid.T, plan dataflow.Plan, catalog dataflow.Catalog) *run {
	asOf := rapid.Uint64Range(0, 3).Draw(t, "as of")
	r := &run{
		plan: plan,
		inputs: naive.Inputs{
			Catalog: catalog, AsOf: asOf,
			Updates: map[dataflow.SourceID][]dataflow.Update{},
			Errors:  map[dataflow.SourceID][]dataflow.ErrorUpdate{},
		},
		todo:      map[dataflow.SourceID][]dataflow.Update{},
		frontiers: map[dataflow.SourceID]uint64{},
		now:       -1 << 63,
		nows:      make([]int64, lastTime+1),
		until:     lastTime + 1,
	}
	r.inputs.Now = func(time uint64) int64 { return r.nows[time] }
	config := dataflow.Config{Sources: catalog, AsOf: asOf}
	if rapid.IntRange(0, 3).Draw(t, "has until") == 0 {
		r.until = rapid.Uint64Range(asOf, lastTime).Draw(t, "until")
		until := persist.At(r.until)
		config.Until = &until
	}
	var err error
	r.flow, err = dataflow.New(plan, config)
	require.NoError(t, err, "%v", plan)
	r.schema = r.flow.Schema()
	require.ElementsMatch(t, plan.Sources(), r.flow.Sources())
	for _, id := range r.flow.Sources() {
		r.todo[id] = dataflowtest.Updates(t, catalog[id], 12, 0, lastTime+1)
		r.inputs.Updates[id] = r.todo[id]
		r.frontiers[id] = 0
	}
	key := []int{}
	if n := len(r.schema.Columns); n > 0 {
		key = append(key, rapid.IntRange(0, n-1).Draw(t, "arranged by"))
	}
	r.arrangement, err = dataflow.NewArrangement(r.schema, key, asOf)
	require.NoError(t, err)
	r.noteCompleted()
	return r
}

// act does one thing, and so at last all.
func (r *run) act(t *rapid.T) {
	sources := r.flow.Sources()
	if len(sources) > 0 {
		id := rapid.SampledFrom(sources).Draw(t, "source")
		switch rapid.IntRange(0, 3).Draw(t, "act") {
		case 0:
			r.push(t, id)
		case 1, 2:
			if f := r.frontiers[id]; f <= lastTime {
				r.push(t, id)
				r.advance(t, id, rapid.Uint64Range(f, lastTime+1).Draw(t, "to"))
			}
		case 3:
			r.now = max(r.now, rapid.Int64Range(-10, 40).Draw(t, "now"))
			r.flow.SetNow(r.now)
		}
	}
	for rapid.IntRange(0, 3).Draw(t, "step") > 0 && r.flow.Step(rapid.IntRange(1, 20).Draw(t, "budget")) {
	}
	if rapid.Bool().Draw(t, "take") {
		r.take(t)
	}
}

// push sends a random part of what is left to send.
func (r *run) push(t *rapid.T, id dataflow.SourceID) {
	batch, rest := []dataflow.Update{}, []dataflow.Update{}
	for _, u := range r.todo[id] {
		if rapid.Bool().Draw(t, "now") {
			batch = append(batch, u)
		} else {
			rest = append(rest, u)
		}
	}
	r.todo[id] = rest
	require.NoError(t, r.flow.Push(id, batch))
}

// advance sends what has to come before it.
func (r *run) advance(t *rapid.T, id dataflow.SourceID, to uint64) {
	rest := []dataflow.Update{}
	for _, u := range r.todo[id] {
		if u.Time < to {
			require.NoError(t, r.flow.Push(id, []dataflow.Update{u}))
		} else {
			rest = append(rest, u)
		}
	}
	r.todo[id], r.frontiers[id] = rest, to
	frontier := persist.At(to)
	if to > lastTime {
		frontier = persist.Empty()
	}
	require.NoError(t, r.flow.Advance(id, frontier))
	r.noteCompleted()
}

// noteCompleted remembers the time of day at which times were completed.
func (r *run) noteCompleted() {
	all := uint64(lastTime + 1)
	for _, id := range r.flow.Sources() {
		all = min(all, r.frontiers[id])
	}
	if all >= r.until {
		all = lastTime + 1
	}
	from, ok := r.reached.Time()
	for time := from; ok && time < all; time++ {
		r.nows[time] = r.now
		r.reached = persist.At(time + 1)
	}
}

func (r *run) take(t *rapid.T) {
	out := r.flow.Take()
	require.Equal(t, r.arrangement.Upper(), out.Lower)
	require.Equal(t, r.flow.Frontier(), out.Upper)
	for i, u := range out.Updates {
		require.NoError(t, r.schema.Check(u.Row), "%v", r.plan)
		require.True(t, out.Lower.LessEqual(u.Time) && !out.Upper.LessEqual(u.Time), "%v in [%v, %v)", u, out.Lower, out.Upper)
		require.Less(t, u.Time, r.until)
		require.NotZero(t, u.Diff)
		if i > 0 {
			before := out.Updates[i-1]
			require.True(t, before.Time < u.Time || before.Time == u.Time && before.Row < u.Row, "%v %v", before, u)
		}
	}
	r.emitted = append(r.emitted, out.Updates...)
	r.failed = append(r.failed, out.Errors...)
	require.NoError(t, r.arrangement.Apply(out))
	if rapid.IntRange(0, 2).Draw(t, "compact") == 0 {
		r.arrangement.AllowCompaction(persist.At(rapid.Uint64Range(0, lastTime).Draw(t, "since")))
	}
}

// check compares the newest readable time.
func (r *run) check(t *rapid.T) {
	upper, ok := r.arrangement.Upper().Time()
	if ok && upper > r.inputs.AsOf {
		r.checkAt(t, upper-1)
	}
}

func (r *run) checkAt(t *rapid.T, at uint64) {
	want, err := naive.Evaluate(r.plan, r.inputs, at)
	require.NoError(t, err)
	require.Equal(t, want.String(), naive.Accumulate(r.emitted, r.failed, at).String(), "as of %d\n%v", at, r.plan)

	rows, errs, err := r.arrangement.Snapshot(at)
	if !r.arrangement.Since().LessEqual(at) {
		require.ErrorIs(t, err, dataflow.ErrCompacted)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want.String(), naive.Collection{Rows: rows, Errors: errs}.String())
	if len(rows) > 0 {
		r.checkLookup(t, rows, at)
	}
}

// checkLookup looks up the key of a row.
func (r *run) checkLookup(t *rapid.T, rows []dataflow.RowCount, at uint64) {
	wanted := rapid.SampledFrom(rows).Draw(t, "look up").Row
	for c := range r.schema.Columns {
		arranged, err := dataflow.NewArrangement(r.schema, []int{c}, at)
		require.NoError(t, err)
		all, err := r.arrangement.From(at)
		require.NoError(t, err)
		all.Lower = arranged.Upper()
		require.NoError(t, arranged.Apply(all))
		data, err := wanted.Unpack()
		require.NoError(t, err)
		var want []dataflow.RowCount
		for _, row := range rows {
			if other, _ := row.Row.Unpack(); other[c] == data[c] {
				want = append(want, row)
			}
		}
		got, _, err := arranged.Lookup(dataflow.Pack(data[c]), at)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// checkAll compares all times, once all is done.
func (r *run) checkAll(t *rapid.T) {
	r.take(t)
	require.False(t, r.flow.Pending())
	for at := r.inputs.AsOf; at <= lastTime && at < r.until; at++ {
		r.checkAt(t, at)
	}
}
