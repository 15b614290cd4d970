package peer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
)

// A node that sees peers come and go all its life does not remember all of them.
func TestWhatANodeRemembersIsBounded(t *testing.T) {
	w := sim.New(sim.Config{MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		n := NewNode(w.Host(), "n", Config{}, func(string, string) {})
		for i := range 3 * departedKept {
			name := fmt.Sprint("peer", i)
			n.Add(name, "nowhere:peer")
			_, err := n.receive(batch[string]{From: name, To: "n", First: 1, Messages: []string{"hello"}})
			require.NoError(t, err)
			n.Remove(name)
			n.Remove(name)
		}
		require.Empty(t, n.peers)
		require.Empty(t, n.from)
		require.Len(t, n.gone.names, departedKept)
		require.Len(t, n.gone.order, departedKept)
	})
	require.NoError(t, w.Run())
}
