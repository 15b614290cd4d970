package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// A task, its stores and its rival are on machines of their own, and all of them crash.
// Whoever drives the task feeds it anew after each start. What is acknowledged is to be read;
// once all is calm the shard holds what it should.
func TestTaskOnACluster(t *testing.T) {
	sometimes := map[string]int{}
	for seed := range uint64(8) {
		hash := taskOnACluster(t, seed, sometimes)
		if seed == 0 {
			require.Equal(t, hash, taskOnACluster(t, seed, sometimes), "the same seed, the same run")
		}
	}
	for _, name := range []string{
		"storage: a tick found that somebody else wrote",
		"storage: a tick writes what differs",
		"storage: a write is tried again after somebody else's",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// taskOnACluster is one run, of which it returns the trace's hash.
func taskOnACluster(t *testing.T, seed uint64, sometimes map[string]int) uint64 {
	w := sim.New(sim.Config{Seed: seed, Buggify: seed%2 == 1, MaxTime: time.Hour})
	blob := w.NewNode("blob", func(h host.Host) {
		if _, err := persist.ServeBlob(h, "persist"); err != nil {
			panic(err)
		}
	})
	consensus := w.NewNode("consensus", func(h host.Host) {
		if _, _, err := persist.ServeConsensus(h, "persist"); err != nil {
			panic(err)
		}
	})
	client := func(h host.Host) *persist.Client {
		return persist.NewClient(h, persist.NewBlobClient(h, "blob:persist"), persist.NewConsensusClient(h, "consensus:persist"), persist.Config{})
	}
	calm := false
	// want is what the task was told so far; acknowledged is how many of the first of these it has confirmed.
	var want []string
	acknowledged := 0
	task := w.NewNode("task", func(h host.Host) {
		want, acknowledged = nil, 0
		c := client(h)
		writer, err := c.OpenWriter(background, shard)
		require.NoError(t, err)
		task := storage.Spawn(h, storage.TaskConfig{
			ID: "u1", Writer: writer,
			OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return c.OpenReader(ctx, shard) },
		})
		for i := 0; !calm; i++ {
			row := fmt.Sprintf("%s.%d/%03d", h.Name(), h.Incarnation(), i)
			want = append(want, row)
			err := task.Write(background, add(row))
			if err == nil {
				acknowledged = i + 1
			} else {
				require.ErrorAs(t, err, new(*storage.InvalidUppers))
			}
		}
	})
	rival := w.NewNode("rival", func(h host.Host) {
		writer, err := client(h).OpenWriter(background, shard)
		require.NoError(t, err)
		for !calm {
			h.Clock().Sleep(time.Duration(h.Rand().IntN(3000)) * time.Millisecond)
			upper, err := writer.FetchRecentUpper(background)
			require.NoError(t, err)
			from, _ := upper.Time()
			ctx, cancel := h.Clock().WithTimeout(background, 5*time.Second)
			_ = writer.CompareAndAppend(ctx, []persist.Update{{Data: "theirs", Time: from, Diff: 1}}, upper, persist.At(from+1+h.Rand().Uint64N(2000)))
			cancel()
		}
	})
	w.Go("test", func() {
		defer w.Stop()
		random := w.NewStream("test", "faults")
		nodes := []*sim.Node{blob, consensus, task, rival}
		w.Sleep(time.Second)
		reader, err := client(w.Host()).OpenReader(background, shard)
		require.NoError(t, err)
		writer, err := client(w.Host()).OpenWriter(background, shard)
		require.NoError(t, err)
		read := func() (persist.Frontier, []string) {
			for {
				ctx, cancel := w.Host().Clock().WithTimeout(background, 20*time.Second)
				upper, err := writer.FetchRecentUpper(ctx)
				var updates []persist.Update
				if err == nil {
					at, _ := upper.Time()
					updates, err = reader.SnapshotAndFetch(ctx, at-1)
				}
				cancel()
				if err != nil {
					require.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
					continue
				}
				var got []string
				for _, u := range updates {
					if u.Data != "theirs" {
						require.Equal(t, int64(1), u.Diff, u.Data)
					}
					got = append(got, u.Data)
				}
				return upper, got
			}
		}
		for range 25 {
			n := nodes[random.N(uint64(len(nodes)))]
			w.Sleep(time.Duration(random.Between(100, 3000)) * time.Millisecond)
			switch random.N(3) {
			case 0:
				n.Crash()
				w.Sleep(time.Duration(random.Between(0, 500)) * time.Millisecond)
				n.Restart()
			case 1:
				heal := w.AddRule(sim.Rule{From: []string{n.Name()}, Both: true, Drop: true})
				w.Sleep(time.Duration(random.Between(0, 2000)) * time.Millisecond)
				heal()
			case 2:
				w.ResetConns("task", "consensus")
			}
			// What was acknowledged before the read began is in it, unless the task was
			// restarted; a fresh task knows nothing of what the former was told.
			life, confirmed := task.Incarnation(), append([]string(nil), want[:acknowledged]...)
			_, got := read()
			if task.Incarnation() == life {
				require.Subset(t, got, confirmed)
			}
		}
		calm = true
		w.Sleep(3 * time.Minute)
		before, got := read()
		require.Equal(t, want, got, "the shard holds what it should")
		w.Sleep(5 * time.Second)
		after, _ := read()
		require.True(t, before.Before(after), "the upper goes on")
		require.NotEmpty(t, want)
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
	})
	err := w.Run()
	w.Close()
	require.NoError(t, err, "seed %d", seed)
	return w.Hash()
}
