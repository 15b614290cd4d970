package persist_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// aged is a shard with rollups whose early versions were dropped.
func aged(t *testing.T, w *sim.World) (stores, *persist.WriteHandle) {
	s := inMemory(w)
	writer, err := s.client(w.Host(), persist.Config{RollupInterval: 10, CollectInterval: 10}).OpenWriter(background, shard)
	require.NoError(t, err)
	for i := range uint64(35) {
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i, 1)}, at(i), at(i+1)))
		w.Sleep(10 * time.Millisecond)
	}
	w.Sleep(5 * time.Second)
	return s, writer
}

// Whoever opens a shard anew, or was away for long, gets to the same state.
func TestRebuild(t *testing.T) {
	inWorld(t, 6, func(w *sim.World) {
		s := inMemory(w)
		away, err := s.client(w.Host(), persist.Config{}).OpenWriter(background, shard)
		require.NoError(t, err)
		writer, err := s.client(w.Host(), eager).OpenWriter(background, shard)
		require.NoError(t, err)
		for i := range uint64(600) { // more than are fetched at a time
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i, 1)}, at(i), at(i+1)))
			if i%100 == 50 {
				w.Sleep(3 * time.Second)
				upper, err := away.FetchRecentUpper(background)
				require.NoError(t, err)
				require.Equal(t, at(i+1), upper)
				anew, err := s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
				require.NoError(t, err)
				got, err := anew.SnapshotAndFetch(background, i)
				require.NoError(t, err)
				require.Equal(t, []persist.Update{update("x", i, int64(i+1))}, got)
				require.NoError(t, anew.Expire(background))
				require.NoError(t, persist.CheckHistory(background, s.blob(w.Host()), s.consensus(w.Host()), shard))
			}
		}
	})
}

// pieces is a Consensus of which some versions are changed or missing.
type pieces struct {
	persist.Consensus
	change func(v persist.Versioned) (changed persist.Versioned, keep bool)
}

func (p pieces) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) (kept []persist.Versioned, err error) {
	all, err := p.Consensus.Scan(ctx, key, from, limit)
	for _, v := range all {
		if v, keep := p.change(v); keep {
			kept = append(kept, v)
		}
	}
	return kept, err
}

// What is missing or damaged is told as such, and nothing is served from it.
func TestDamagedHistory(t *testing.T) {
	last := func(s stores, w *sim.World) persist.SeqNo {
		v, err := s.consensus(w.Host()).Head(background, string(shard))
		if err != nil {
			panic(err)
		}
		return v.SeqNo
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, w *sim.World, s stores, rollup string) persist.Consensus
		want   error
		text   string
	}{
		{"a rollup is missing", func(t *testing.T, w *sim.World, s stores, rollup string) persist.Consensus {
			_, existed, err := s.blob(w.Host()).Delete(background, rollup)
			require.NoError(t, err)
			require.True(t, existed)
			return s.consensus(w.Host())
		}, persist.ErrMissingBlob, "rollup of version"},
		{"a rollup is damaged", func(t *testing.T, w *sim.World, s stores, rollup string) persist.Consensus {
			value, _, err := s.blob(w.Host()).Get(background, rollup)
			require.NoError(t, err)
			value = bytes.Clone(value)
			value[len(value)/2] ^= 1
			require.NoError(t, s.blob(w.Host()).Set(background, rollup, value))
			return s.consensus(w.Host())
		}, persist.ErrCorrupt, "checksum"},
		{"a version is missing", func(t *testing.T, w *sim.World, s stores, _ string) persist.Consensus {
			missing := last(s, w) - 1
			return pieces{s.consensus(w.Host()), func(v persist.Versioned) (persist.Versioned, bool) { return v, v.SeqNo != missing }}
		}, persist.ErrCorrupt, "were dropped"},
		{"a version is another one's", func(t *testing.T, w *sim.World, s stores, _ string) persist.Consensus {
			wrong := last(s, w) - 1
			return pieces{s.consensus(w.Host()), func(v persist.Versioned) (persist.Versioned, bool) {
				if v.SeqNo == wrong {
					v.SeqNo--
				}
				return v, true
			}}
		}, persist.ErrCorrupt, "it says that it is version"},
		{"a version is garbage", func(t *testing.T, w *sim.World, s stores, _ string) persist.Consensus {
			wrong := last(s, w)
			return pieces{s.consensus(w.Host()), func(v persist.Versioned) (persist.Versioned, bool) {
				if v.SeqNo == wrong {
					v.Data = []byte("garbage")
				}
				return v, true
			}}
		}, persist.ErrCorrupt, "version"},
		{"differences are damaged", func(t *testing.T, w *sim.World, s stores, _ string) persist.Consensus {
			wrong := last(s, w)
			return pieces{s.consensus(w.Host()), func(v persist.Versioned) (persist.Versioned, bool) {
				if v.SeqNo == wrong {
					// The name of the writer, somewhere in it: it still decodes.
					v.Data = bytes.ReplaceAll(v.Data, []byte("w-simrun"), []byte("w-simruN"))
				}
				return v, true
			}}
		}, persist.ErrCorrupt, "replaying"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := sim.New(sim.Config{})
			defer w.Close()
			w.Go("test", func() {
				defer w.Stop()
				s, _ := aged(t, w)
				rollup, err := persist.NewestRollup(background, s.blob(w.Host()), s.consensus(w.Host()), shard)
				require.NoError(t, err)
				require.NotEmpty(t, rollup)
				require.NoError(t, persist.CheckHistory(background, s.blob(w.Host()), s.consensus(w.Host()), shard))
				damaged := persist.NewClient(w.Host(), s.blob(w.Host()), c.damage(t, w, s, rollup), persist.Config{})
				_, err = damaged.OpenReader(background, shard)
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, c.text)
				require.NotErrorIs(t, err, persist.ErrIndeterminate)
				require.NotErrorIs(t, err, persist.ErrDeterminate)
			})
			require.NoError(t, w.Run())
		})
	}
}

// A consensus that lost versions and grew others in their place is found out as well.
func TestReplacedVersions(t *testing.T) {
	w := sim.New(sim.Config{ContinueOnFailure: true})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		one, other := inMemory(w), inMemory(w)
		sc := &script{Consensus: one.consensus(w.Host())}
		client := persist.NewClient(w.Host(), one.blob(w.Host()), sc, persist.Config{})
		writer, err := client.OpenWriter(background, shard)
		require.NoError(t, err)
		rival, err := other.client(w.Host(), persist.Config{}).OpenWriter(background, shard)
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(background, nil, at(0), at(1)))
		for i := range uint64(3) {
			require.NoError(t, rival.CompareAndAppend(background, nil, at(i), at(i+1)))
		}
		sc.Consensus = other.consensus(w.Host())
		_, err = writer.FetchRecentUpper(background)
		require.ErrorIs(t, err, persist.ErrRegressed)
		require.ErrorContains(t, err, "is not the one that was seen")
	})
	require.NoError(t, w.Run())
	require.NotEmpty(t, w.Failures(), "and it is reported as what must never happen")
}
