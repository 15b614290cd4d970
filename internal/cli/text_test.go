package cli

import (
	"context"
	"errors"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/scenarios"
)

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"shard", "shard", 0}, {"", "run", 3}, {"run", "", 3},
		{"rnu", "run", 1}, {"shrad", "shard", 1}, {"shard", "shards", 1}, {"clints", "clients", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 1}, {"full", "shard", 5},
	} {
		require.Equal(t, test.want, edits(test.a, test.b), "%q %q", test.a, test.b)
		require.Equal(t, test.want, edits(test.b, test.a), "%q %q", test.b, test.a)
	}
}

func TestClosest(t *testing.T) {
	known := []string{"differential", "full", "shard"}
	require.Equal(t, "shard", closest("shrad", known))
	require.Equal(t, "shard", closest("Shard", known))
	require.Equal(t, "differential", closest("diff", known), "what was begun")
	require.Empty(t, closest("x", known))
	require.Empty(t, closest("pipeline", known))
}

// Whatever a person's shell does with a printed command, it must do with the argument itself.
func TestQuote(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune(`ab='"\ $*;&|~#!-`+"`\n\tü")), 0, 9, -1)
		args := rapid.SliceOfN(letters, 1, 3).Draw(rt, "arguments")
		back, err := unquote(quoteAll(args))
		require.NoError(rt, err)
		require.Equal(rt, args, back)
	})
	args := []string{"plain", "", "it's", `back\slash`, `$HOME "and" *`, "two\nlines", "~", "#no", "--set", "a=b;c"}
	out, err := exec.Command(shell, "-c", `for a in `+quoteAll(args)+`; do printf '%s\0' "$a"; done`).Output()
	require.NoError(t, err)
	require.Equal(t, args, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
}

