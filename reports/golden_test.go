package reports_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

var update = flag.Bool("update", false, "rewrite the files in testdata with what is printed now")

// golden compares what is printed, with and without colours, with testdata/NAME.txt.
func golden(t *testing.T, name string, print func(*reports.Terminal) error) {
	t.Helper()
	for suffix, color := range map[string]bool{"": false, "-color": true} {
		var out bytes.Buffer
		require.NoError(t, print(&reports.Terminal{Out: &out, Color: color}))
		path := filepath.Join("testdata", name+suffix+".txt")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), out.String(), "go test ./reports -update rewrites %s", path)
	}
	require.ErrorIs(t, print(&reports.Terminal{Out: full{}}), errFull, "an error of the writer must not be lost")
}

var errFull = errors.New("no space left")

// full is a writer that has no space left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func failed() scenarios.Result {
	return scenarios.Result{
		Scenario: "shard", Seed: 17, Verdict: scenarios.Fail, TraceHash: "0123456789abcdef",
		Events: 9120, VirtualNS: int64(30 * time.Second), WallNS: int64(20 * time.Millisecond), Ops: 210,
		Faults: map[string]int{"node.crash": 1, "net.loss": 12, "net.delay": 0},
		Failures: []scenarios.Failure{
			{Oracle: "persist/linearizable", Message: "shard s2: upper 7 was never written\nhistory:\n  append 5", AtNS: 12_345_678_901, Event: 4711},
			{Oracle: "panic", Message: "index out of range", AtNS: 125 * int64(time.Second), Event: 9120},
		},
		Sometimes: map[string]int{"a snapshot had to wait": 3, "a lease expired": 0},
		Settings:  map[string]string{"shards": "2", "clients": "5"},
		Repro:     "simrun repro shard:17 --set clients=5",
	}
}

func TestFailure(t *testing.T) {
	golden(t, "failure", func(t *reports.Terminal) error {
		return t.Failure(failed(), reports.Detail{})
	})
	golden(t, "failure-in-detail", func(t *reports.Terminal) error {
		return t.Failure(failed(), reports.Detail{
			Strategy: "pct",
			Command:  "go run ./cmd/simrun repro shard:17 --set clients=5 --strategy pct",
			Also:     []string{"go test ./scenarios -seed 17"},
			InForce:  []string{"net.loss/2 on s1", "clock.skew/1 on s2"},
			Plan:     []string{"1s to 2s net.loss/2 on s1"},
			Log:      []string{"4709 s1 upper moved"},
			Trace:    []string{"4710 deliver", "4711 FAIL"},
			Warning:  "not deterministic",
		})
	})
	golden(t, "failure-without-faults", func(t *reports.Terminal) error {
		r := failed()
		r.Verdict, r.Faults, r.Settings = scenarios.Unknown, nil, nil
		r.Failures = []scenarios.Failure{{Oracle: "vacuous", Message: "no operation succeeded"}}
		return t.Failure(r, reports.Detail{InForce: []string{}, Plan: []string{}})
	})
	golden(t, "failure-with-much-to-say", func(t *reports.Terminal) error {
		r := failed()
		r.Failures = nil
		for i := range 12 {
			r.Failures = append(r.Failures, scenarios.Failure{Oracle: "shard/sum", Message: strings.Repeat("a row is missing; another is there twice; ", i) + "that is all\nhistory; short"})
		}
		return t.Failure(r, reports.Detail{})
	})
	golden(t, "one-line", func(t *reports.Terminal) error {
		passed, unknown, bare := failed(), failed(), failed()
		passed.Verdict, unknown.Verdict, bare.Failures = scenarios.Pass, scenarios.Unknown, nil
		return errors.Join(t.Pass(passed, reports.Detail{}), t.Pass(passed, reports.Detail{Kept: "testdata/seeds/shard/17.yaml: a bug"}), t.FailureAgain(failed(), 3), t.FailureAgain(unknown, 4), t.FailureAgain(bare, 5))
	})
}

