package persist_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// Names that no store could hold are refused at once, by all that take one; the longest possible works,
// on a disk too.
func TestShardIDs(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		client := onDisk(w).client(w.Host(), persist.Config{})
		for _, bad := range []persist.ShardID{"", persist.ShardID(strings.Repeat("x", persist.MaxShardID+1)), persist.ShardID(strings.Repeat("/", 43))} {
			_, err := client.OpenWriter(background, bad)
			require.ErrorIs(t, err, persist.ErrBadShardID)
			_, err = client.OpenReader(background, bad)
			require.ErrorIs(t, err, persist.ErrBadShardID)
			require.ErrorIs(t, client.Finalize(background, bad), persist.ErrBadShardID)
		}
		ctx, cancel := w.Host().Clock().WithTimeout(background, time.Minute)
		defer cancel()
		writer, err := client.OpenWriter(ctx, persist.ShardID(strings.Repeat("x", persist.MaxShardID)))
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(ctx, []persist.Update{update("x", 1, 1)}, at(0), at(2)))
	})
}
