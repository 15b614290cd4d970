package persist

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
)

// onWorld runs body as a task of a world.
func onWorld(t *testing.T, seed uint64, body func(w *sim.World)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		body(w)
	})
	require.NoError(t, w.Run())
}

// A listener whose lease ran out before its shard was finalised is told so, and not that the shard has
// nothing more.
func TestListenerOfAFinalizedShard(t *testing.T) {
	onWorld(t, 1, func(w *sim.World) {
		ctx, h := context.Background(), w.Host()
		blob, consensus := NewMemBlob(h), NewMemConsensus(h)
		client := NewClient(h, blob, consensus, Config{})
		defer client.Close()
		writer, err := client.OpenWriter(ctx, "s")
		require.NoError(t, err)
		reader, err := client.OpenReader(ctx, "s")
		require.NoError(t, err)
		snapshot, err := client.OpenReader(ctx, "s")
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(ctx, []Update{{Data: "x", Time: 1, Diff: 1}}, At(0), At(5)))
		listener, err := reader.Listen(ctx, 1)
		require.NoError(t, err)
		pinned, err := snapshot.Snapshot(ctx, 2)
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(ctx, nil, At(5), Empty()))

		// As others see it, both leases have run out.
		for _, r := range []*ReadHandle{reader, snapshot} {
			_, _, err = r.m.idempotent(ctx, func(next *state, _ uint64) verdict {
				_, v := next.expireReader(r.id)
				return v
			})
			require.NoError(t, err)
		}
		other := NewClient(h, blob, consensus, Config{})
		defer other.Close()
		holder, err := other.OpenReader(ctx, "s")
		require.NoError(t, err)
		_, err = holder.DowngradeSince(ctx, Empty())
		require.NoError(t, err)
		require.NoError(t, other.Finalize(ctx, "s"))

		_, err = listener.Next(ctx)
		require.ErrorIs(t, err, ErrLeaseExpired)
		_, err = pinned.Fetch(ctx)
		require.ErrorIs(t, err, ErrLeaseExpired)
	})
}
