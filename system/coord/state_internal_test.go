package coord

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// However far revisions are apart, changes are in their order.
func TestImageHasChangesInOrder(t *testing.T) {
	at := func(key string, r Revision) KeyValue {
		return KeyValue{Key: key, CreateRevision: r, ModRevision: r, Version: 1}
	}
	s := image{Revision: math.MaxUint64, Compacted: 1, Entries: []KeyValue{at("a", math.MaxUint64), at("b", 1<<63), at("c", 1)}}.state()
	var keys []string
	for _, e := range s.changes {
		keys = append(keys, e.Key)
	}
	require.Equal(t, []string{"c", "b", "a"}, keys)
}
