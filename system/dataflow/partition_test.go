package dataflow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
	"github.com/simrun-dev/simrun/system/persist"
)

// crew is workers that run the stages of a plan, with what is on its way between them.
type crew struct {
	stages []dataflow.Stage
	flows  [][]*dataflow.Dataflow // by worker and stage
	inputs map[string]*dataflow.Gather
	ways   map[string][]func() // messages, in order on each way from one worker to another
	names  []string            // of ways, in the order in which they were first used
	out    []dataflow.Output
}

func newCrew(t require.TestingT, plan dataflow.Plan, catalog dataflow.Catalog, workers int, asOf uint64) *crew {
	stages, err := dataflow.Partition(plan, catalog)
	require.NoError(t, err, "%v", plan)
	c := &crew{stages: stages, inputs: map[string]*dataflow.Gather{}, ways: map[string][]func(){}}
	for w := range workers {
		var flows []*dataflow.Dataflow
		for i, s := range stages {
			run := s.Plan
			if w > 0 {
				run = s.Follower()
			}
			flow, err := dataflow.New(run, dataflow.Config{Sources: s.Catalog(), AsOf: asOf})
			require.NoError(t, err, "%v", run)
			flows = append(flows, flow)
			for n, in := range s.Inputs {
				producers := workers
				if in.Source != "" {
					producers = 1
				}
				c.inputs[fmt.Sprint(w, i, n)] = dataflow.NewGather(producers, persist.Frontier{})
			}
		}
		c.flows = append(c.flows, flows)
	}
	return c
}

// send puts an output of a source or stage on its ways.
func (c *crew) send(t require.TestingT, from int, reads func(dataflow.StageInput) bool, out dataflow.Output) {
	for i, s := range c.stages {
		for n, in := range s.Inputs {
			if !reads(in) {
				continue
			}
			for w, part := range in.Router(len(c.flows)).Split(out) {
				way := fmt.Sprint(from, w)
				if c.ways[way] == nil {
					c.names = append(c.names, way)
				}
				c.ways[way] = append(c.ways[way], func() {
					complete, ok := c.inputs[fmt.Sprint(w, i, n)].Add(max(from, 0), part)
					if !ok {
						return
					}
					flow := c.flows[w][i]
					require.NoError(t, flow.Push(in.Name, complete.Updates))
					require.NoError(t, flow.PushErrors(in.Name, complete.Errors))
					require.NoError(t, flow.Advance(in.Name, complete.Upper))
				})
			}
		}
	}
}

// work delivers a message of a random way, or lets a random worker work. It tells whether there is more.
func (c *crew) work(t *rapid.T) bool {
	var busy []string
	for _, way := range c.names {
		if len(c.ways[way]) > 0 {
			busy = append(busy, way)
		}
	}
	if len(busy) > 0 && rapid.Bool().Draw(t, "deliver") {
		way := rapid.SampledFrom(busy).Draw(t, "way")
		c.ways[way][0]()
		c.ways[way] = c.ways[way][1:]
		return true
	}
	more := len(busy) > 0
	first := rapid.IntRange(0, len(c.flows)-1).Draw(t, "worker")
	for n := range c.flows {
		w := (first + n) % len(c.flows)
		for i, flow := range c.flows[w] {
			flow.Step(rapid.IntRange(1, 30).Draw(t, "budget"))
			more = more || flow.Pending()
			out := flow.Take()
			if out.Lower == out.Upper {
				continue
			}
			more = true
			if i == len(c.stages)-1 {
				c.out = append(c.out, out)
			} else {
				c.send(t, w, func(in dataflow.StageInput) bool { return in.Source == "" && in.Stage == i }, out)
			}
		}
	}
	return more
}