func TestSummary(t *testing.T) {
	golden(t, "summary", func(t *reports.Terminal) error {
		s := scenarios.Summary{Scenario: "shard"}
		for seed := range uint64(5) {
			r := failed()
			r.Seed = 17 + seed
			s.Add(&r)
		}
		passed, unknown := failed(), failed()
		passed.Verdict, passed.Failures = scenarios.Pass, nil
		unknown.Verdict, unknown.Failures = scenarios.Unknown, []scenarios.Failure{{Oracle: "vacuous", Message: "no operation succeeded"}}
		s.Add(&passed)
		s.Add(&unknown)
		s.Wall = 4200 * time.Millisecond
		return t.Summary(s)
	})
	golden(t, "summary-interrupted", func(t *reports.Terminal) error {
		return t.Summary(scenarios.Summary{
			Scenario: "shard", Passed: 1, Virtual: 90 * time.Second, Wall: 100 * time.Second,
			Interrupted: true, Abandoned: []uint64{3, 4},
		})
	})
	golden(t, "summary-of-one-that-failed", func(t *reports.Terminal) error {
		s, r := scenarios.Summary{Scenario: "shard"}, failed()
		s.Add(&r)
		s.Wall = time.Second
		return t.Summary(s)
	})
	golden(t, "summary-of-a-plan", func(t *reports.Terminal) error {
		s, r := scenarios.Summary{Scenario: "shard"}, failed()
		r.Verdict, r.Failures = scenarios.Pass, nil
		s.Add(&r)
		s.Wall = time.Second
		s.Options.Plan = &faults.Plan{Faults: []faults.Fault{
			{ID: "in vain", Kind: "node.pause", When: &faults.When{Note: "cdc.owner", Nth: 9}},
			{ID: "in time", Kind: "node.crash", When: &faults.When{Note: "cdc.owner"}},
		}}
		return t.Summary(s)
	})
	golden(t, "summary-of-many-situations", func(t *reports.Terminal) error {
		s := scenarios.Summary{Scenario: "shard", Wall: time.Second}
		for range 20 {
			r := failed()
			r.Verdict, r.Failures, r.Sometimes = scenarios.Pass, nil, map[string]int{}
			for n := range 45 {
				r.Sometimes[fmt.Sprintf("%s: situation %02d", []string{"wal", "rpc", "wal"}[n%3], n)] = min(n, 42) % 21
			}
			s.Add(&r)
		}
		return t.Summary(s)
	})
	golden(t, "summary-many-failures", func(t *reports.Terminal) error {
		s := scenarios.Summary{Scenario: "shard"}
		for c := 'a'; c < 'a'+25; c++ {
			r := failed()
			r.Failures = []scenarios.Failure{{Oracle: "always/" + string(c), Message: "a message that is much too long to be shown in the line of a table, " +
				"since it goes on and on and on without ever coming to an end"}}
			s.Add(&r)
		}
		return t.Summary(s)
	})
}

