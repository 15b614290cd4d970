package persist_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Writers and readers on machines of their own, that crash as well as the stores do, over a
// network that loses messages and is cut now and then.
func TestClusterUnderFaults(t *testing.T) {
	const writers = 3
	sometimes := map[string]int{}
	inWorld(t, 6, func(w *sim.World) {
		s := served(w)
		var attempts []*attempt
		reads := map[uint64][]persist.Update{}
		told, quieted, stop := uint64(0), false, false
		nodes := s.nodes
		for i := range writers {
			nodes = append(nodes, w.NewNode(fmt.Sprint("client", i), func(h host.Host) {
				cfg := eager // so that many crashes come in the middle of maintenance
				cfg.ReaderLease = 5 * time.Second
				client := s.client(h, cfg)
				h.Go("read", func() {
					for !stop {
						readSome(t, h, client, reads, told)
					}
				})
				writer, err := client.OpenWriter(background, shard)
				require.NoError(t, err)
				for n := 0; !stop; n++ {
					from := upperOf(writer.Upper())
					if h.Rand().IntN(3) == 0 {
						from = told
					}
					a := &attempt{
						tag:  fmt.Sprint(h.Name(), ".", h.Incarnation(), "/", n),
						from: from, to: from + 1 + h.Rand().Uint64N(5), invoked: w.Events(),
						outcome: "unknown", ended: ^uint64(0), // unless told otherwise
					}
					attempts = append(attempts, a)
					ctx, cancel := h.Clock().WithTimeout(background, 2*time.Second)
					err := writer.CompareAndAppend(ctx, []persist.Update{update(a.tag, from, 1)}, at(from), at(a.to))
					cancel()
					a.ended = w.Events()
					var mismatch *persist.UpperMismatch
					switch {
					case err == nil:
						a.outcome, told = "ok", max(told, a.to)
					case errors.As(err, &mismatch):
						a.outcome, a.current = "mismatch", upperOf(mismatch.Current)
					case errors.Is(err, persist.ErrIndeterminate):
						a.ended = ^uint64(0) // it may still take effect
						require.NoError(t, writer.WaitForUpperPast(background, persist.Frontier{}))
						_, err := writer.FetchRecentUpper(background)
						require.NoError(t, err)
					default:
						require.ErrorIs(t, err, persist.ErrDeterminate)
						a.outcome = "not done"
					}
					h.Clock().Sleep(time.Duration(h.Rand().IntN(300)) * time.Millisecond)
				}
			}))
		}
		calm := crashing(w, nodes)
		quiet := w.AddRule(sim.Rule{Loss: 20_000})
		w.Go("resets", func() {
			random := w.NewStream("test", "resets")
			for !quieted {
				w.Sleep(time.Duration(random.Between(1, 40)) * time.Millisecond)
				w.ResetConns(s.nodes[1].Name(), fmt.Sprint("client", random.N(writers)))
			}
		})
		random := w.NewStream("test", "partitions")
		for range 10 {
			w.Sleep(time.Duration(random.Between(100, 1500)) * time.Millisecond)
			heal := w.AddRule(sim.Rule{From: []string{nodes[random.N(uint64(len(nodes)))].Name()}, Both: random.N(2) == 0, Drop: true})
			w.Sleep(time.Duration(random.Between(10, 1500)) * time.Millisecond)
			heal()
		}
		calm()
		quiet()
		quieted = true
		w.Sleep(5 * time.Second) // let it recover
		before := told
		w.Sleep(5 * time.Second)
		require.Greater(t, told, before, "appends go on once faults have ended")
		stop = true
		w.Sleep(30 * time.Second)

		reader, err := s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		snapshot := func(asOf uint64) []persist.Update {
			updates, err := reader.SnapshotAndFetch(background, asOf)
			require.NoError(t, err)
			return updates
		}
		judge(t, attempts, snapshot)
		require.NoError(t, persist.CheckHistory(background, s.blob(w.Host()), s.consensus(w.Host()), shard))
		require.NotEmpty(t, reads)
		for asOf, got := range reads {
			require.Equal(t, got, snapshot(asOf), "as of %d", asOf)
		}
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
	})
	for _, name := range []string{
		"persist: a retried append had gone in",
		"persist: a reader's lease expired",
		"persist: a state was rebuilt from a rollup",
		"persist: batches were merged",
		"persist: blobs were collected",
		"persist: versions were dropped",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// readSome opens a reader and takes a few snapshots. Two of the same time are the same, whoever took them.
func readSome(t *testing.T, h host.Host, client *persist.Client, reads map[uint64][]persist.Update, told uint64) {
	reader, err := client.OpenReader(background, shard)
	require.NoError(t, err)
	defer reader.Close()
	for range 3 {
		h.Clock().Sleep(time.Duration(h.Rand().IntN(1000)) * time.Millisecond)
		ctx, cancel := h.Clock().WithTimeout(background, 5*time.Second)
		asOf := h.Rand().Uint64N(told + 3)
		got, err := reader.SnapshotAndFetch(ctx, asOf)
		cancel()
		if errors.Is(err, persist.ErrLeaseExpired) {
			return
		}
		if err != nil {
			require.NotNil(t, ctx.Err(), "%v", err)
			continue
		}
		if before, ok := reads[asOf]; ok {
			require.Equal(t, before, got, "as of %d", asOf)
		}
		reads[asOf] = got
	}
}

func TestOldVersionsAreTruncated(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		s := inMemory(w)
		_, writer, reader := opened(t, w, s, persist.Config{})
		retained := func() []persist.Versioned {
			w.Sleep(time.Second)
			versions, err := s.consensus(w.Host()).Scan(background, string(shard), 0, 1000)
			require.NoError(t, err)
			return versions
		}
		for i := range uint64(200) {
			require.NoError(t, writer.CompareAndAppend(background, nil, at(i), at(i+1)))
			w.Sleep(time.Millisecond)
		}
		require.Greater(t, len(retained()), 200, "a reader holds them all")
		_, err := reader.DowngradeSince(background, at(200))
		require.NoError(t, err)
		for i := range uint64(64) {
			require.NoError(t, writer.CompareAndAppend(background, nil, at(200+i), at(201+i)))
			w.Sleep(time.Millisecond)
		}
		versions := retained()
		require.Less(t, len(versions), 160)
		for _, v := range versions {
			require.Less(t, len(v.Data), 200, "a shard that is only ticked has small differences")
		}
	})
}

