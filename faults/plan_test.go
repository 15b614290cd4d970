package faults

import (
	"fmt"
	"slices"
	"strings"
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
	Subjects: map[string][]string{},
}

// In init, since the catalogue is made in one.
func init() {
	for _, name := range testHandled() {
		testTopology.Subjects[name] = []string{"s1", "s2", "a", "b"}
	}
}

// testHandled are the kinds that scenarios carry out.
func testHandled() []string {
	var names []string
	for _, k := range Kinds() {
		if k.Subjects {
			names = append(names, k.Name)
		}
	}
	return names
}

func profile(t require.TestingT, name string) Profile {
	p, err := FindProfile(name)
	require.NoError(t, err)
	return p
}

func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t, rapid.SampledFrom(Profiles()).Draw(t, "profile"))
		plan := Generate(rapid.Uint64().Draw(t, "seed"), p, testTopology, 20*time.Second, testHandled())
		again, err := ParsePlan(plan.YAML())
		require.NoError(t, err, "%s", plan.YAML())
		require.Equal(t, plan.YAML(), again.YAML())
		require.NoError(t, again.Check(testTopology, func(kind string) bool { return slices.Contains(testHandled(), kind) }))
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
		plan := Generate(seed, p, testTopology, 20*time.Second, testHandled())
		kinds := map[string]bool{}
		for _, f := range plan.Faults {
			if f.When == nil {
				kinds[f.Kind] = true
			}
		}
		for k := range kinds {
			seen[k]++
		}
		none := Generate(seed, p, testTopology, 20*time.Second, nil)
		rest := slices.DeleteFunc(slices.Clone(plan.Faults), func(f Fault) bool { return f.When != nil || slices.Contains(testHandled(), f.Kind) })
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
		{"", `fault plan, line 1 column 1: the plan is empty; write faults: [] for none`},
		{"# nothing\n", `line 1 column 1: the plan is empty; write faults: [] for none`},
		{"null", `the plan is empty; write faults: [] for none`},
		{"{}", `the plan is empty; write faults: [] for none`},
		{"---\n", `the plan is empty; write faults: [] for none`},
		{"seed: 3\n", `line 1 column 1: the plan has no faults; write faults: [] for none`},
		{"faults:\n", `faults: there must be a list here; write faults: [] for none`},
		{"[]", `line 1 column 1: this is not a plan: it begins with profile, seed or faults`},
		{"soon", `line 1 column 1: this is not a plan`},
		{"faults: []\n---\nfaults: []\n", `line 2 column 1: a second plan begins here: a file has one`},
		{"faults: []\n...\nfaults: []\n", `line 3 column 1: a second plan begins here: a file has one`},
		{"seed: -3\nfaults: []\n", `line 1 column 7: seed: -3 is not a whole number of at least 0`},
		{"seed: 1.5\nfaults: []\n", `line 1 column 7: seed: 1.5 is not a whole number of at least 0`},
		{"seed: 18446744073709551616\nfaults: []\n", `line 1 column 7: seed: 18446744073709551616 is too large`},
		{"seed: [1]\nfaults: []\n", `line 1 column 7: seed: a list is not a whole number of at least 0`},
		{"profile: choas\nfaults: []\n", `line 1 column 10: there is no fault profile "choas"; there are calm, cdc, chaos, compute, default, flow, haul, persist, pipeline`},
		{"faults: [3]\n", `line 1 column 10: this is not a fault: write it like {kind: `},
		{"faults:\n  - kind: node.pause\n    target: [a]\n    to: 2s\n", `line 2 column 5: this fault has no from`},
		{"faults:\n  - target: [a]\n    from: 2s\n", `line 2 column 5: this fault has no kind`},
		{"faults:\n  - kind: node.pause\n    target: a\n", `line 3 column 13: target: there must be a list here; write it like [name]`},
		{"faults:\n  - kind: [a]\n", `line 2 column 11: kind: there must be a word here`},
		{"faults:\n  - kind: net.loss\n    params: 3\n", `line 3 column 13: params: there must be names and values here`},
		{"faults:\n  - kind: net.loss\n    whan: 3\n", `line 3 column 5: unknown field "whan"; a fault has id, kind, target, from, to, when, for, params`},
		{"faults:\n  - {kind: net.oneway, target: [a, a], from: 1s, to: 2s}\n", `line 2 column 32: net.oneway acts on two machines, not twice on a`},
		{"faults:\n  - {kind: net.partition, target: [a, b, a], from: 1s, to: 2s}\n", `target a is there twice`},
		{"faults:\n  - {kind: persist.upper_mismatch, from: 1s}\n", `line 2 column 6: persist.upper_mismatch acts on one target: target: [name]`},
		{"faults:\n  - {kind: net.delay, target: [a, b], from: 1s, to: 2s, params: {mean: -1s}}\n", `line 2 column 72: mean: "-1s" is not a duration above 0`},
		{"faults:\n  - {kind: net.slow, target: [a], from: 1s, to: 2s, params: {extra: 0s}}\n", `extra: "0s" is not a duration above 0`},
		{"faults:\n  - {kind: net.reorder, target: [a], from: 1s, to: 2s, params: {window: much}}\n", `window: "much" is not a duration: write it like 1.5s or 20ms`},
		{"faults:\n  - {kind: clock.jump, target: [a], from: 1s, to: 2s, params: {by: 0s}}\n", `by: "0s" shifts nothing: give a duration above or below 0`},
		{"\xef\xbb\xbffaults: []\n", `line 1 column 1: this is not YAML text: save it as UTF-8 without a byte order mark`},
		{"\xff\xfef\x00a\x00", `line 1 column 1: this is not YAML text`},
		{"faults: []\n\x7fELF\x00", `line 2 column 1: this is not YAML text`},
		{"faults: &all []\n", `line 1 column 9: a plan has no anchors, aliases and tags: write out what they stand for`},
		{"faults: !!seq []\n", `line 1 column 9: a plan has no anchors, aliases and tags`},
		{"{" + strings.Repeat("a: 1,", 50_000) + "}", `line 1 column 80001: the plan has more than 64000 words and signs: more than 1000 faults are too many`},
		{strings.Repeat("#", 256<<10) + "\n", `line 1 column 1: the plan is longer than 256 KiB`},
		{"faults: [" + strings.Repeat("{kind: net.loss},", 1001) + "]", `: the plan has 1001 faults: more than 1000 are too many`},
		{"faults: " + strings.Repeat("[", 100_000), `: the plan is nested more than 32 levels deep`},
		{"faults:\n" + strings.Repeat("- ", 100_000), `line 2 column 65: the plan is nested more than 32 levels deep`},
		{strings.Repeat("a: ", 80_000), `the plan is nested more than 32 levels deep`},
		{strings.Repeat("? ", 100_000), `the plan is nested more than 32 levels deep`},
		{indentedKeys(300), `line 32 column 33: the plan is nested more than 32 levels deep`},
		{"faults:\n  - kind: net.loss\n    target: [a]\n    from: 1s\n    to: 2s\n    params: {loss: 7}\n", `fault plan, line 6 column 20: loss: "7" is not a percentage: write it like 2.5%`},
		{"faults:\n  - kind: net.loss\n    target: [a]\n    from: 1s\n    to: 2s\n    params: {lose: 7%}\n", `fault plan, line 6 column 20: net.loss has no parameter "lose"; it has loss`},
		{"faults:\n  - kind: net.reset\n    target: [a, b]\n    from: 1s\n    to: 2s\n", "fault plan, line 5 column 9: net.reset is over as it begins and has no to"},
		{"faults:\n  - kind: node.pause\n    target: [a]\n    from: soon\n    to: 2s\n", `fault plan, line 4 column 11: from: "soon" is not a time: write it like 1.5s`},
		{"faults:\n  - {kind: node.crash, target: [there], from: 1s, to: 2s}\n", `line 2 column 33: target there goes with when, and stands for the machine that noted: name a machine, or give the fault a when`},
		{"faults:\n  - {kind: node.crash, target: [there], when: 3, for: 1s}\n", `line 2 column 47: when: there must be a moment here; write it like {note: cdc.owner, nth: 2, after: 5ms}`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {nth: 2}, for: 1s}\n", `line 2 column 48: when has no note: write it like {note: cdc.owner, nth: 2, after: 5ms}`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x, nth: 0}, for: 1s}\n", `line 2 column 62: nth: 0 is not a whole number from 1 to 1000000`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x, nth: soon}, for: 1s}\n", `line 2 column 62: nth: "soon" is not a whole number from 1 to 1000000`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x, after: -1s}, for: 1s}\n", `line 2 column 64: after: "-1s" is not a time: write it like 1.5s`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: [x]}, for: 1s}\n", `line 2 column 54: note: there must be a word here`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {not: x}, for: 1s}\n", `line 2 column 48: unknown field "not"; a when has note, nth, after`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x}}\n", `line 2 column 6: node.crash with a when needs a for above 0: how long it lasts`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x}, for: -1s}\n", `line 2 column 63: for: "-1s" is not a time: write it like 1.5s`},
		{"faults:\n  - {kind: node.crash, target: [there], when: {note: x}, to: 1s}\n", `line 2 column 62: a fault with a when has no to: for says how long it lasts`},
		{"faults:\n  - {kind: net.reset, target: [there, a], when: {note: x}, for: 1s}\n", `line 2 column 65: net.reset is over as it begins and has no for`},
		{"faults:\n  - {kind: node.crash, target: [a], from: 1s, for: 1s}\n", `line 2 column 52: for goes with when: a fault that begins at its from ends at a to`},
		{"faults:\n  - {kind: node.crash, target: [role/server], from: 1s, to: 2s}\n", `line 2 column 32: target role/server goes with when: name a machine`},
		{"faults:\n  - {id: x, kind: net.reset, target: [a, b], from: 1s}\n  - {id: x, kind: net.reset, target: [a, b], from: 1s}\n", `fault plan, line 3 column 10: there are two faults "x"`},
	} {
		_, err := ParsePlan([]byte(test.plan))
		var e *PlanError
		require.ErrorAs(t, err, &e, test.plan)
		require.NotZero(t, e.Line)
		require.NotZero(t, e.Column)
		require.Contains(t, err.Error(), test.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

// indentedKeys is mappings within mappings, each on a line of its own.
func indentedKeys(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// A plan on one line is the same plan, whatever its names and values are.
func TestInline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t, rapid.SampledFrom(Profiles()).Draw(t, "profile"))
		plan := Generate(rapid.Uint64().Draw(t, "seed"), p, testTopology, 20*time.Second, testHandled())
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"null", "~", "on", "true", "-1", "- x", "1e3", "0x10", "a: b", "#c", "it's", `"q"`, "a,b", "[x]", "", "\x00", "007", "?", "!t", "&a", "*a", "%", "@", "..."}))
		for i := range plan.Faults {
			if f := &plan.Faults[i]; len(f.Target) == 1 && rapid.Bool().Draw(t, "odd") {
				f.Target[0] = word.Draw(t, "target")
				f.ID = fmt.Sprintf("%s/%d", word.Draw(t, "id"), i)
			}
		}
		line := plan.Inline()
		require.NotContains(t, line, "\n")
		require.True(t, strings.HasPrefix(line, "{"))
		again, err := ParsePlan([]byte(line))
		require.NoError(t, err, line)
		require.Equal(t, line, again.Inline())
		again.source = nil
		require.Equal(t, plan, again)
	})
	plan, err := ParsePlan([]byte("faults:\n  - {kind: net.loss, target: [a, ], from: 1s, to: 2s, params: {loss: 5%}}\n"))
	require.NoError(t, err)
	require.Equal(t, "{faults: [{id: net.loss/1, kind: net.loss, target: [a], from: 1s, to: 2s, params: {loss: 5%}}]}", plan.Inline())
	require.Equal(t, "{faults: []}", (&Plan{}).Inline())
}

