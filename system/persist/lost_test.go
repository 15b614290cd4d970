package persist_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

var errStuck = &persist.StoreError{Op: "maintain", Kind: persist.ErrDeterminate, Err: errors.New("stuck")}

// noRollups is a Blob with which who has to roll up is never done.
type noRollups struct{ persist.Blob }

func (b noRollups) Set(ctx context.Context, key string, value []byte) error {
	if isRollup(key) {
		return errStuck
	}
	return b.Blob.Set(ctx, key, value)
}

// noTruncation is a Consensus with which who has to collect is never done.
type noTruncation struct{ persist.Consensus }

func (noTruncation) Truncate(context.Context, string, persist.SeqNo) (int, error) { return 0, errStuck }

func isRollup(key string) bool { return strings.HasPrefix(key, string(shard)+"/v") }

// Maintenance that was asked of a process that died before it was done is asked for again by the next
// version after a while, however few versions follow.
func TestLostMaintenanceIsAskedForAgain(t *testing.T) {
	const interval, timeout = 16, 10 * time.Second
	for _, c := range []struct {
		name   string
		doomed func(persist.Blob, persist.Consensus) (persist.Blob, persist.Consensus)
		done   func(rollups int, oldest persist.SeqNo) bool
	}{
		{
			"a rollup",
			func(b persist.Blob, c persist.Consensus) (persist.Blob, persist.Consensus) { return noRollups{b}, c },
			func(rollups int, _ persist.SeqNo) bool { return rollups > 0 },
		},
		{
			"a collection",
			func(b persist.Blob, c persist.Consensus) (persist.Blob, persist.Consensus) { return b, noTruncation{c} },
			func(_ int, oldest persist.SeqNo) bool { return oldest > 1 },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, 8, func(w *sim.World) {
				if w.Seed()%2 == 1 {
					return // Buggify has maintenance done early, and forgets about it
				}
				s := inMemory(w)
				cfg := persist.Config{RollupInterval: interval, CollectInterval: interval, MaintenanceTimeout: timeout}
				write := func(client *persist.Client, versions int) {
					writer, err := client.OpenWriter(background, shard)
					require.NoError(t, err)
					for range versions {
						upper, err := writer.FetchRecentUpper(background)
						require.NoError(t, err)
						from := upperOf(upper)
						require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update(fmt.Sprint(from), from, 1)}, at(from), at(from+1)))
					}
					w.Sleep(time.Second) // for what was asked for
				}
				done := func() bool {
					rollups := 0
					for _, key := range blobKeys(t, w, s) {
						if isRollup(key) {
							rollups++
						}
					}
					versions, err := s.consensus(w.Host()).Scan(background, string(shard), 0, 1)
					require.NoError(t, err)
					return c.done(rollups, versions[0].SeqNo)
				}

				n := w.NewNode("doomed", func(host.Host) {})
				blob, consensus := c.doomed(s.blob(n.Host()), s.consensus(n.Host()))
				write(persist.NewClient(n.Host(), blob, consensus, cfg), interval)
				n.Crash()
				survivor := s.client(w.Host(), cfg)
				write(survivor, 1)
				require.False(t, done(), "it may be under way")
				w.Sleep(timeout)
				write(survivor, 1)
				require.True(t, done())
				require.Positive(t, w.Sometimes()["persist: maintenance was taken for lost and asked for again"])
			})
		})
	}
}
