package peer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

func inWorld(t testing.TB, seeds int, body func(w *sim.World)) {
	t.Helper()
	for seed := range uint64(seeds) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour})
		w.Go("test", func() {
			defer w.Stop()
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

// serve makes the host's process receive at "<machine>:peer".
func serve(h host.Host) *peer.Server[string] {
	s := rpc.NewService()
	server := peer.NewServer[string](h, s)
	if _, err := rpc.Serve(h, "peer", s, rpc.ServerOptions{}); err != nil {
		panic(err)
	}
	return server
}

// A peer that was removed is not heard any more, whatever it believes, and notices. It is not taken back.
func TestRemovedPeerIsRefused(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		h := w.Host()
		server := serve(h)
		var got []string
		n := peer.NewNode(h, "n", peer.Config{}, func(_, m string) { got = append(got, m) })
		server.Use(n)
		zombie := peer.NewNode(h, "zombie", peer.Config{}, func(string, string) {})
		zombie.Add("n", h.Name()+":peer")
		send := func(m string) bool { _, ok := zombie.TrySend("n", m); return ok }
		require.True(t, send("a"))
		w.Sleep(time.Second)
		n.Remove("zombie")
		require.True(t, send("b"))
		w.Sleep(time.Second)
		require.False(t, send("c"))
		require.Equal(t, []string{"a"}, got)
		n.Add("zombie", h.Name()+":peer")
		_, ok := n.TrySend("zombie", "hello")
		require.False(t, ok)
		require.Positive(t, w.Sometimes()["cdc/peer: somebody who is taken for gone is refused"])
	})
}

// Two nodes talk while connections break, messages are lost and the network is cut: everything arrives,
// in order, once.
func TestInOrderAndOnce(t *testing.T) {
	again := 0
	inWorld(t, 12, func(w *sim.World) {
		got := map[string][]string{}
		names := []string{"a", "b", "c"}
		nodes := map[string]*peer.Node[string]{}
		for _, name := range names {
			w.NewNode(name, func(h host.Host) {
				server := serve(h)
				nodes[name] = peer.NewNode(h, name+"!", peer.Config{Queue: 20, Batch: 5}, func(from, m string) {
					got[from+" to "+name+"!"] = append(got[from+" to "+name+"!"], m)
				})
				server.Use(nodes[name])
			})
		}
		w.Sleep(10 * time.Millisecond)
		const messages = 300
		sent := 0
		for _, from := range names {
			for _, to := range names {
				nodes[from].Add(to+"!", to+":peer") // to itself as well
				w.Go("send", func() {
					for i := 0; i < messages; {
						number, ok := nodes[from].TrySend(to+"!", fmt.Sprint(i))
						if ok {
							i++
							require.EqualValues(t, i, number)
						} else {
							w.Sleep(5 * time.Millisecond)
						}
						require.LessOrEqual(t, nodes[from].Acked(to+"!"), uint64(len(got[from+"! to "+to+"!"])), "acknowledged is what was handled")
					}
					sent++
				})
			}
		}
		calm := w.AddRule(sim.Rule{Loss: 20_000})
		random := w.NewStream("test", "faults")
		for range 40 {
			w.Sleep(time.Duration(random.Between(1, 50)) * time.Millisecond)
			a, b := names[random.N(3)], names[random.N(3)]
			if random.N(3) > 0 {
				w.ResetConns(a, b)
				continue
			}
			heal := w.AddRule(sim.Rule{From: []string{a}, To: []string{b}, Drop: true})
			w.Sleep(time.Duration(random.Between(1, 1500)) * time.Millisecond)
			heal()
		}
		calm()
		w.Sleep(20 * time.Second)
		require.Equal(t, 9, sent)
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprint(i))
		}
		for _, from := range names {
			for _, to := range names {
				require.Equal(t, want, got[from+"! to "+to+"!"])
				require.EqualValues(t, messages, nodes[from].Acked(to+"!"))
			}
		}
		again += w.Sometimes()["cdc/peer: a message came again"]
	})
	require.Positive(t, again)
}

func TestPeersThatAreNotThere(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		h := w.Host()
		n := peer.NewNode(h, "n", peer.Config{Queue: 3}, func(string, string) {})
		require.Equal(t, "n", n.Name())
		send := func(to string, want bool) {
			t.Helper()
			_, ok := n.TrySend(to, "hello")
			require.Equal(t, want, ok)
		}
		send("stranger", false)
		require.Zero(t, n.Acked("stranger"))

		n.Add("down", "nowhere:peer")
		for range 3 {
			send("down", true)
		}
		send("down", false) // the queue is full

		// Somebody else is at the address by now.
		var got []string
		server := serve(h)
		n.Add("former", h.Name()+":peer")
		send("former", true)
		w.Sleep(time.Second) // nobody is there yet: that is not final
		other := peer.NewNode(h, "latter", peer.Config{}, func(_, m string) { got = append(got, m) })
		server.Use(other)
		w.Sleep(time.Second)
		send("former", false)
		require.Empty(t, got)

		n.Add("latter", h.Name()+":peer")
		send("latter", true)
		w.Sleep(time.Second)
		require.Equal(t, []string{"hello"}, got)
		n.Remove("latter")
		send("latter", false)
		n.Add("latter", h.Name()+":peer")
		send("latter", false) // it is not taken back
		n.Remove("stranger")

		other.Close()
		n.Add("other", h.Name()+":peer")
		send("other", true)
		w.Sleep(time.Second)
		send("other", false)
		n.Close()
		n.Add("late", h.Name()+":peer")
		send("late", false)
		send("down", false)
	})
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("north", func(h host.Host) {
		node := peer.NewNode(h, "north-1", peer.Config{}, func(from, m string) { fmt.Println(from, "says", m) })
		serve(h).Use(node)
	})
	w.Go("main", func() {
		defer w.Stop()
		w.Sleep(time.Millisecond)
		node := peer.NewNode(w.Host(), "south-1", peer.Config{}, func(string, string) {})
		node.Add("north-1", "north:peer")
		for _, m := range []string{"hello", "good-bye"} {
			number, ok := node.TrySend("north-1", m)
			fmt.Println(number, ok)
		}
		w.Sleep(time.Second)
		fmt.Println("handled:", node.Acked("north-1"))
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 true
	// 2 true
	// south-1 says hello
	// south-1 says good-bye
	// handled: 2
}

func BenchmarkSend(b *testing.B) {
	inWorld(b, 1, func(w *sim.World) {
		got := 0
		w.NewNode("north", func(h host.Host) {
			serve(h).Use(peer.NewNode(h, "north", peer.Config{}, func(string, string) { got++ }))
		})
		w.Sleep(time.Millisecond)
		n := peer.NewNode(w.Host(), "south", peer.Config{}, func(string, string) {})
		n.Add("north", "north:peer")
		for i := 0; b.Loop(); i++ {
			for {
				if _, ok := n.TrySend("north", "hello"); ok {
					break
				}
				w.Sleep(time.Millisecond)
			}
		}
	})
}
