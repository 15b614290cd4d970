package shrink_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/internal/shrink"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/system/host"
)

// frail fails when machine two has crashed twice and machine one was paused before, if there is room
// for at least two; when machine three has crashed, it fails in another way, before or after.
func frail() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "frail", Profile: "chaos",
		Settings: []scenarios.Setting{
			{Name: "room", Default: "9", Doc: "how many"},
			{Name: "pace", Default: "20ms", Doc: "how fast"},
		},
		Oracles: []string{"frail/two", "frail/three"},
		Build: func(r *scenarios.Run) {
			two, three := r.Check("frail/two"), r.Check("frail/three")
			two.Holds(true, "")
			three.Holds(true, "")
			for _, name := range []string{"one", "two", "three"} {
				r.AddNode(name, "node", func(host.Host) {})
			}
			r.Count(func() (int, int) { return 1, 1 })
			crashes, paused := 0, false
			r.World.Node("two").OnCrash(func() {
				if crashes++; crashes >= 2 && paused && r.Int("room") >= 2 {
					two.Holds(false, "crashed %d times", crashes)
				}
			})
			r.World.Node("three").OnCrash(func() { three.Holds(false, "crashed") })
			r.World.Go("watch", func() {
				for r.Working() {
					paused = paused || r.World.Node("one").Paused()
					r.World.Sleep(r.Duration("pace"))
				}
			})
		},
	}
}

// failing is a run that fails by an oracle first.
func failing(t testing.TB, oracle string) scenarios.Options {
	for seed := range uint64(200) {
		opt := scenarios.Options{Seed: seed}
		r := frail().Execute(context.Background(), opt)
		if r.Verdict == scenarios.Fail && r.Failures[0].Oracle == oracle {
			return opt
		}
	}
	require.FailNow(t, "no seed fails", oracle)
	return scenarios.Options{}
}

func kindsOf(p *faults.Plan) []string {
	var kinds []string
	for _, f := range p.Faults {
		kinds = append(kinds, fmt.Sprint(f.Kind, f.Target, f.Params))
	}
	slices.Sort(kinds)
	return kinds
}

func TestSearch(t *testing.T) {
	opt := failing(t, "frail/two")
	calls := 0
	search := &shrink.Search{Scenario: frail(), Options: opt, OnProgress: func(shrink.Found) { calls++ }}
	found, err := search.Run(context.Background())
	require.NoError(t, err)
	require.True(t, found.Complete)
	require.Positive(t, calls)
	require.Greater(t, len(found.Plan.Faults), 10)
	require.Equal(t, []string{"node.crash[two] map[]", "node.crash[two] map[]", "node.pause[one] map[]"}, kindsOf(found.Options.Plan))
	require.Equal(t, "2", found.Options.Settings["room"])
	require.NotContains(t, found.Options.Settings, "pace")
	require.NotContains(t, found.Options.Settings, "settle")
	require.Equal(t, "fifo", found.Options.Strategy)
	require.Equal(t, "calm", found.Options.Profile)

	again := rerun.Once(context.Background(), frail(), found.Options)
	require.Equal(t, scenarios.Fail, again.Verdict)
	field, _, _ := rerun.DifferingField(found.Result, again)
	require.Empty(t, field)

	// The number of workers changes nothing.
	search.Workers = 3
	parallel, err := search.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, found.Options.Plan.Inline(), parallel.Options.Plan.Inline())
	require.Equal(t, found.Options.Settings, parallel.Options.Settings)
}

// Each failure is shrunk as itself, though the scenario has another that takes less.
func TestSearchKeepsAnotherOracleOut(t *testing.T) {
	opt := failing(t, "frail/three")
	found, err := (&shrink.Search{Scenario: frail(), Options: opt}).Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"node.crash[three] map[]"}, kindsOf(found.Options.Plan))
	require.Equal(t, "0", found.Options.Settings["room"])
	require.Equal(t, "frail/three", found.Result.Failures[0].Oracle)
}

