package reports_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

func pageOf(t *testing.T, c *reports.Campaign, runs ...*reports.Timeline) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, reports.HTML(&out, c, runs))
	require.ErrorIs(t, reports.HTML(full{}, c, runs), errFull)
	return out.String()
}

func crashTimeline() *reports.Timeline {
	t := reports.NewTimeline(failed(), "simrun repro shard:17")
	t.Add(sim.Event{Number: 1, Kind: sim.EventStart, Node: "s1"})
	t.Add(sim.Event{Number: 2, At: 5e9, Kind: sim.EventLog, Node: "s1", Text: "</script><b>\u2028"})
	t.Add(sim.Event{Number: 4711, At: 12_345_678_901, Kind: sim.EventCrash, Node: "s1"})
	return t
}

// The page without its style and script, which are not to be compared letter by letter.
var styleOrScript = regexp.MustCompile(`(?s)<style>.*</style>|"use strict";.*(</script>)`)

func TestHTML(t *testing.T) {
	c := published(failed(), passed(18), unjudged(19))
	c.Options.Profile, c.Options.Strategy = "default", "pct"
	c.Options.Plan = &faults.Plan{Profile: "default"}
	text := pageOf(t, c, crashTimeline())
	text = styleOrScript.ReplaceAllString(text, "$1")
	path := filepath.Join("testdata", "page.html")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test ./reports -update rewrites %s", path)
}

// The page is whole: it fetches nothing, and what a run says cannot become part of it.
func TestHTMLIsSelfContained(t *testing.T) {
	r := failed()
	r.Failures[0].Message = "<img src=x onerror=alert(1)>"
	text := pageOf(t, published(r), crashTimeline())
	require.NotContains(t, text, "<img")
	require.Equal(t, 1, strings.Count(text, "</script>"))
	for _, fetches := range []string{"src=", "<link", "@import", "url(http", "fetch(", "import("} {
		require.NotContains(t, strings.ReplaceAll(text, "&lt;img src=x", ""), fetches)
	}
	require.Equal(t, strings.Count(text, "://"), strings.Count(text, "http://www.w3.org/2000/svg"))
	require.Contains(t, text, "prefers-color-scheme: dark")
	require.Contains(t, text, `<meta name="viewport"`)
}

// What the script is given is what the drawing has.
func TestHTMLDrawings(t *testing.T) {
	runs := []*reports.Timeline{crashTimeline(), crashTimeline(), crashTimeline(), crashTimeline()}
	text := pageOf(t, published(failed()), runs...)
	_, data, ok := strings.Cut(text, "const runs = ")
	require.True(t, ok)
	var drawings []struct {
		Seed  uint64
		Lanes []string
		Fail  int64
		Items []map[string]any
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&drawings))
	require.Len(t, drawings, reports.TimelinesDrawn)
	require.Equal(t, []string{"s1"}, drawings[0].Lanes)
	require.Equal(t, int64(12_345_678_901), drawings[0].Fail)
	require.Len(t, drawings[0].Items, 4)
	require.Equal(t, 3, strings.Count(text, `class="diagram"`))
}

func TestHTMLOfOtherCampaigns(t *testing.T) {
	text := pageOf(t, published(passed(1)))
	require.Contains(t, text, `<span class="verdict pass">passed</span>`)
	require.NotContains(t, text, "<script>")
	require.NotContains(t, text, "What failed")

	interrupted := published(passed(1))
	interrupted.Seeds = scenarios.Seeds{{First: 1, Last: math.MaxUint64}}
	interrupted.Interrupted = true
	text = pageOf(t, interrupted)
	require.Contains(t, text, `<span class="verdict unknown">interrupted</span>`)
	require.Contains(t, text, "this is what was done until then")
	require.Contains(t, text, "<p>1 seed in 4.2s, ", "of no number that was asked for")

	text = pageOf(t, &reports.Campaign{Summary: scenarios.Summary{Scenario: "shard"}})
	require.Contains(t, text, "could not be judged")
}

// BenchmarkHTML is the page of a campaign with a diagram of as many events as are kept.
func BenchmarkHTML(b *testing.B) {
	t := reports.NewTimeline(failed(), "simrun repro shard:17")
	for i := uint64(1); i <= 4711; i++ {
		t.Add(sim.Event{Number: i, At: int64(i), Kind: sim.EventLog, Node: "s1", Text: "a line of the log"})
	}
	c := published(failed())
	for b.Loop() {
		if err := reports.HTML(io.Discard, c, []*reports.Timeline{t}); err != nil {
			b.Fatal(err)
		}
	}
}