func TestMutants(t *testing.T) {
	outcomes := []mutants.Outcome{
		{
			Mutant: "append-checks-le", Scenario: "shard", Status: mutants.Caught, Seeds: 3, Seed: 3, Expected: true,
			Oracle: "persist/linearizable", Message: "lost update\nhistory", AtNS: int64(2 * time.Second), VirtualNS: int64(15 * time.Second),
		},
		{Mutant: "retry-twice", Scenario: "shard", Status: mutants.Caught, Seeds: 111, Oracle: "panic", Message: "nil map"},
		{Mutant: "harmless", Scenario: "shard", Status: mutants.Survived, Seeds: 200},
		{Mutant: "idle", Scenario: "full", Status: mutants.Survived, Seeds: 200, Unknown: 199},
		{Mutant: "dice", Scenario: "shard", Status: mutants.NotReplayable, Seeds: 1, Oracle: "panic", AtNS: 5, Error: "trace hash 1, but 2 when the seed was repeated"},
		{Mutant: "stale", Scenario: "shard", Status: mutants.Broken, Error: "003-stale.patch: hunk 2 no longer applies"},
	}
	golden(t, "mutants", func(t *reports.Terminal) error {
		errs := []error{t.MutantHead()}
		for _, o := range outcomes {
			errs = append(errs, t.MutantRow(o))
		}
		return errors.Join(append(errs, t.MutantSummary(outcomes, len(outcomes)))...)
	})
	golden(t, "mutants-all-caught", func(t *reports.Terminal) error { return t.MutantSummary(outcomes[:1], 1) })
	golden(t, "mutants-interrupted", func(t *reports.Terminal) error { return t.MutantSummary(outcomes[:1], 6) })
	golden(t, "mutants-none-done", func(t *reports.Terminal) error { return t.MutantSummary(nil, 6) })
	golden(t, "mutants-list", func(t *reports.Terminal) error {
		return t.MutantList([]*mutants.Mutant{
			{
				Name: "append-checks-le", Scenario: "shard", Bug: "Appends at any lower upper.", File: "001-append-checks-le.patch",
				Expect: []string{"persist/linearizable", "persist/definite"}, Settings: []string{"clients=5"}, Faults: "calm",
			},
			{Name: "retry-twice", Scenario: "shard", Bug: "Retries twice.", File: "002-retry-twice.patch", Expect: []string{"panic"}},
		})
	})
}

func TestMutantsOfSeveralCampaigns(t *testing.T) {
	list := []*mutants.Mutant{
		{Name: "append-checks-le", Scenario: "shard", Bug: "Appends at any upper <= the expected.", File: "001-append-checks-le.patch"},
		{Name: "rare", Scenario: "full", Bug: "Rarely.", File: "002-rare.patch"},
		{Name: "harmless", Scenario: "shard", Bug: "Means | nothing.", File: "003-harmless.patch", Survives: "nobody can tell"},
		{Name: "stale", Scenario: "shard", Bug: "Was one.", File: "004-stale.patch"},
		{Name: "hole", Scenario: "full", Bug: "Is one.", File: "005-hole.patch"},
		{Name: "later", Scenario: "full", Bug: "Not yet.", File: "006-later.patch"},
	}
	outcomes := []mutants.Outcome{
		{
			Mutant: "append-checks-le", Scenario: "shard", Status: mutants.Caught, Seeds: 3, Oracle: "persist/definite", Expected: true, AtNS: int64(2 * time.Second),
			Campaigns: []mutants.Chase{
				{Caught: true, Oracle: "persist/definite", Tried: 3}, {Caught: true, Oracle: "panic", Tried: 1}, {Caught: true, Oracle: "panic", Tried: 5},
			},
		},
		{
			Mutant: "rare", Scenario: "full", Status: mutants.Caught, Seeds: 200, Cut: true, Oracle: "liveness", AtNS: 7, Expected: true, Survives: "too rare",
			Campaigns: []mutants.Chase{{Tried: 200}, {Caught: true, Oracle: "liveness", Tried: 17}, {Tried: 200}},
		},
		{Mutant: "harmless", Scenario: "shard", Status: mutants.Survived, Seeds: 200, Survives: "nobody can tell", Campaigns: []mutants.Chase{{Tried: 200}, {Tried: 200}, {Tried: 200}}},
		{Mutant: "stale", Scenario: "shard", Status: mutants.Broken, Error: "004-stale.patch: no longer applies"},
		{Mutant: "hole", Scenario: "full", Status: mutants.Survived, Seeds: 200},
	}
	golden(t, "mutants-several-campaigns", func(t *reports.Terminal) error {
		errs := []error{t.MutantHead()}
		for _, o := range outcomes {
			errs = append(errs, t.MutantRow(o))
		}
		return errors.Join(append(errs, t.MutantSummary(outcomes, 6), t.MutantList(list[2:3]))...)
	})
	table := &reports.MutantTable{
		Mutants: list, Outcomes: outcomes, Seeds: scenarios.Seeds{{First: 1, Last: 200}}, Campaigns: 3, Command: "simrun mutants --campaigns 3",
	}
	golden(t, "mutants-document", func(t *reports.Terminal) error { return reports.MutantsMarkdown(t.Out, table) })
	alone := &reports.MutantTable{Mutants: list[:1], Outcomes: outcomes[:1], Seeds: table.Seeds, Campaigns: 1, Command: "simrun mutants"}
	golden(t, "mutants-document-of-one", func(t *reports.Terminal) error { return reports.MutantsMarkdown(t.Out, alone) })
}

