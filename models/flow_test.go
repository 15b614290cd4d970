package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/models"
)

// counting counts the rows of a source by their first letter: "a:2".
func counting() *models.FlowQuery {
	return &models.FlowQuery{
		Flow: "f", Source: "t",
		Eval: func(contents []models.Row) []string {
			counts := map[string]int64{}
			var letters []string
			for _, r := range contents {
				if counts[r.Data[:1]] == 0 {
					letters = append(letters, r.Data[:1])
				}
				counts[r.Data[:1]] += r.Diff
			}
			rows := make([]string, len(letters))
			for i, l := range letters {
				rows[i] = fmt.Sprintf("%s:%d", l, counts[l])
			}
			return rows
		},
		Key: func(row string) string { return strings.Split(row, ":")[0] },
		Count: func(row string) (n int64, ok bool) {
			_, err := fmt.Sscanf(row[2:], "%d", &n)
			return n, err == nil
		},
	}
}

// observed is a model of a source with four changes.
func observed() *models.Flows {
	f := models.NewFlows()
	f.Changed("t", 1, []models.Row{{Data: "a1", Diff: 1}, {Data: "b1", Diff: 1}})
	f.Changed("t", 2, nil)
	f.Changed("t", 3, []models.Row{{Data: "a2", Diff: 1}})
	f.Changed("t", 4, []models.Row{{Data: "b1", Diff: -1}})
	return f
}

func verdicts(f *models.Flows) map[string]models.Judgement {
	all := map[string]models.Judgement{}
	for _, o := range f.Oracles() {
		all[o.Name()] = o.Judge()
	}
	return all
}

func TestFlowsSinkIsTheQueryBeforeSomeChange(t *testing.T) {
	for _, c := range []struct {
		from, to uint64
		sink     string
		at       uint64
		ok       bool
		wrong    string
	}{
		{5, 5, "a:2", 5, true, ""},
		{1, 5, "", 1, true, ""},
		{2, 5, "a:1 b:1", 2, true, ""},
		{3, 5, "a:1 b:1", 3, true, ""},
		{4, 5, "a:1 b:1", 0, false, `has "a:1" in place of "a:2"`},
		{5, 5, "a:2 b:1", 0, false, `1 rows differ before change 5: it has "b:1" too much`},
		{1, 3, "a:2 b:1", 0, false, `has "a:2" in place of "a:1"`},
		{4, 4, "a:2", 0, false, `lacks "b:1"`},
		{5, 5, "a:2 a:2", 0, false, `two rows of the key "a"`},
	} {
		f := observed()
		at, ok := f.Seen(models.OracleSinkEqualsQuery, counting(), c.from, c.to, strings.Fields(c.sink), models.Moment{})
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.at, at, "%+v", c)
		j := verdicts(f)[models.OracleSinkEqualsQuery]
		require.Equal(t, 1, j.Judged)
		if !c.ok {
			require.Equal(t, models.VerdictFail, j.Verdict)
			require.Contains(t, j.Violations[0].Message, c.wrong)
		}
	}
}

func TestFlowsCountNothingTwice(t *testing.T) {
	f := observed()
	f.Seen(models.OracleFlushVisible, counting(), 5, 5, []string{"a:3"}, models.Moment{})
	j := verdicts(f)[models.OracleNoDoubleCount]
	require.Equal(t, models.VerdictFail, j.Verdict)
	require.Contains(t, j.Violations[0].Message, `counts 3 rows in "a", and t never had more than 2`)

	f = observed() // wrong, and no double count: there were as many once
	f.Seen(models.OracleFlushVisible, counting(), 5, 5, []string{"a:2", "b:1"}, models.Moment{})
	require.Equal(t, models.VerdictPass, verdicts(f)[models.OracleNoDoubleCount].Verdict)
}

func TestFlowsGroupsThatExpire(t *testing.T) {
	for _, c := range []struct {
		state    models.FlowGroup
		inherits bool
		sink     string
		ok       bool
	}{
		{models.GroupAlive, false, "a:2 b:1", false},
		{models.GroupFading, false, "a:2 b:1", true}, // b was there once
		{models.GroupFading, false, "a:2", true},
		{models.GroupFading, false, "a:2 b:9", false},
		{models.GroupFading, true, "a:2 b:9", true},
		{models.GroupExpired, true, "a:2 b:1", false},
		{models.GroupExpired, false, "a:2", true},
	} {
		q := counting()
		q.Inherits = c.inherits
		q.Group = func(key string) models.FlowGroup {
			if key == "b" {
				return c.state
			}
			return models.GroupAlive
		}
		_, ok := observed().Seen(models.OracleSinkEqualsQuery, q, 5, 5, strings.Fields(c.sink), models.Moment{})
		require.Equal(t, c.ok, ok, "%+v", c)
	}
}

func TestFlowsAcceptedRowsAreStored(t *testing.T) {
	f := observed()
	f.Accepted("t", []string{"b1", "a1"}, models.Moment{})
	require.Equal(t, models.VerdictPass, verdicts(f)[models.OracleAcceptedIsStored].Verdict, "b1 was deleted later, which is another matter")
	f.Accepted("t", []string{"c1"}, models.Moment{})
	require.Equal(t, models.VerdictFail, verdicts(f)[models.OracleAcceptedIsStored].Verdict)
}

func TestFlowsThatJudgedNothingAreUnknown(t *testing.T) {
	for name, j := range verdicts(observed()) {
		require.Equal(t, models.VerdictUnknown, j.Verdict, name)
	}
	require.Panics(t, func() { observed().Changed("t", 7, nil) }, "a gap in the numbers")
}
