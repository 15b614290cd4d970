package dataflow

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/persist"
)

// TestBatchesAreFew: a lookup searches each batch.
func TestBatchesAreFew(t *testing.T) {
	a, err := NewArrangement(NewSchema(Column{Type: Type(KindInt64)}), nil, 0)
	require.NoError(t, err)
	for time := range uint64(3000) {
		require.NoError(t, a.Apply(Output{
			Lower: persist.At(time), Upper: persist.At(time + 1),
			Updates: []Update{{Row: Pack(Int(int64(time))), Time: time, Diff: 1}},
		}))
		require.LessOrEqual(t, len(a.batches), 12)
	}
	require.Equal(t, 3000, a.Len())
}
