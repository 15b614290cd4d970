package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// step is one of what happens to an append-only collection.
type step struct {
	Kind string
	Rows int
	Wait time.Duration
}

// Whatever happens to the task, its stores and its shard: rows of which an append was acknowledged are
// there once, those that were refused are not, and those of which nothing is known are there once or not, all of one
// command alike. Each command is answered once.
func TestAppendOnlyProperty(t *testing.T) {
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Kind: rapid.SampledFrom([]string{"append", "append", "append", "rival", "lose reply", "lose request", "refuse", "shutdown", "abort", "close send", "respawn"}).Draw(t, "kind"),
			Rows: rapid.IntRange(0, 3).Draw(t, "rows"),
			Wait: time.Duration(rapid.IntRange(0, 1500).Draw(t, "wait")) * time.Millisecond,
		}
	}), 1, 30)
	rapid.Check(t, func(rt *rapid.T) {
		script, seed := steps.Draw(rt, "steps"), rapid.Uint64Range(0, 100).Draw(rt, "seed")
		w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour, Buggify: true})
		defer w.Close()
		w.Go("test", func() {
			defer w.Stop()
			appendOnlyScript(rt, w, script)
		})
		require.NoError(rt, w.Run())
	})
}

func appendOnlyScript(t *rapid.T, w *sim.World, script []step) {
	h := w.Host()
	memory, blob := persist.NewMemConsensus(h), persist.NewMemBlob(h)
	g := &gate{Consensus: memory}
	client := persist.NewClient(h, blob, g, persist.Config{})
	outside := persist.NewClient(h, blob, memory, persist.Config{})
	rival, err := outside.OpenWriter(background, shard)
	require.NoError(t, err)
	spawn := func() *storage.Handle {
		writer, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		return storage.SpawnAppendOnly(h, storage.AppendOnlyConfig{ID: "u1", Writer: writer})
	}
	lost := func(kind error) error { return &persist.StoreError{Kind: kind, Err: errors.New("injected")} }
	var requests, replies []error // to fail the next compare-and-sets with
	inner := g.Consensus
	g.Consensus = casFunc{inner, func(do func() (bool, error)) (bool, error) {
		if len(requests) > 0 {
			err := requests[0]
			requests = requests[1:]
			return false, err
		}
		committed, err := do()
		if committed && len(replies) > 0 {
			err = replies[0]
			replies = replies[1:]
			return false, err
		}
		return committed, err
	}}

	task := spawn()
	answers := map[string][]error{}
	sent := map[string]int{}
	for i, s := range script {
		switch s.Kind {
		case "append":
			name := fmt.Sprint("c", i)
			sent[name] = s.Rows
			var added []storage.RowDiff
			for r := range s.Rows {
				added = append(added, storage.RowDiff{Row: fmt.Sprint(name, "/", r), Diff: 1})
			}
			task.Send(storage.Append{Updates: added}, func(err error) { answers[name] = append(answers[name], err) })
		case "rival":
			upper, err := rival.FetchRecentUpper(background)
			require.NoError(t, err)
			at, _ := upper.Time()
			_ = rival.CompareAndAppend(background, []persist.Update{{Data: "theirs", Time: at, Diff: 1}}, upper, persist.At(at+1+uint64(s.Rows)*1000))
		case "lose reply":
			replies = append(replies, lost(persist.ErrIndeterminate))
		case "lose request":
			requests = append(requests, lost(persist.ErrIndeterminate))
		case "refuse":
			requests = append(requests, lost(persist.ErrDeterminate))
		case "shutdown":
			task.Shutdown()
		case "abort":
			task.Abort()
		case "close send":
			task.CloseSend()
		case "respawn":
			task.Shutdown()
			task.Wait(background)
			task = spawn()
		}
		w.Sleep(s.Wait)
	}
	task.CloseSend()
	task.Wait(background)
	w.Sleep(time.Minute) // what was given up may still come

	reader, err := outside.OpenReader(background, shard)
	require.NoError(t, err)
	upper, err := rival.FetchRecentUpper(background)
	require.NoError(t, err)
	there := map[string]int{}
	if at, _ := upper.Time(); at > 0 {
		updates, err := reader.SnapshotAndFetch(background, at-1)
		require.NoError(t, err)
		for _, u := range updates {
			if u.Data == "theirs" {
				continue
			}
			require.Equal(t, int64(1), u.Diff, "%s", u.Data)
			name, _, _ := strings.Cut(u.Data, "/")
			there[name]++
		}
	}
	for name, rows := range sent {
		require.Len(t, answers[name], 1, "answers to %s", name)
		var aborted *storage.Aborted
		switch err := answers[name][0]; {
		case err == nil:
			require.Equal(t, rows, there[name], "%s was acknowledged", name)
		case errors.As(err, &aborted), errors.Is(err, persist.ErrIndeterminate):
			require.Contains(t, []int{0, rows}, there[name], "%s is there in part", name)
		default:
			require.Zero(t, there[name], "%s was refused: %v", name, err)
		}
		delete(there, name)
	}
	require.Empty(t, there)
}
