package mutants_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// decStuck breaks Dec for a counter that is at 20: of the victim's seeds those from 20 on fail, and
// none from 40 on.
var decStuck = change(12, " func (c *Counter) Dec() {", "-\tc.n--", "+\tif c.n != 20 {", "+\t\tc.n--", "+\t}", " }", " ")

// tried is how many seeds each campaign took, negative if in vain.
func tried(o mutants.Outcome) []int {
	var all []int
	for _, c := range o.Campaigns {
		n := int(c.Tried)
		if !c.Caught {
			n = -n
		}
		all = append(all, n)
	}
	return all
}

func TestCampaignsAndTheirLedger(t *testing.T) {
	dir := newVictim(t)
	name := filepath.Join(t.TempDir(), "hunts.jsonl")
	built := 0
	hunt := func(campaigns int, list ...*mutants.Mutant) []mutants.Outcome {
		t.Helper()
		ledger, err := mutants.OpenLedger(name)
		require.NoError(t, err)
		defer func() { require.NoError(t, ledger.Close()) }()
		built = 0
		h := &mutants.Hunt{
			Tree: mutants.Tree{Dir: dir}, Seeds: scenarios.Seeds{{First: 1, Last: 15}}, Campaigns: campaigns, Jobs: 2, Ledger: ledger,
			OnPhase: func(_ *mutants.Mutant, phase string) {
				if phase == "building" {
					built++
				}
			},
		}
		outcomes, err := h.Run(context.Background(), list)
		require.NoError(t, err)
		require.Len(t, outcomes, len(list))
		return outcomes
	}
	stuck := parse(t, "dec-stuck", "counter", decStuck)
	harmless := parse(t, "harmless", "counter", change(17, "-// Value is the count.", "+// Value is the number counted."))

	o := hunt(3, stuck, harmless)
	require.Equal(t, 2, built, "one binary for all campaigns against a mutant")
	require.Equal(t, "dec-stuck", o[0].Mutant, "in the order of the mutants, whoever is done first")
	require.Equal(t, []int{-15, 5, 1}, tried(o[0]))
	require.Equal(t, mutants.Caught, o[0].Status)
	require.EqualValues(t, 5, o[0].Seeds)
	require.EqualValues(t, 20, o[0].Seed, "of the first campaign that caught it")
	require.False(t, o[0].Cut)
	require.Equal(t, []string{"counter/exact"}, o[0].CaughtBy())
	require.Equal(t, mutants.Survived, o[1].Status)
	require.Equal(t, []int{-15, -15, -15}, tried(o[1]))
	require.EqualValues(t, 15, o[1].Seeds)
	require.EqualValues(t, 1, o[1].Unknown)

	// The hunt goes on where it was, with more campaigns: what is known is not done again.
	require.Equal(t, o, hunt(3, stuck, harmless))
	require.Zero(t, built)
	more := hunt(6, stuck)
	require.Equal(t, 1, built)
	require.Equal(t, []int{-15, 5, 1, -15, -15, -15}, tried(more[0]))
	require.True(t, more[0].Cut, "in the middle they were in vain")
	require.EqualValues(t, 15, more[0].Seeds)

	// Killed as it wrote a line.
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(data), "\n")
	require.NoError(t, os.WriteFile(name, data[:len(data)-30], 0o644))
	require.Equal(t, more, hunt(6, stuck))
	require.Equal(t, 1, built)
	data, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.Join(lines, ""), string(data))

	// Another patch, or other source, is another hunt; tests and documents are not source.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "system", "counter", "more_test.go"), []byte("package counter\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("Counts.\n"), 0o644))
	hunt(1, harmless)
	require.Zero(t, built)
	hunt(1, parse(t, "harmless", "counter", change(17, "-// Value is the count.", "+// Value is the sum.")))
	require.Equal(t, 1, built)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "system", "counter", "more.go"), []byte("package counter\n"), 0o644))
	hunt(1, harmless)
	require.Equal(t, 1, built)
}

func TestLedgerErrors(t *testing.T) {
	for text, want := range map[string]string{
		"simrun\n":                       "line 1 is not that of a hunt: invalid character",
		"no line at all":                 "line 1 is not that of a hunt: it is not JSON",
		"{}\n":                           "line 1 is not that of a hunt: it has no key or no seeds",
		"{\"key\":\"a\",\"seeds\":1}\n{": "line 1 is not that of a hunt: json: cannot unmarshal",
	} {
		name := filepath.Join(t.TempDir(), "hunts.jsonl")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		_, err := mutants.OpenLedger(name)
		var wrong *mutants.LedgerError
		require.ErrorAs(t, err, &wrong, text)
		require.ErrorContains(t, err, want)
		left, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, text, string(left), "what is not a ledger is left alone")
	}
	_, err := mutants.OpenLedger(t.TempDir())
	require.Error(t, err)
}

func TestSurvivesHeader(t *testing.T) {
	text := strings.Replace(header("harmless", "counter"), "Expect:", "Survives: Nobody can tell,\n  not even we.\nExpect:", 1)
	m, err := mutants.Parse("007-harmless.patch", []byte(text+incTwice(7)))
	require.NoError(t, err)
	require.Equal(t, "Nobody can tell, not even we.", m.Survives)
	require.Equal(t, "007", m.Number())
}
