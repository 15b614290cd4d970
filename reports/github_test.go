package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// published is a campaign for reports that are read elsewhere.
func published(results ...scenarios.Result) *reports.Campaign {
	return &reports.Campaign{
		Summary:  campaignOf(results...),
		Seeds:    scenarios.Seeds{{First: 1, Last: 20}},
		Settings: map[string]string{"clients": "5", "shards": "2"},
		Command:  func(seed uint64) string { return fmt.Sprintf("simrun repro shard:%d --set 'a|b=c'", seed) },
	}
}

func TestGitHubAnnotations(t *testing.T) {
	r := failed()
	r.Failures = r.Failures[:1]
	r.Failures[0].Message = "100% lost, twice: a\nb"
	var out bytes.Buffer
	require.NoError(t, reports.GitHubAnnotations(&out, published(unjudged(3), r, passed(18))))
	require.Equal(t, "::error title=shard seed 17%3A persist/linearizable::100%25 lost, twice: a%0Ab%0A"+
		"at virtual 12.346s, in 1 seed%0Areproduce: simrun repro shard:17 --set 'a|b=c'\n"+
		"::warning title=shard seed 3%3A vacuous::no operation succeeded%0A"+
		"at virtual 0.000s, in 1 seed%0Areproduce: simrun repro shard:3 --set 'a|b=c'\n", out.String())
	require.ErrorIs(t, reports.GitHubAnnotations(full{}, published(r)), errFull)

	out.Reset()
	var many []scenarios.Result
	for i := range 30 {
		r := failed()
		r.Failures = []scenarios.Failure{{Oracle: "o", Message: strings.Repeat("x", i)}}
		many = append(many, r)
	}
	require.NoError(t, reports.GitHubAnnotations(&out, published(many...)))
	require.Equal(t, 10, strings.Count(out.String(), "::error "), "GitHub shows no more")
}

func TestGitHubSummary(t *testing.T) {
	r := failed()
	r.Failures[0].Message = "a | b\n<script> `c` *d*"
	var out bytes.Buffer
	require.NoError(t, reports.GitHubSummary(&out, published(r, passed(18), unjudged(19))))
	require.Contains(t, out.String(), "### simrun: shard **failed**\n")
	require.Contains(t, out.String(), "3 seeds in 4.2s, ")
	require.Contains(t, out.String(), "| 1 | persist/linearizable | a &#124; b ... | <code>simrun repro shard:17 --set 'a&#124;b=c'</code> |\n")
	require.Contains(t, out.String(), "| 3 | node.crash |\n")
	require.NotContains(t, out.String(), "<script>")

	for want, s := range map[string]scenarios.Summary{
		"shard passed":                  campaignOf(passed(1)),
		"shard **could not be judged**": campaignOf(unjudged(1)),
		"shard was interrupted":         {Scenario: "shard", Interrupted: true},
	} {
		out.Reset()
		require.NoError(t, reports.GitHubSummary(&out, &reports.Campaign{Summary: s, Command: published().Command}))
		require.Contains(t, out.String(), want)
	}
	require.ErrorIs(t, reports.GitHubSummary(full{}, published(r)), errFull)
}