func TestAudit(t *testing.T) {
	divergence := reports.Divergence{
		Scenario: "shard", Seed: 17, Difference: "trace_hash was 1, and 2 when run again in another order",
		Command: "simrun repro shard:17",
	}
	golden(t, "divergence-unknown", func(t *reports.Terminal) error { return t.Divergence(divergence) })
	golden(t, "divergence", func(t *reports.Terminal) error {
		d := divergence
		d.Event, d.First, d.Second, d.Before = 42, "42 run a", "42 run b", []string{"40 send", "41 deliver"}
		return t.Divergence(d)
	})
	golden(t, "divergence-at-end", func(t *reports.Terminal) error {
		d := divergence
		d.Event, d.First = 42, "42 run a"
		return t.Divergence(d)
	})
	golden(t, "audit", func(t *reports.Terminal) error {
		return t.Audit(reports.Audit{Scenario: "shard", Seeds: 20, Compared: 20, Runs: 3})
	})
	golden(t, "audit-interrupted", func(t *reports.Terminal) error {
		return t.Audit(reports.Audit{Scenario: "shard", Seeds: 20, Compared: 12, Runs: 2, Interrupted: true})
	})
	golden(t, "audit-of-nothing", func(t *reports.Terminal) error {
		return t.Audit(reports.Audit{Scenario: "shard", Seeds: 20, Runs: 2, Interrupted: true})
	})
	golden(t, "audit-differing", func(t *reports.Terminal) error {
		a := reports.Audit{Scenario: "shard", Seeds: 200, Compared: 200, Runs: 2, Failed: 2, Unknown: 1, Interrupted: true}
		for seed := range uint64(30) {
			a.Differing = append(a.Differing, seed)
		}
		return t.Audit(a)
	})
}

func TestLists(t *testing.T) {
	golden(t, "scenarios", func(t *reports.Terminal) error {
		return t.Scenarios([]reports.ScenarioInfo{
			{
				Name: "shard", Doc: "clients on shards", Profile: "default", Oracles: []string{"persist/linearizable", "persist/definite"},
				Settings: []reports.SettingInfo{{Name: "clients", Default: "4", Doc: "how many"}, {Name: "duration", Default: "15s", Doc: "how long"}},
			},
			{Name: "bare", Doc: "nothing"},
		})
	})
	golden(t, "faults", func(t *reports.Terminal) error {
		return t.Faults([]reports.FaultInfo{
			{Kind: "net.loss", Doc: "messages are lost", Cause: "a bad link", Params: []reports.SettingInfo{{Name: "loss", Default: "10%", Doc: "share"}}},
			{Kind: "node.pause", Doc: "stands still"},
		})
	})
	golden(t, "profiles", func(t *reports.Terminal) error {
		return t.Profiles([]reports.ProfileInfo{{Name: "calm", Doc: "none"}, {Name: "chaos", Doc: "many"}})
	})
	golden(t, "moments", func(t *reports.Terminal) error {
		return t.Moments([]faults.Moment{{Note: "cdc.owner", Kind: "owner.change", Doc: "an owner was elected"}})
	})
}