// What the workers put out adds up to what the plan says, whatever overtakes what.
func TestWorkersEqualNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalog := dataflowtest.Catalog(t)
		plan := dataflowtest.Plan(t, catalog, 4)
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		asOf := rapid.Uint64Range(0, 2).Draw(t, "as of")
		c := newCrew(t, plan, catalog, workers, asOf)
		inputs := naive.Inputs{
			Catalog: catalog, AsOf: asOf, Updates: map[dataflow.SourceID][]dataflow.Update{},
			Now: func(uint64) int64 { return -1 << 63 },
		}
		for _, id := range plan.Sources() {
			updates := dataflowtest.Updates(t, catalog[id], 12, 0, lastTime+1)
			inputs.Updates[id] = updates
			for time := range uint64(lastTime + 1) {
				out := dataflow.Output{Lower: persist.At(time), Upper: persist.At(time + 1)}
				if time == lastTime {
					out.Upper = persist.Empty()
				}
				for _, u := range updates {
					if u.Time == time {
						out.Updates = append(out.Updates, u)
					}
				}
				c.send(t, -1, func(in dataflow.StageInput) bool { return in.Source == id }, out)
				for rapid.Bool().Draw(t, "work") {
					c.work(t)
				}
			}
		}
		for c.work(t) {
		}
		var rows []dataflow.Update
		var failures []dataflow.ErrorUpdate
		for w := range workers {
			require.Equal(t, persist.Empty(), c.flows[w][len(c.stages)-1].Frontier())
		}
		for _, out := range c.out {
			rows, failures = append(rows, out.Updates...), append(failures, out.Errors...)
		}
		for at := asOf; at <= lastTime; at++ {
			want, err := naive.Evaluate(plan, inputs, at)
			require.NoError(t, err)
			require.Equal(t, want.String(), naive.Accumulate(rows, failures, at).String(), "as of %d\n%v", at, plan)
		}
	})
}

// A group is on one worker, and different groups are on different ones.
func TestRouter(t *testing.T) {
	catalog := dataflow.Catalog{"t": dataflow.NewSchema(
		dataflow.Column{Name: "k", Type: dataflow.Type(dataflow.KindInt64)},
		dataflow.Column{Name: "v", Type: dataflow.Type(dataflow.KindInt64)},
	)}
	plan := dataflow.Get("t").Filter(dataflow.Gt(dataflow.Col(1), dataflow.Lit(dataflow.Int(0)))).
		Reduce([]dataflow.Expr{dataflow.Mod(dataflow.Col(0), dataflow.Lit(dataflow.Int(10)))}, dataflow.CountAll())
	stages, err := dataflow.Partition(plan, catalog)
	require.NoError(t, err)
	require.Len(t, stages, 2, "what filters needs not know of groups")
	require.Equal(t, dataflow.SourceID("t"), stages[0].Inputs[0].Source)
	require.Equal(t, dataflow.SourceID(""), stages[1].Inputs[0].Source)
	router := stages[1].Inputs[0].Router(2)
	used := map[int]bool{}
	for k := range int64(10) {
		w := router.Worker(dataflow.Pack(dataflow.Int(k), dataflow.Int(1)))
		used[w] = true
		require.Equal(t, w, router.Worker(dataflow.Pack(dataflow.Int(k+10), dataflow.Int(2))))
	}
	require.Len(t, used, 2)
	_, err = dataflow.Partition(dataflow.Get("nothing"), catalog)
	require.ErrorAs(t, err, new(*dataflow.PlanError))
}

// Errors of rows that come and go are gone.
func TestWorkersRetractErrors(t *testing.T) {
	catalog := dataflow.Catalog{"t": dataflow.NewSchema(dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)})}
	plan := dataflow.Get("t").Reduce([]dataflow.Expr{dataflow.Div(dataflow.Lit(dataflow.Int(1)), dataflow.Col(0))}, dataflow.CountAll())
	rapid.Check(t, func(t *rapid.T) {
		c := newCrew(t, plan, catalog, 2, 0)
		zero := dataflow.Pack(dataflow.Int(0))
		for time, diff := range []int64{1, -1} {
			out := dataflow.Output{Lower: persist.At(uint64(time)), Upper: persist.At(uint64(time + 1))}
			out.Updates = []dataflow.Update{{Row: zero, Time: uint64(time), Diff: diff}}
			c.send(t, -1, func(in dataflow.StageInput) bool { return in.Source != "" }, out)
		}
		for c.work(t) {
		}
		var failures []dataflow.ErrorUpdate
		for _, out := range c.out {
			failures = append(failures, out.Errors...)
		}
		require.Len(t, naive.Accumulate(nil, failures, 0).Errors, 1)
		require.Empty(t, naive.Accumulate(nil, failures, 1).Errors)
	})
}

func BenchmarkPartition(b *testing.B) {
	catalog := dataflow.Catalog{"t": dataflow.NewSchema(dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)})}
	plan := dataflow.Get("t").Join(dataflow.Get("t"), dataflow.On{}).Reduce([]dataflow.Expr{dataflow.Col(0)}, dataflow.CountAll())
	for b.Loop() {
		if _, err := dataflow.Partition(plan, catalog); err != nil {
			b.Fatal(err)
		}
	}
}
