package persist_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

var background = context.Background()

// inWorld runs body as a task of a world, once for each of some seeds.
func inWorld(t *testing.T, seeds int, body func(w *sim.World)) {
	t.Helper()
	for seed := range uint64(seeds) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: 24 * time.Hour, Buggify: seed%2 == 1})
		w.Go("test", func() {
			defer w.Stop() // clients have tasks that would go on
			body(w)
		})
		err := w.Run()
		w.Close()
		require.NoError(t, err, "seed %d", seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// stores are a Blob and a Consensus, and how to reach them from a host.
type stores struct {
	blob      func(host.Host) persist.Blob
	consensus func(host.Host) persist.Consensus
	nodes     []*sim.Node // that serve them
}

func (s stores) client(h host.Host, cfg persist.Config) *persist.Client {
	return persist.NewClient(h, s.blob(h), s.consensus(h), cfg)
}

// inMemory are stores in the memory of the world's own process.
func inMemory(w *sim.World) stores {
	blob, consensus := persist.NewMemBlob(w.Host()), persist.NewMemConsensus(w.Host())
	return stores{
		blob:      func(host.Host) persist.Blob { return blob },
		consensus: func(host.Host) persist.Consensus { return consensus },
	}
}

// onDisk are stores on the disk of the world's own machine.
func onDisk(w *sim.World) stores {
	blob, err := persist.OpenDiskBlob(w.Host(), "blob")
	if err != nil {
		panic(err)
	}
	consensus, err := persist.OpenDiskConsensus(w.Host(), "")
	if err != nil {
		panic(err)
	}
	return stores{
		blob:      func(host.Host) persist.Blob { return blob },
		consensus: func(host.Host) persist.Consensus { return consensus },
	}
}

// served are stores on machines of their own.
func served(w *sim.World) stores {
	serve := func(start func(host.Host, string) (*rpc.Server, error)) func(host.Host) {
		return func(h host.Host) {
			if _, err := start(h, "persist"); err != nil {
				panic(err)
			}
		}
	}
	n := len(w.Nodes())
	blob, consensus := fmt.Sprint("blob", n), fmt.Sprint("consensus", n)
	s := stores{nodes: []*sim.Node{
		w.NewNode(blob, serve(persist.ServeBlob)),
		w.NewNode(consensus, serve(func(h host.Host, port string) (*rpc.Server, error) {
			_, server, err := persist.ServeConsensus(h, port)
			return server, err
		})),
	}}
	s.blob = func(h host.Host) persist.Blob { return persist.NewBlobClient(h, blob+":persist") }
	s.consensus = func(h host.Host) persist.Consensus { return persist.NewConsensusClient(h, consensus+":persist") }
	w.Sleep(100 * time.Millisecond) // until they listen
	return s
}

// kinds are all of them.
var kinds = []struct {
	name string
	open func(*sim.World) stores
}{{"memory", inMemory}, {"disk", onDisk}, {"served", served}}

// crashNow and then crashes and restarts the nodes in turn until stop is called.
func crashing(w *sim.World, nodes []*sim.Node) (stop func()) {
	stopped := false
	w.Go("crashes", func() {
		random := w.NewStream("test", "crashes")
		for !stopped {
			w.Sleep(time.Duration(random.Between(5, 400)) * time.Millisecond)
			n := nodes[random.N(uint64(len(nodes)))]
			if random.N(3) == 0 {
				n.PowerOff()
			} else {
				n.Crash()
			}
			w.Sleep(time.Duration(random.Between(0, 50)) * time.Millisecond)
			n.Restart()
		}
	})
	return func() { stopped = true }
}

func at(t uint64) persist.Frontier { return persist.At(t) }

func update(data string, time uint64, diff int64) persist.Update {
	return persist.Update{Data: data, Time: time, Diff: diff}
}
