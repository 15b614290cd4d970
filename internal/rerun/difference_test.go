package rerun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
)

func TestDifferingField(t *testing.T) {
	base := scenarios.Result{TraceHash: "1", Verdict: scenarios.Pass, WallNS: 5, Repro: "here"}
	same := base
	same.WallNS, same.Repro = 6, "there"
	same.Faults, same.Failures, same.Settings = map[string]int{}, []scenarios.Failure{}, map[string]string{}
	field, _, _ := DifferingField(base, same)
	require.Empty(t, field, "real time, the command, and nil or empty do not count")
	require.Empty(t, NotDeterministic(base, same))

	for name, change := range map[string]func(*scenarios.Result){
		"trace_hash": func(r *scenarios.Result) { r.TraceHash = "2" },
		"events":     func(r *scenarios.Result) { r.Events = 2 },
		"verdict":    func(r *scenarios.Result) { r.Verdict = scenarios.Fail },
		"failures":   func(r *scenarios.Result) { r.Failures = []scenarios.Failure{{Message: "m"}} },
		"virtual_ns": func(r *scenarios.Result) { r.VirtualNS = 2 },
		"ops":        func(r *scenarios.Result) { r.Ops = 2 },
		"faults":     func(r *scenarios.Result) { r.Faults = map[string]int{"net.loss": 2} },
		"sometimes":  func(r *scenarios.Result) { r.Sometimes = map[string]int{"s": 2} },
		"settings":   func(r *scenarios.Result) { r.Settings = map[string]string{"a": "b"} },
	} {
		changed := base
		change(&changed)
		field, was, is := DifferingField(base, changed)
		require.Equal(t, name, field)
		require.NotEqual(t, was, is)
		require.Contains(t, NotDeterministic(base, changed), "not deterministic: "+name+" was ")
	}
}
