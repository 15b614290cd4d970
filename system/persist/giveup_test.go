package persist_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// A shard is given up when nobody holds it but those who are named, or who have been dead for long enough.
func TestGiveUp(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		h := w.Host()
		blob, consensus := persist.NewMemBlob(h), persist.NewMemConsensus(h)
		client := persist.NewClient(h, blob, consensus, persist.Config{ReaderLease: 20 * time.Second})
		require.NoError(t, client.GiveUp(background, "never used"))

		const id persist.ShardID = "s"
		writer, err := client.OpenWriter(background, id)
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{{Data: "a", Time: 1, Diff: 1}}, persist.At(0), persist.At(2)))
		for _, holder := range []persist.CriticalID{"mine", "another's"} {
			_, err := client.OpenCritical(background, id, holder, 7)
			require.NoError(t, err)
		}
		var refused *persist.FinalizationError
		require.ErrorAs(t, client.GiveUp(background, id, "mine"), &refused)
		require.Equal(t, persist.FinalizationError{Shard: id, Since: persist.At(0), Upper: persist.Empty()}, *refused)
		var mismatch *persist.UpperMismatch
		require.ErrorAs(t, writer.CompareAndAppend(background, nil, persist.At(2), persist.At(3)), &mismatch, "it is closed all the same")

		dead := persist.NewClient(h, blob, consensus, persist.Config{ReaderLease: 20 * time.Second})
		_, err = dead.OpenReader(background, id)
		require.NoError(t, err)
		dead.Close()
		require.ErrorAs(t, client.GiveUp(background, id, "mine", "another's"), &refused)
		w.Sleep(21 * time.Second)
		_ = client.GiveUp(background, id, "mine", "another's") // ends the lease
		require.NoError(t, client.GiveUp(background, id, "mine", "another's"))
		require.NoError(t, client.GiveUp(background, id), "again")
		left, err := blob.List(background, "s/")
		require.NoError(t, err)
		require.Len(t, left, 1)
	})
	require.NoError(t, w.Run())
}
