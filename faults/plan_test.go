package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var testTopology = &Topology{
	Machines: []Machine{
		{Name: "a", Role: "client"}, {Name: "b", Role: "client"}, {Name: "c", Role: "server"},
		{Name: "d", Role: "server", Disk: true}, {Name: "e", Role: "server", Disk: true},
	},
	Subjects: map[string][]string{"persist.upper_mismatch": {"s1", "s2"}, "persist.indeterminate": {"a", "b"}},
}

var testHandled = []string{"persist.indeterminate", "persist.upper_mismatch"}

func profile(t require.TestingT, name string) Profile {
	p, err := FindProfile(name)
	require.NoError(t, err)
	return p
}

func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t, rapid.SampledFrom(Profiles()).Draw(t, "profile"))
		plan := Generate(rapid.Uint64().Draw(t, "seed"), p, testTopology, 20*time.Second, testHandled)
		again, err := ParsePlan(plan.YAML())
		require.NoError(t, err, "%s", plan.YAML())
		require.Equal(t, plan.YAML(), again.YAML())
		require.NoError(t, again.Check(testTopology, func(kind string) bool { return slices.Contains(testHandled, kind) }))
		for _, f := range plan.Faults {
			require.Less(t, time.Duration(f.From), 20*time.Second)
		}
		require.True(t, p.Name == "calm" == (len(plan.Faults) == 0))
	})
}

// A swarm: over many seeds each kind is on in some plans and off in others, and what one kind does
// does not depend on which others are on.
func TestGenerateIsASwarm(t *testing.T) {
	p := profile(t, "default")
	seen := map[string]int{}
	for seed := range uint64(400) {
		plan := Generate(seed, p, testTopology, 20*time.Second, testHandled)
		kinds := map[string]bool{}
		for _, f := range plan.Faults {
			kinds[f.Kind] = true
		}
		for k := range kinds {
			seen[k]++
		}
		none := Generate(seed, p, testTopology, 20*time.Second, nil)
		rest := slices.DeleteFunc(slices.Clone(plan.Faults), func(f Fault) bool { return slices.Contains(testHandled, f.Kind) })
		if len(rest) > 0 {
			require.Equal(t, rest, none.Faults)
		}
	}
	for _, k := range Kinds() {
		switch {
		case k.Unbounded:
			require.Zero(t, seen[k.Name], k.Name)
		case k.Subjects:
			require.InDelta(t, 300, seen[k.Name], 60, k.Name)
		default:
			require.InDelta(t, 200, seen[k.Name], 60, k.Name)
		}
	}
	only := Generate(1, Profile{On: 100, Every: p.Every, For: p.For, Only: []string{"disk.corrupt"}}, testTopology, 20*time.Second, nil)
	require.NotEmpty(t, only.Faults, "a profile that names an unbounded kind gets it")
}

func TestPlanErrors(t *testing.T) {
	for _, test := range []struct {
		plan string
		want string
	}{
		{"faults: [", "fault plan, line 1 column 9: sequence end token ']' not found"},
		{"fautls: []", `fault plan, line 1 column 1: unknown field "fautls"`},
		{"faults:\n  - kind: net.prtition\n    from: 1s\n", `fault plan, line 2 column 11: there is no fault kind "net.prtition"; see simrun list --faults`},
		{"faults:\n  - kind: node.crash\n    target: [a]\n    from: 1s\n    to: 500ms\n", "fault plan, line 5 column 9: node.crash needs a to after its from"},
		{"faults:\n  - kind: node.crash\n    target: [a, b]\n    from: 1s\n    to: 5s\n", "fault plan, line 3 column 13: node.crash acts on one machine: target: [name]"},
		{"faults:\n  - kind: net.loss\n    target: [a]\n    from: 1s\n    to: 2s\n    params: {loss: 7}\n", `fault plan, line 6 column 20: loss: "7" is not a percentage: write it like 2.5%`},
		{"faults:\n  - kind: net.loss\n    target: [a]\n    from: 1s\n    to: 2s\n    params: {lose: 7%}\n", `fault plan, line 6 column 20: net.loss has no parameter "lose"; it has loss`},
		{"faults:\n  - kind: net.reset\n    target: [a, b]\n    from: 1s\n    to: 2s\n", "fault plan, line 5 column 9: net.reset is over as it begins and has no to"},
		{"faults:\n  - kind: node.pause\n    target: [a]\n    from: soon\n    to: 2s\n", `"soon" is not a time: write it like 1.5s`},
		{"faults:\n  - {id: x, kind: net.reset, target: [a, b], from: 1s}\n  - {id: x, kind: net.reset, target: [a, b], from: 1s}\n", `fault plan, line 3 column 10: there are two faults "x"`},
	} {
		_, err := ParsePlan([]byte(test.plan))
		var e *PlanError
		require.ErrorAs(t, err, &e, test.plan)
		require.Contains(t, err.Error(), test.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestCheckAgainstATopology(t *testing.T) {
	plan, err := ParsePlan([]byte("faults:\n  - {kind: node.crash, target: [z], from: 1s, to: 2s}\n"))
	require.NoError(t, err)
	require.EqualError(t, plan.Check(testTopology, nil), `fault plan: node.crash/1: there is no target "z"; there are a, b, c, d, e`)
	plan, err = ParsePlan([]byte("faults:\n  - {kind: persist.upper_mismatch, target: [s1], from: 1s}\n"))
	require.NoError(t, err)
	require.NoError(t, plan.Check(testTopology, func(string) bool { return true }))
	require.EqualError(t, plan.Check(testTopology, func(string) bool { return false }), "fault plan: persist.upper_mismatch/1: this scenario has nothing that persist.upper_mismatch could act on")
}

func TestPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1_000_000).Draw(t, "parts per million")
		back, err := parsePercent(percent(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
	})
	for _, bad := range []string{"", "5", "%", "-1%", "100.1%", "1.23456%", "a%"} {
		_, err := parsePercent(bad)
		require.Error(t, err, bad)
	}
}

// Every kind is documented, and its defaults are values that it takes.
func TestCatalogue(t *testing.T) {
	for _, k := range Kinds() {
		require.NotEmpty(t, k.Doc, k.Name)
		require.NotEmpty(t, k.Cause, k.Name)
		for _, p := range k.Params {
			require.NoError(t, p.check(p.Default), "%s %s", k.Name, p.Name)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	p := profile(b, "chaos")
	for i := range b.N {
		Generate(uint64(i), p, testTopology, 20*time.Second, testHandled)
	}
}

func ExampleParsePlan() {
	plan, err := ParsePlan([]byte(`
faults:
  - kind: node.crash
    target: [consensus]
    from: 2s
    to: 3.5s
    params: {power: on}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(plan.YAML()))
	// Output:
	// faults:
	//   - id: node.crash/1
	//     kind: node.crash
	//     target: [consensus]
	//     from: 2s
	//     to: 3.5s
	//     params: {power: "on"}
}
