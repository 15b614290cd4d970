package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// diarist is two machines that work in steps and note each; what they are told to do last before they
// die must not be noted.
func diarist() *Scenario {
	return &Scenario{Name: "diarist", Oracles: []string{"diarist/steps"}, Build: func(r *Run) {
		r.Moment("diarist.step")
		check := r.Check("diarist/steps")
		steps := 0
		for _, name := range []string{"left", "right"} {
			r.AddNode(name, "writer", func(h host.Host) {
				defer h.Note("diarist.buried", "") // when it is killed: of no effect
				for i := range 1000 {
					h.Sometimes("diarist: ten steps", i == 10)
					if i == 20 {
						h.Reachable("diarist: twenty steps")
					}
					h.Note("diarist.step/"+h.Name(), "")
					steps++
					check.Holds(true, "")
					h.Clock().Sleep(10 * time.Millisecond)
				}
			})
		}
		r.Count(func() (int, int) { return steps, steps })
	}}
}

// strikes are the injector's entries in the trace of a run.
func strikes(t *testing.T, opt Options) (Result, []string) {
	t.Helper()
	var lines []string
	opt.Record = true
	opt.Inspect = func(r *Run) {
		for _, e := range r.World.Trace() {
			if e.Kind == sim.EventFault && !strings.HasPrefix(e.Text, "phase ") {
				lines = append(lines, time.Duration(e.At).String()+" "+e.Text)
			}
		}
	}
	return diarist().Execute(context.Background(), opt), lines
}

func TestFaultsWaitForWhatProcessesNote(t *testing.T) {
	plan := &faults.Plan{Faults: []faults.Fault{
		{ID: "note", Kind: "node.pause", Target: []string{faults.There}, When: &faults.When{Note: "diarist.step/right", Nth: 3}, For: faults.Time(time.Millisecond)},
		{ID: "sometimes", Kind: "node.pause", Target: []string{"role/writer"}, When: &faults.When{Note: "diarist: ten steps"}, For: faults.Time(time.Millisecond)},
		{ID: "reachable", Kind: "node.crash", Target: []string{faults.There}, When: &faults.When{Note: "diarist: twenty steps", After: faults.Time(2 * time.Millisecond)}, For: faults.Time(time.Millisecond)},
		{ID: "dead", Kind: "node.crash", Target: []string{"left"}, When: &faults.When{Note: "diarist.buried"}, For: faults.Time(time.Second)},
	}}
	opt := Options{Seed: 3, Plan: plan, Settings: map[string]string{"duration": "400ms"}}
	result, lines := strikes(t, opt)
	require.Equal(t, Pass, result.Verdict, result.Failures)
	require.Equal(t, map[string]int{"node.pause": 2, "node.crash": 1}, result.Faults)
	require.Equal(t, []string{"note", "sometimes", "reachable"}, begun(lines), lines)
	again, _ := strikes(t, opt)
	require.Equal(t, result.TraceHash, again.TraceHash)

	// Without one, the others strike where and when they did.
	fewer := opt
	fewer.Plan = &faults.Plan{Faults: plan.Faults[1:]}
	_, rest := strikes(t, fewer)
	require.Equal(t, slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, " note") }), rest)
}

func begun(lines []string) []string {
	var ids []string
	for _, line := range lines {
		if words := strings.Fields(line); words[1] == "begin" {
			ids = append(ids, words[2])
		}
	}
	return ids
}

// A scenario's own moments are aimed at, and a plan with such faults is the same run when it is read
// from a file.
func TestMomentsOfAScenario(t *testing.T) {
	s := diarist()
	aimed := 0
	for seed := range uint64(20) {
		opt := Options{Seed: seed, Profile: "chaos", Settings: map[string]string{"duration": "3s"}}
		plan, err := s.FaultPlan(opt)
		require.NoError(t, err)
		if !slices.ContainsFunc(plan.Faults, func(f faults.Fault) bool { return f.When != nil }) {
			continue
		}
		aimed++
		drawn := s.Execute(context.Background(), opt)
		opt.Plan, err = faults.ParsePlan(plan.YAML())
		require.NoError(t, err)
		require.Equal(t, drawn.TraceHash, s.Execute(context.Background(), opt).TraceHash)
	}
	require.Greater(t, aimed, 5)
}

// The moments of the catalogue are noted somewhere in the systems, and belong to kinds of faults that
// there are.
func TestMomentsAreNoted(t *testing.T) {
	var source strings.Builder
	require.NoError(t, filepath.WalkDir("../system", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	}))
	var kinds []string
	for _, k := range faults.Kinds() {
		kinds = append(kinds, k.Name)
	}
	for _, m := range faults.Moments() {
		require.Contains(t, kinds, m.Kind, m.Note)
		require.NotEmpty(t, m.Doc)
		if strings.Contains(m.Note, ": ") {
			require.Contains(t, host.Declared(), m.Note)
		} else {
			require.True(t, strings.Contains(source.String(), `.Note("`+m.Note+`/"+`) || strings.Contains(source.String(), `.Note("`+m.Note+`", `), m.Note)
		}
	}
}
