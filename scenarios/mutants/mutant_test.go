package mutants_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

func TestParse(t *testing.T) {
	text := "Mutant: inc-twice\nScenario: shard\nBug: Counting is hard,\n  and harder on\n\tTuesdays.\n" +
		"Settings: clients=3, rivals=2\nFaults: calm\nExpect: counter/exact, always/*\n\n" + incTwice(7)
	m, err := mutants.Parse("001-inc-twice.patch", []byte(text))
	require.NoError(t, err)
	require.Equal(t, "inc-twice", m.Name)
	require.Equal(t, "001-inc-twice.patch", m.File)
	require.Equal(t, "shard", m.Scenario)
	require.Equal(t, "Counting is hard, and harder on Tuesdays.", m.Bug)
	require.Equal(t, []string{"clients=3", "rivals=2"}, m.Settings)
	require.Equal(t, "calm", m.Faults)
	require.Equal(t, []string{"counter/exact", "always/*"}, m.Expect)
}

func TestParseRejects(t *testing.T) {
	good := header("inc-twice", "shard") + incTwice(7)
	const name = "001-inc-twice.patch"
	_, err := mutants.Parse(name, []byte(good))
	require.NoError(t, err)

	replace := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.ReplaceAll(good, old, new)
	}
	for what, test := range map[string]struct{ name, text, want string }{
		"file name":         {"inc-twice.patch", good, "inc-twice.patch: the file must be named NNN-some-name.patch"},
		"name":              {name, replace("Mutant: inc-twice", "Mutant: inc-thrice"), `the header says "inc-thrice", the file name "inc-twice"`},
		"no scenario":       {name, replace("Scenario: shard\n", ""), `the header lacks "Scenario"`},
		"empty bug":         {name, replace("Someone forgot.\n  It happens.", ""), `the header lacks "Bug"`},
		"no oracle":         {name, replace("Expect: counter/exact", "Expect:"), `the header lacks "Expect"`},
		"unknown key":       {name, replace("Expect:", "Expects:"), `header line "Expects: counter/exact": must be one of Mutant, Scenario`},
		"key twice":         {name, replace("Scenario: shard", "Scenario: shard\nScenario: full"), `two lines "Scenario"`},
		"not indented":      {name, replace("  It happens.", "It happens."), `header line "It happens."`},
		"begins indented":   {name, " more\n" + good, "begins with an indented line"},
		"setting":           {name, replace("Expect:", "Settings: clients\nExpect:"), `setting "clients" must be name=value`},
		"no diff":           {name, header("inc-twice", "shard"), "no diff follows the header"},
		"not a diff":        {name, replace("@@ -7,4 +7,4 @@", "@@ seven @@"), "not a unified diff"},
		"short hunk":        {name, replace("@@ -7,4 +7,4 @@", "@@ -7,9 +7,9 @@"), "not a unified diff"},
		"outside of system": {name, replace("system/counter/counter.go", "sim/world.go"), "sim/world.go: a mutant may only touch"},
		"climbing out":      {name, replace("system/counter/counter.go", "system/../sim/world.go"), "a mutant may only touch"},
		"test file":         {name, replace("counter.go", "counter_test.go"), "a mutant may only touch"},
		"no context":        {name, header("inc-twice", "shard") + change(7, "+var x int"), "hunk 1 has no line of context"},
		"deleted": {name, header("inc-twice", "shard") + "diff --git a/system/a.go b/system/a.go\ndeleted file mode 100644\n" +
			"--- a/system/a.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-package a\n", "not delete, rename or copy"},
		"renamed": {name, header("inc-twice", "shard") + "diff --git a/system/a.go b/system/b.go\nsimilarity index 100%\n" +
			"rename from system/a.go\nrename to system/b.go\n", "not delete, rename or copy"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := mutants.Parse(test.name, []byte(test.text))
			var wrong *mutants.PatchError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, test.name, wrong.Patch)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestLoad(t *testing.T) {
	file := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(header(name, "shard") + incTwice(7))}
	}
	dir := fstest.MapFS{
		"010-late.patch":  file("late"),
		"002-early.patch": file("early"),
		"README.md":       {Data: []byte("about them")},
	}
	all, err := mutants.Load(dir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "early", all[0].Name)
	require.Equal(t, "late", all[1].Name)

	dir["011-early.patch"] = file("early")
	_, err = mutants.Load(dir)
	require.EqualError(t, err, "011-early.patch: 002-early.patch is a mutant of the same name")
}

// The patches that come with simrun must fit the source that comes with it: this fails as soon
// as a change to system/ leaves a mutant behind.
func TestBuiltinApplies(t *testing.T) {
	all, err := mutants.Builtin()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			_, err := m.Overlay("../..", t.TempDir())
			require.NoError(t, err)
		})
	}
}

// What their headers name must exist.
func TestBuiltinHeaders(t *testing.T) {
	all, err := mutants.Builtin()
	require.NoError(t, err)
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			list := scenarios.Builtin()
			i := slices.IndexFunc(list, func(s *scenarios.Scenario) bool { return s.Name == m.Scenario })
			require.GreaterOrEqual(t, i, 0, "there is no scenario %q", m.Scenario)
			settings := map[string]string{}
			for _, setting := range m.Settings {
				name, value, _ := strings.Cut(setting, "=")
				settings[name] = value
			}
			opt := scenarios.Options{Settings: settings, Profile: m.Faults}
			if strings.HasPrefix(m.Faults, "{") {
				opt.Profile = ""
				opt.Plan, err = faults.ParsePlan([]byte(m.Faults))
				require.NoError(t, err)
			}
			require.NoError(t, list[i].Check(opt))
		})
	}
}