func TestSearchOfWhatPasses(t *testing.T) {
	_, err := (&shrink.Search{Scenario: frail(), Options: scenarios.Options{Profile: "calm"}}).Run(context.Background())
	var passes *shrink.NotFailingError
	require.ErrorAs(t, err, &passes)
	require.Equal(t, scenarios.Pass, passes.Result.Verdict)
	require.EqualError(t, err, "frail seed 0 does not fail: its verdict is pass")

	_, err = (&shrink.Search{Scenario: frail(), Options: scenarios.Options{Settings: map[string]string{"rom": "1"}}}).Run(context.Background())
	var wrong *scenarios.SettingError
	require.ErrorAs(t, err, &wrong)
}

func TestSearchOutOfTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := (&shrink.Search{Scenario: frail(), Options: failing(t, "frail/two")}).Run(ctx)
	require.ErrorIs(t, err, shrink.ErrNoTime)

	// Time is up in the middle: what was found until then fails all the same.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	search := &shrink.Search{Scenario: frail(), Options: failing(t, "frail/two"), OnProgress: func(f shrink.Found) {
		if f.Runs >= 8 {
			cancel()
		}
	}}
	found, err := search.Run(ctx)
	require.NoError(t, err)
	require.False(t, found.Complete)
	require.Equal(t, scenarios.Fail, rerun.Once(context.Background(), frail(), found.Options).Verdict)
}

func BenchmarkSearch(b *testing.B) {
	opt := failing(b, "frail/two")
	runs := 0
	for b.Loop() {
		found, err := (&shrink.Search{Scenario: frail(), Options: opt}).Run(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		runs += found.Runs
	}
	b.ReportMetric(float64(runs)/float64(max(b.N, 1)), "runs/op")
}

// ExampleSearch shrinks a run that fails whenever the last of the machines crashes.
func ExampleSearch() {
	s := &scenarios.Scenario{
		Name: "trio", Profile: "chaos",
		Build: func(r *scenarios.Run) {
			for _, name := range []string{"a", "b", "c"} {
				r.AddNode(name, "node", func(host.Host) {})
			}
			r.Count(func() (int, int) { return 1, 1 })
			r.World.Node("c").OnCrash(func() { r.World.Fail("trio/whole", "c is gone") })
		},
	}
	for seed := range uint64(math.MaxUint64) {
		opt := scenarios.Options{Seed: seed}
		if s.Execute(context.Background(), opt).Verdict != scenarios.Fail {
			continue
		}
		found, err := (&shrink.Search{Scenario: s, Options: opt}).Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range found.Options.Plan.Faults {
			lasts := time.Duration(f.To - f.From)
			fmt.Println(f.Kind, f.Target, lasts < 5*time.Millisecond)
		}
		break
	}
	// Output:
	// node.crash [c] true
}

// A fault that waits for its moment is kept, and made simpler, where only the moment makes it fail.
func TestSearchOfAnAimedFault(t *testing.T) {
	s := &scenarios.Scenario{
		Name: "steps", Oracles: []string{"steps/whole"},
		Build: func(r *scenarios.Run) {
			whole := r.Check("steps/whole")
			whole.Holds(true, "")
			r.Count(func() (int, int) { return 1, 1 })
			halfway := false
			node := r.AddNode("worker", "node", func(h host.Host) {
				for {
					h.Clock().Sleep(100 * time.Millisecond)
					halfway = true
					h.Note("steps.half", "done")
					h.Clock().Sleep(time.Millisecond)
					halfway = false
				}
			})
			r.AddNode("other", "node", func(host.Host) {})
			node.OnCrash(func() { whole.Holds(!halfway, "half done") })
		},
	}
	plan, err := faults.ParsePlan([]byte(`
profile: default
faults:
  - {id: noise, kind: node.crash, target: [other], from: 1s, to: 2s}
  - {id: aimed, kind: node.crash, target: [there], when: {note: steps.half, nth: 7, after: 300us}, for: 2s, params: {power: on}}
  - {id: vain, kind: node.crash, target: [worker], from: 1050ms, to: 2s}
`))
	require.NoError(t, err)
	found, err := (&shrink.Search{Scenario: s, Options: scenarios.Options{Seed: 1, Plan: plan}}).Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, "{profile: calm, faults: [{id: aimed, kind: node.crash, target: [there], when: {note: steps.half}, for: 1ms}]}",
		found.Options.Plan.Inline())
}
