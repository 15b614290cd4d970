package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConverged(t *testing.T) {
	for _, c := range []struct {
		desired, actual []Row
		want            string
	}{
		{nil, nil, ""},
		{[]Row{{"a", 1}, {"b", 2}}, []Row{{"b", 1}, {"a", 1}, {"b", 1}}, ""},
		{[]Row{{"a", 1}, {"a", -1}}, nil, ""},
		{[]Row{{"a", 1}}, nil, `1 rows differ: 1 missing: "a"`},
		{nil, []Row{{"a", -2}}, `1 rows differ: 1 missing: "a" x2`},
		{[]Row{{"a", 1}, {"b", 1}}, []Row{{"b", 3}, {"c", 1}}, `3 rows differ: 1 missing: "a"; 2 too many: "b" x2, "c"`},
	} {
		found := CheckConverged("s", c.desired, c.actual, 7, 8)
		if c.want == "" {
			require.Empty(t, found)
			continue
		}
		require.Equal(t, []Violation{{
			Oracle: OracleConverges, AtNS: 8, Event: 7,
			Message: "shard s has not come to its desired contents, " + c.want,
		}}, found)
	}
}
