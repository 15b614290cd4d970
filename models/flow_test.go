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
		for _, oracle := range []string{models.OracleSinkEqualsQuery, models.OracleFlushVisible} {
			f := observed()
			at, ok := f.Seen(oracle, counting(), c.from, c.to, strings.Fields(c.sink), models.Moment{})
			require.Equal(t, c.ok, ok, "%+v", c)
			require.Equal(t, c.at, at, "%+v", c)
			j := verdicts(f)[oracle]
			require.Equal(t, 1, j.Judged)
			if !c.ok {
				require.Equal(t, models.VerdictFail, j.Verdict)
				require.Contains(t, j.Violations[0].Message, c.wrong)
			}
		}
	}
}

// TestFlowsHistories: short histories that are wrong in one thing each, and what is right beside them.
func TestFlowsHistories(t *testing.T) {
	moment := models.Moment{NS: 5, Event: 7}
	for _, c := range []struct {
		name    string
		history func(f *models.Flows, q *models.FlowQuery)
		fails   []string
	}{
		{"a flush lacks a row that was acknowledged before it", func(f *models.Flows, q *models.FlowQuery) {
			f.Seen(models.OracleFlushVisible, q, f.Next("t"), f.Next("t"), []string{"a:1", "b:1"}, moment)
		}, []string{models.OracleFlushVisible}},
		{"a flush lacks a row that was inserted while it ran", func(f *models.Flows, q *models.FlowQuery) {
			before := f.Next("t")
			f.Changed("t", 5, []models.Row{{Data: "c1", Diff: 1}})
			f.Seen(models.OracleFlushVisible, q, before, f.Next("t"), []string{"a:2"}, moment)
		}, nil},
		{"a sink goes back behind what it was seen at", func(f *models.Flows, q *models.FlowQuery) {
			at, _ := f.Seen(models.OracleSinkEqualsQuery, q, 1, 5, []string{"a:2"}, moment)
			f.Seen(models.OracleSinkEqualsQuery, q, at, 5, []string{"a:2", "b:1"}, moment)
		}, []string{models.OracleSinkEqualsQuery}},
		{"a group is of one time and another of another", func(f *models.Flows, q *models.FlowQuery) {
			f.Changed("t", 5, []models.Row{{Data: "b2", Diff: 1}})
			f.Seen(models.OracleSinkEqualsQuery, q, 1, 6, []string{"a:1"}, moment)
		}, []string{models.OracleSinkEqualsQuery}},
		{"a write is done twice by a sink that adds", func(f *models.Flows, q *models.FlowQuery) {
			f.Seen(models.OracleFlushVisible, q, 5, 5, []string{"a:4"}, moment)
		}, []string{models.OracleFlushVisible, models.OracleNoDoubleCount}},
		{"a refused flow is in the catalog", func(f *models.Flows, _ *models.FlowQuery) {
			f.Holds(models.OracleCreateAtomic, true, moment, "")
			f.Holds(models.OracleCreateAtomic, false, moment, "flow %s was refused and is there", "f")
		}, []string{models.OracleCreateAtomic}},
		{"a sink changes after its flow was removed", func(f *models.Flows, _ *models.FlowQuery) {
			f.Holds(models.OracleRemoveStops, false, moment, "changes %d to %d came later", 3, 4)
		}, []string{models.OracleRemoveStops}},
		{"a sink at rest lacks the last change", func(f *models.Flows, q *models.FlowQuery) {
			require.False(t, f.Shows(q, []string{"a:2", "b:1"}))
			f.Seen(models.OracleSinkConverges, q, 5, 5, []string{"a:2", "b:1"}, moment)
		}, []string{models.OracleSinkConverges}},
		{"a sink at rest has all", func(f *models.Flows, q *models.FlowQuery) {
			require.True(t, f.Shows(q, []string{"a:2"}))
			f.Seen(models.OracleSinkConverges, q, 5, 5, []string{"a:2"}, moment)
		}, nil},
		{"a refill does not end", func(f *models.Flows, _ *models.FlowQuery) {
			f.Holds(models.OracleRefillConverges, false, moment, "still refilling")
		}, []string{models.OracleRefillConverges}},
		{"an acknowledged row was stored twice", func(f *models.Flows, _ *models.FlowQuery) {
			f.Changed("t", 5, []models.Row{{Data: "a1", Diff: 1}})
			f.Accepted("t", []string{"a1", "a2"}, moment)
		}, []string{models.OracleAcceptedIsStored}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := observed()
			c.history(f, counting())
			var failed []string
			for _, name := range models.FlowOracles() {
				if j := verdicts(f)[name]; j.Verdict == models.VerdictFail {
					failed = append(failed, name)
					require.Equal(t, int64(5), j.Violations[0].AtNS)
					require.Equal(t, uint64(7), j.Violations[0].Event)
				}
			}
			require.Equal(t, c.fails, failed)
		})
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

// TestFlowsCountsAreJudgedByThemselves: of a sink that may lag behind by anything, also with some rows of one
// time and others of another.
func TestFlowsCountsAreJudgedByThemselves(t *testing.T) {
	for sink, ok := range map[string]bool{"a:1": true, "a:2 b:1": true, "a:3": false, "a:1 b:2": false, "c:1": false} {
		f := observed()
		f.Counted(counting(), 5, strings.Fields(sink), models.MomentAt(0, 0))
		judged := verdicts(f)
		require.Equal(t, ok, judged[models.OracleNoDoubleCount].Verdict == models.VerdictPass, sink)
		require.NotEqual(t, models.VerdictFail, judged[models.OracleSinkEqualsQuery].Verdict, sink)
	}
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