func TestUnquote(t *testing.T) {
	words, err := unquote(`simrun  repro shard:1 --set 'a=b c' it\'s ''`)
	require.NoError(t, err)
	require.Equal(t, []string{"simrun", "repro", "shard:1", "--set", "a=b c", "it's", ""}, words)
	for _, line := range []string{"'open", `end\`} {
		_, err := unquote(line)
		require.Error(t, err, line)
	}
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "0": "0", "1-50": "1-50", "5-5": "5", "0x10": "16", "0xff-0x1FF": "255-511",
		"77,1-50": "1-50,77", "1-5,3-9": "1-9", "1-5,6-9": "1-9", "1-9,3-5": "1-9", "3,3": "3",
		"007": "7", "18446744073709551615": "18446744073709551615", "5-18446744073709551615,7": "5-18446744073709551615",
	} {
		seeds, err := parseSeeds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, seeds.String(), text)
	}
}

// A list stands for the union of its ranges, each seed once, in order.
func TestParseSeedsIsUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 40)
		var parts scenarios.Seeds
		union := map[uint64]bool{}
		for range rapid.IntRange(1, 5).Draw(rt, "ranges") {
			a, b := seed.Draw(rt, "a"), seed.Draw(rt, "b")
			r := scenarios.SeedRange{First: min(a, b), Last: max(a, b)}
			parts = append(parts, r)
			for s := r.First; s <= r.Last; s++ {
				union[s] = true
			}
		}
		seeds, err := parseSeeds(parts.String())
		require.NoError(rt, err)
		var got []uint64
		for i := range seeds.Len() {
			got = append(got, seeds.At(i))
		}
		require.Len(rt, got, len(union))
		require.True(rt, slices.IsSorted(got))
		for _, s := range got {
			require.True(rt, union[s])
		}
	})
}

func TestInvocation(t *testing.T) {
	require.Equal(t, "simrun", invocation("simrun", "simrun", "x/cmd/simrun"))
	require.Equal(t, "./simrun", invocation("./simrun", "simrun", "x/cmd/simrun"))
	require.Equal(t, "'/opt/my tools/simrun'", invocation("/opt/my tools/simrun", "simrun", ""))
	require.Equal(t, "go run x/cmd/simrun", invocation("/tmp/go-build123/b001/exe/simrun", "simrun", "x/cmd/simrun"))
	require.Equal(t, "/tmp/go-build123/b001/exe/simrun", invocation("/tmp/go-build123/b001/exe/simrun", "simrun", ""))
}

func TestVersionText(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}}
	require.Equal(t, "v1.2.3 go1.26.0", versionText(info))
	info.Main.Version = ""
	info.Settings = []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "true")}
	require.Equal(t, "(devel) revision abc with changes go1.26.0", versionText(info))
}

func TestCampaignStatus(t *testing.T) {
	term := &Interrupted{Signal: syscall.SIGTERM}
	for _, test := range []struct {
		summary scenarios.Summary
		cause   error
		want    int
	}{
		{scenarios.Summary{Passed: 3}, nil, 0},
		{scenarios.Summary{Passed: 3, Failed: 1, Unknown: 1}, nil, 1},
		{scenarios.Summary{Passed: 3, Unknown: 1}, nil, 3},
		{scenarios.Summary{Passed: 3, Abandoned: []uint64{7}}, nil, 3},
		{scenarios.Summary{}, nil, 3},
		{scenarios.Summary{Passed: 3, Interrupted: true}, &Interrupted{Signal: syscall.SIGINT}, 130},
		{scenarios.Summary{Passed: 3, Unknown: 1, Interrupted: true}, term, 143},
		{scenarios.Summary{Interrupted: true}, context.Canceled, 130},
		{scenarios.Summary{Failed: 1, Interrupted: true}, term, 1},
	} {
		require.Equal(t, test.want, campaignStatus(test.summary, test.cause), "%+v", test)
	}
	require.EqualError(t, term, "interrupted (terminated)")
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "a; b; c", oneLine("a\nb\r\n\nc\n"))
}

func TestProgressLine(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	c := &Command{Stderr: &out}
	p := c.progress("shard", scenarios.Seeds{{First: 1, Last: 200}}, 0)
	p.start, p.every = start, 0
	p.add(&scenarios.Result{Verdict: scenarios.Pass})
	p.add(&scenarios.Result{Verdict: scenarios.Fail})
	p.add(&scenarios.Result{Verdict: scenarios.Unknown})
	require.Equal(t, 3, strings.Count(out.String(), "\n"), "one line for each, since every is 0")
	require.Equal(t, "shard: 3 of 200 seeds, 1 failed, 1 unknown, 1.5 seeds/s, 2s", p.line(start.Add(2*time.Second)))

	out.Reset()
	p.every = time.Hour
	p.add(&scenarios.Result{Verdict: scenarios.Pass})
	require.Empty(t, out.String(), "too soon")

	p = c.progress("shard", scenarios.Seeds{{First: 1, Last: 1<<64 - 1}}, time.Minute)
	p.start = start
	require.Equal(t, "shard: 0 seeds, 0 failed, 0 unknown, 0.0 seeds/s, 2s of 1m0s", p.line(start.Add(2*time.Second)))
}

func TestDifferingField(t *testing.T) {
	base := scenarios.Result{TraceHash: "1", Verdict: scenarios.Pass, WallNS: 5, Repro: "here"}
	same := base
	same.WallNS, same.Repro = 6, "there"
	same.Faults, same.Failures, same.Settings = map[string]int{}, []scenarios.Failure{}, map[string]string{}
	field, _, _ := differingField(base, same)
	require.Empty(t, field, "real time, the command, and nil or empty do not count")
	require.Empty(t, notDeterministic(base, same))

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
		field, was, is := differingField(base, changed)
		require.Equal(t, name, field)
		require.NotEqual(t, was, is)
		require.Contains(t, notDeterministic(base, changed), "not deterministic: "+name+" was ")
	}
}

func TestErrorsCanBeToldApart(t *testing.T) {
	cause := errors.New("cause")
	err := usagef("call: %w", cause)
	require.ErrorIs(t, err, cause)
	var stderr strings.Builder
	c := &Command{Name: "simrun", Stderr: &stderr}
	require.Equal(t, 2, c.report(err))
	require.Equal(t, 3, c.report(cause))
	require.Equal(t, 1, c.report(status(1)))
	require.Equal(t, 0, c.report(status(0)))
	require.Equal(t, "simrun: call: cause\nsimrun: cause\n", stderr.String(), "a status has been explained already")
}
