package cli

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
