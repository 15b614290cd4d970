package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/reports"
)

func TestList(t *testing.T) {
	got := call(t, "list")
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "calm\n  always passes\n  faults    chaos\n  oracles   calm/still\n  settings  ")
	require.Regexp(t, `pace=100ms +between two breaths\n`, got.stdout)
	require.Contains(t, got.stdout, "fussy\n  fails for each seed that a setting divides\n  faults    default\n")
}

func TestListShowsProfiles(t *testing.T) {
	got := call(t, "list")
	_, profiles, ok := strings.Cut(got.stdout, "\nfault profiles\n")
	require.True(t, ok, got.stdout)
	for _, name := range []string{"calm", "default", "chaos", "persist", "cdc", "compute", "flow", "pipeline"} {
		require.Regexp(t, `(?m)^  `+name+` +\w`, profiles)
	}
	require.Contains(t, call(t, words("list --faults")...).stdout, "\n  cdc.owner   ")
}

func TestListJSON(t *testing.T) {
	got := call(t, words("list --json -")...)
	require.Equal(t, 0, got.status)
	require.Empty(t, got.stderr)
	var list []reports.ScenarioInfo
	for d := json.NewDecoder(bytes.NewBufferString(got.stdout)); d.More(); {
		var s reports.ScenarioInfo
		require.NoError(t, d.Decode(&s))
		list = append(list, s)
	}
	require.Len(t, list, len(fakes()))
	require.Equal(t, "calm", list[0].Name)
	require.Equal(t, []string{"calm/still"}, list[0].Oracles)
	require.Contains(t, list[0].Settings, reports.SettingInfo{Name: "pace", Default: "100ms", Doc: "between two breaths"})
}

func TestListFaults(t *testing.T) {
	got := call(t, words("list --faults")...)
	require.Equal(t, 0, got.status, got.stderr)
	for _, k := range faults.Kinds() {
		require.Contains(t, got.stdout, k.Name+"\n  "+k.Doc+"\n")
	}
	for _, name := range faults.Profiles() {
		require.Contains(t, got.stdout, "\n  "+name+" ")
	}
	got = call(t, words("list --faults --json -")...)
	require.Equal(t, 0, got.status)
	require.Equal(t, len(faults.Kinds()), bytes.Count([]byte(got.stdout), []byte("\n")))
}
