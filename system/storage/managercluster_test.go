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

// A process with a manager, its successor that follows in read-only mode, and the stores, on machines
// of their own, all of which crash. Both append events; the one that may write has a collection of what is
// current.
func TestManagerOnACluster(t *testing.T) {
	sometimes := map[string]int{}
	for seed := range uint64(8) {
		hash := managerOnACluster(t, seed, sometimes)
		if seed == 0 {
			require.Equal(t, hash, managerOnACluster(t, seed, sometimes), "the same seed, the same run")
		}
	}
	for _, name := range []string{
		"storage: an append is tried again after somebody else's",
		"storage: several appends were written at once",
		"storage: writes were allowed to a collection with rows",
		"storage: a collection was unregistered with commands waiting",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// events are what was appended, and what is known of it, over all lives of all processes.
type events struct {
	sent         map[string]bool
	acknowledged map[string]bool
	refused      map[string]bool
}

// send appends one event and keeps what is answered.
func (e *events) send(s *storage.AppendOnlySender, name string) {
	e.sent[name] = true
	answered := false
	s.Send(rows(name), func(err error) {
		if answered {
			panic("answered twice: " + name)
		}
		answered = true
		switch {
		case err == nil:
			e.acknowledged[name] = true
		case !errors.Is(err, persist.ErrIndeterminate) && !errors.As(err, new(*storage.Aborted)):
			e.refused[name] = true
		}
	})
}

func managerOnACluster(t *testing.T, seed uint64, sometimes map[string]int) uint64 {
	w := sim.New(sim.Config{Seed: seed, Buggify: seed%2 == 1, MaxTime: time.Hour})
	defer w.Close()
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
	newClient := func(h host.Host) *persist.Client {
		return persist.NewClient(h, persist.NewBlobClient(h, "blob:persist"), persist.NewConsensusClient(h, "consensus:persist"), persist.Config{})
	}
	calm, leader := false, "a"
	log := events{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	process := func(h host.Host) {
		client := newClient(h)
		open := func(id persist.ShardID) (*persist.WriteHandle, func(context.Context) (*persist.ReadHandle, error)) {
			writer, err := client.OpenWriter(background, id)
			require.NoError(t, err)
			return writer, func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, id) }
		}
		m := storage.NewCollectionManager(h, storage.ManagerConfig{ReadOnly: h.Name() != leader})
		writer, reader := open("current")
		current, err := m.RegisterDifferential("current", storage.DifferentialCollection{Writer: writer, OpenReader: reader})
		require.NoError(t, err)
		current.Send(add("current"), nil)
		allowed := h.Name() == leader
		for i := 0; !calm; i++ {
			if !allowed && h.Name() == leader {
				allowed = true
				m.AllowWrites()
			}
			writer, reader := open("events")
			sender, err := m.RegisterAppendOnly("events", storage.AppendOnlyCollection{Writer: writer, OpenReader: reader, ForceWritable: true})
			require.NoError(t, err)
			for n := range h.Rand().IntN(12) {
				log.send(sender, fmt.Sprintf("%s.%d/%d.%d", h.Name(), h.Incarnation(), i, n))
				h.Clock().Sleep(time.Duration(h.Rand().IntN(600)) * time.Millisecond)
			}
			require.NoError(t, m.Unregister(background, "events"))
		}
		h.Clock().Sleep(30 * time.Second)
		if h.Name() != leader {
			require.NoError(t, m.Shutdown(background))
		}
	}
	a, b := w.NewNode("a", process), w.NewNode("b", process)
	w.Go("test", func() {
		defer w.Stop()
		random := w.NewStream("test", "faults")
		nodes := []*sim.Node{blob, consensus, a, b}
		for i := range 24 {
			n := nodes[random.N(uint64(len(nodes)))]
			w.Sleep(time.Duration(random.Between(100, 2000)) * time.Millisecond)
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
				w.ResetConns(n.Name(), "consensus")
			}
			if i == 12 { // the leader is gone for good, and the other takes over
				leader = "b"
				nodes[2].Crash()
				nodes = []*sim.Node{blob, consensus, b}
			}
		}
		calm = true
		w.Sleep(2 * time.Minute)

		client := newClient(w.Host())
		read := func(id persist.ShardID) map[string]int64 {
			writer, err := client.OpenWriter(background, id)
			require.NoError(t, err)
			reader, err := client.OpenReader(background, id)
			require.NoError(t, err)
			upper, err := writer.FetchRecentUpper(background)
			require.NoError(t, err)
			at, _ := upper.Time()
			updates, err := reader.SnapshotAndFetch(background, at-1)
			require.NoError(t, err)
			there := map[string]int64{}
			for _, u := range updates {
				there[u.Data] = u.Diff
			}
			return there
		}
		require.Equal(t, map[string]int64{"current": 1}, read("current"))
		there := read("events")
		for name, diff := range there {
			require.True(t, log.sent[name], name)
			require.Equal(t, int64(1), diff, "%s is there more than once", name)
			require.False(t, log.refused[name], "%s was refused", name)
		}
		for name := range log.acknowledged {
			require.Contains(t, there, name, "it was acknowledged")
		}
		require.Greater(t, len(log.acknowledged), 10)
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
	})
	require.NoError(t, w.Run(), "seed %d", seed)
	return w.Hash()
}
