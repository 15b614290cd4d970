package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joshdk/go-junit"
	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// campaignOf adds results up.
func campaignOf(results ...scenarios.Result) scenarios.Summary {
	s := scenarios.Summary{Scenario: "shard", Wall: 4200 * time.Millisecond}
	for i := range results {
		s.Add(&results[i])
	}
	return s
}

func passed(seed uint64) scenarios.Result {
	r := failed()
	r.Seed, r.Verdict, r.Failures = seed, scenarios.Pass, nil
	return r
}

func unjudged(seed uint64) scenarios.Result {
	r := failed()
	r.Seed, r.Verdict = seed, scenarios.Unknown
	r.Failures = []scenarios.Failure{{Oracle: "vacuous", Message: "no operation succeeded"}}
	return r
}

// written writes results as JUnit XML and reads them back as others do.
func written(t *testing.T, results ...scenarios.Result) (string, junit.Suite) {
	t.Helper()
	var j reports.JUnit
	for _, r := range results {
		j.Add(r, reports.Detail{InForce: []string{"net.loss/2 on s1"}})
	}
	var out bytes.Buffer
	require.NoError(t, j.Write(&out, campaignOf(results...), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	suites, err := junit.Ingest(out.Bytes())
	require.NoError(t, err)
	require.Len(t, suites, 1)
	return out.String(), suites[0]
}

func TestJUnit(t *testing.T) {
	text, suite := written(t, passed(16), failed(), unjudged(18))
	require.Equal(t, "shard", suite.Name)
	require.Equal(t, 3, suite.Totals.Tests)
	require.Equal(t, 1, suite.Totals.Passed)
	require.Equal(t, 1, suite.Totals.Failed)
	require.Equal(t, 1, suite.Totals.Error)
	require.Equal(t, "3", suite.Properties["seeds"])

	require.Equal(t, "seed 16", suite.Tests[0].Name)
	require.Equal(t, "shard", suite.Tests[0].Classname)
	require.Equal(t, 20*time.Millisecond, suite.Tests[0].Duration)
	require.Equal(t, junit.StatusPassed, suite.Tests[0].Status)

	require.Equal(t, "seed 17", suite.Tests[1].Name)
	require.Equal(t, junit.StatusFailed, suite.Tests[1].Status)
	failure, ok := suite.Tests[1].Error.(junit.Error)
	require.True(t, ok)
	require.Equal(t, "persist/linearizable", failure.Type)
	require.Equal(t, "shard s2: upper 7 was never written ...", failure.Message)
	require.Contains(t, failure.Body, "in force   net.loss/2 on s1\n")
	require.Contains(t, failure.Body, "reproduce  simrun repro shard:17 --set clients=5\n")

	require.Equal(t, junit.StatusError, suite.Tests[2].Status)
	require.Contains(t, text, "<error type=\"vacuous\" message=\"no operation succeeded\">")
	require.Contains(t, text, "timestamp=\"2026-01-02T03:04:05\"")
	require.Contains(t, text, "\n  reproduce  ", "lines stay lines, for who reads the file as it is")
}

// Of a long campaign the passing seeds are put together, the others are not.
func TestJUnitOfManySeeds(t *testing.T) {
	var results []scenarios.Result
	for seed := uint64(1); seed <= 10_000; seed++ {
		r := passed(seed)
		if seed%2500 == 0 {
			r = failed()
			r.Seed = seed
		}
		results = append(results, r)
	}
	text, suite := written(t, results...)
	require.Less(t, len(text), 20_000)
	require.Equal(t, 4, suite.Totals.Failed)
	require.Equal(t, 16, suite.Totals.Tests)
	require.Equal(t, "seeds 1-1000", suite.Tests[0].Name)
	require.Equal(t, 20*time.Second, suite.Tests[0].Duration)
	require.Equal(t, "seeds 2001-2499", suite.Tests[2].Name)
	require.Equal(t, "seed 2500", suite.Tests[3].Name)
	require.Equal(t, "10000", suite.Properties["seeds"])

	_, suite = written(t, results[:1000]...)
	require.Equal(t, 1000, suite.Totals.Tests, "up to a thousand seeds have a case each")
}

// A bug that every seed meets is told in full a few times only.
func TestJUnitOfManyFailures(t *testing.T) {
	var results []scenarios.Result
	for seed := uint64(1); seed <= 50; seed++ {
		r := failed()
		r.Seed, r.Repro = seed, fmt.Sprintf("simrun repro shard:%d", seed)
		results = append(results, r)
	}
	text, suite := written(t, results...)
	require.Equal(t, 50, suite.Totals.Failed)
	require.Equal(t, 20, strings.Count(text, "trace hash"))
	require.Equal(t, 50, strings.Count(text, "reproduce  simrun repro shard:"))
}

func TestJUnitSurvivesAnyText(t *testing.T) {
	r := failed()
	r.Failures[0].Message = "bytes \x00\x1b[31m and \xff ]]> <b> & \u2028 \ufffe"
	_, suite := written(t, r)
	failure, ok := suite.Tests[0].Error.(junit.Error)
	require.True(t, ok)
	require.Contains(t, failure.Body, "]]> <b> &")
	require.Contains(t, failure.Message, "]]> <b> &")
}

func TestJUnitOfNothing(t *testing.T) {
	s := campaignOf()
	s.Interrupted, s.Abandoned = true, []uint64{3}
	var j reports.JUnit
	var out bytes.Buffer
	require.NoError(t, j.Write(&out, s, time.Time{}))
	suites, err := junit.Ingest(out.Bytes())
	require.NoError(t, err)
	require.Equal(t, 1, suites[0].Totals.Error)
	require.Equal(t, "true", suites[0].Properties["interrupted"])
	require.ErrorIs(t, j.Write(full{}, s, time.Time{}), errFull)
}