func TestCoverage(t *testing.T) {
	seeds := scenarios.Seeds{{First: 1, Last: 20}}
	report := &reports.Coverage{
		Situations: []scenarios.Situation{
			{Name: "held its breath", Hits: 1, Seeds: 1, Runs: 40, Scenario: "shard", Needed: 12, First: 12, Scenarios: []string{"shard"}},
			{Name: "persist: a | b", Hits: 900, Seeds: 20, Runs: 40, Scenario: "shard", Profile: "chaos", Needed: 1, First: 1, Scenarios: []string{"shard", "full"}},
			{Name: "persist: versions were dropped", Runs: 40},
			{Name: "rpc: a connection waits"},
		},
		Campaigns: []scenarios.Campaigned{{Scenario: "shard", Profile: "default"}, {Scenario: "shard", Profile: "chaos"}, {Scenario: "full", Profile: "default"}},
		Seeds:     seeds, Runs: 60, Command: "simrun coverage shard full",
	}
	golden(t, "coverage", func(t *reports.Terminal) error { return t.Coverage(report) })
	golden(t, "coverage-document", func(t *reports.Terminal) error { return reports.CoverageMarkdown(t.Out, report) })
	whole := &reports.Coverage{Situations: report.Situations[:1], Seeds: seeds, Runs: 13, Failed: 2, Interrupted: true}
	whole.Planned, whole.Campaigns = 3, report.Campaigns[:1]
	golden(t, "coverage-document-interrupted", func(t *reports.Terminal) error { return reports.CoverageMarkdown(t.Out, whole) })
	golden(t, "coverage-interrupted", func(t *reports.Terminal) error { return t.Coverage(whole) })
}

func TestShrunk(t *testing.T) {
	shrunk := reports.Shrunk{
		File: "shard-17.shrunk.jsonl", FaultsBefore: 30, Faults: 2, Runs: 57, Took: 12300 * time.Millisecond,
		Before: map[string]string{"clients": "4", "duration": "15s", "pace": "1s"},
		After:  map[string]string{"clients": "1", "duration": "300ms", "pace": "1s"}, Complete: true,
	}
	golden(t, "shrunk", func(t *reports.Terminal) error { return t.Shrunk(shrunk) })
	shrunk.Complete, shrunk.File = false, "-"
	golden(t, "shrunk-out-of-time", func(t *reports.Terminal) error { return t.Shrunk(shrunk) })
}

func TestParting(t *testing.T) {
	p := reports.Parting{
		First:    reports.PartingSide{Name: "shard:17", Command: "simrun repro shard:17", Events: 900, TraceHash: "00000000000000aa", After: []string{"42 1s send", "43 1s run"}},
		Second:   reports.PartingSide{Name: "shard:17@calm", Command: "simrun repro shard:17 --faults calm", Events: 41, TraceHash: "00000000000000bb"},
		Settings: []string{"clients=4 and 5", "pace=1s and 2s"}, Event: 42, Before: []string{"40 1s exit", "41 1s drop"},
	}
	golden(t, "parting", func(t *reports.Terminal) error { return t.Parting(p) })
	p.Second, p.Same, p.Settings = p.First, true, nil
	golden(t, "parting-not", func(t *reports.Terminal) error { return t.Parting(p) })
}

// Blocks are set apart from what was printed before, and nothing stands before the first.
func TestBlocksAreSetApart(t *testing.T) {
	var out bytes.Buffer
	terminal := &reports.Terminal{Out: &out}
	audit := reports.Audit{Scenario: "shard", Seeds: 1, Compared: 1, Runs: 2}
	require.NoError(t, terminal.Audit(audit))
	require.NoError(t, terminal.Audit(audit))
	const line = "shard: 1 seed run 2 times each: deterministic\n"
	require.Equal(t, line+"\n"+line, out.String())
}