// Whatever the text is, it is a plan or is wrong somewhere, in one line.
func TestParsePlanOfAnything(t *testing.T) {
	pieces := []string{"faults", "kind", "target", "from", "params", "net.loss", "a", "1s", ": ", ":", "- ", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", "'", `"`, "|\n", ">", "# c", "---\n", "? ", "!t ", "<<", "~", "-", "%", "\\", "\t", "3"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
		_, err := ParsePlan([]byte(text))
		if err != nil {
			var e *PlanError
			require.ErrorAs(t, err, &e, text)
			require.NotZero(t, e.Line, text)
			require.NotZero(t, e.Column, text)
			require.NotContains(t, e.Error(), "\n")
		}
	})
}

func TestCheckAgainstATopology(t *testing.T) {
	plan, err := ParsePlan([]byte("faults:\n  - {kind: node.crash, target: [z], from: 1s, to: 2s}\n"))
	require.NoError(t, err)
	require.EqualError(t, plan.Check(testTopology, nil), `fault plan, line 2 column 33: node.crash/1: there is no target "z"; there are a, b, c, d, e`)
	plan, err = ParsePlan([]byte("faults:\n  - {kind: node.crash, target: [role/butler], when: {note: x}, for: 1s}\n"))
	require.NoError(t, err)
	require.EqualError(t, plan.Check(testTopology, nil), `fault plan, line 2 column 33: node.crash/1: there is no machine of role "butler"; there are the roles client, server`)
	aimless := &Plan{Faults: []Fault{{ID: "x", Kind: "node.crash", Target: []string{There}, To: 1}}}
	require.ErrorContains(t, aimless.Check(testTopology, nil), `there is no target "there"; there are a, b, c, d, e`)
	plan, err = ParsePlan([]byte("faults:\n  - {kind: persist.upper_mismatch, target: [s1], from: 1s}\n"))
	require.NoError(t, err)
	require.NoError(t, plan.Check(testTopology, func(string) bool { return true }))
	require.EqualError(t, (&Plan{Faults: []Fault{{ID: "x", Kind: "node.crash", Target: []string{"a"}}}}).Check(testTopology, nil),
		`fault plan: x: node.crash needs a to after its from`)
	made := &Plan{Faults: []Fault{{ID: "x", Kind: "node.crash", Target: []string{"z"}, To: 1}}}
	require.EqualError(t, made.Check(testTopology, nil), `fault plan: x: there is no target "z"; there are a, b, c, d, e`)
	require.EqualError(t, plan.Check(testTopology, func(string) bool { return false }), "fault plan, line 2 column 12: persist.upper_mismatch/1: this scenario has nothing that persist.upper_mismatch could act on")
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

func BenchmarkParsePlan(b *testing.B) {
	var text strings.Builder
	text.WriteString("faults:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {id: x%d, kind: net.loss, target: [a], from: 1s, to: 2s, params: {loss: 5%%}}\n", i)
	}
	for b.Loop() {
		if _, err := ParsePlan([]byte(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	p := profile(b, "chaos")
	for i := range b.N {
		Generate(uint64(i), p, testTopology, 20*time.Second, testHandled())
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