// The consensus log is rewritten when most of it is dropped versions, and keeps what is live.
func TestConsensusLogStaysSmall(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		s := served(w)
		c := s.consensus(w.Host())
		data := string(make([]byte, 20_000))
		for n := persist.SeqNo(1); n <= 300; n++ {
			committed, err := c.CompareAndSet(background, "k", n-1, version(n, data))
			require.NoError(t, err)
			require.True(t, committed)
			_, err = c.Truncate(background, "k", n)
			require.NoError(t, err)
		}
		require.Less(t, len(s.nodes[1].DiskFile("consensus.log")), 2_000_000)
		require.Positive(t, w.Sometimes()["persist: the consensus log was rewritten"])
		s.nodes[1].Crash()
		s.nodes[1].Restart()
		w.Sleep(time.Second)
		v, err := c.Head(background, "k")
		require.NoError(t, err)
		require.Equal(t, persist.SeqNo(300), v.SeqNo)
		require.Len(t, v.Data, 20_000)
	})
}

func TestCorruptConsensusLogIsNotServed(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("test", func() {
		c, err := persist.OpenDiskConsensus(w.Host(), "")
		require.NoError(t, err)
		for n := persist.SeqNo(1); n <= 3; n++ {
			_, err := c.CompareAndSet(background, "k", n-1, version(n, "data"))
			require.NoError(t, err)
		}
		require.NoError(t, c.Close())
		f, err := w.Host().Disk().Open("consensus.log", host.ReadWrite)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{0xff}, 25)
		require.NoError(t, err)
		_, err = persist.OpenDiskConsensus(w.Host(), "")
		require.ErrorIs(t, err, persist.ErrCorrupt)
		require.ErrorContains(t, err, "restore the log from a copy")
	})
	require.NoError(t, w.Run())
}

// A consensus that lost what it had acknowledged is not written to any further.
func TestRegressedConsensus(t *testing.T) {
	w := sim.New(sim.Config{ContinueOnFailure: true})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		s := inMemory(w)
		sc := &script{Consensus: s.consensus(w.Host())}
		writer, err := persist.NewClient(w.Host(), s.blob(w.Host()), sc, persist.Config{}).OpenWriter(background, shard)
		require.NoError(t, err)
		for i := range uint64(3) {
			require.NoError(t, writer.CompareAndAppend(background, nil, at(i), at(i+1)))
		}
		replaced := inMemory(w)
		_, err = replaced.client(w.Host(), persist.Config{}).OpenWriter(background, shard)
		require.NoError(t, err)
		sc.Consensus = replaced.consensus(w.Host())
		err = writer.CompareAndAppend(background, nil, at(3), at(4))
		require.ErrorIs(t, err, persist.ErrRegressed)
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
	})
	require.NoError(t, w.Run())
	require.NotEmpty(t, w.Failures(), "and it is reported as what must never happen")
}
