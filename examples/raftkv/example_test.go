package raftkv_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/examples/raftkv"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// store starts three servers, and has a client use them.
func store(seed uint64, use func(w *sim.World, do func(raftkv.Command) raftkv.Result)) error {
	w := sim.New(sim.Config{Seed: seed})
	defer w.Close()
	servers := []string{"a", "b", "c"}
	for _, name := range servers {
		w.NewNode(name, func(h host.Host) { h.Logf("ended: %v", raftkv.Serve(h, raftkv.Config{Servers: servers})) })
	}
	w.Go("client", func() {
		session, err := raftkv.NewClient(w.Host(), "client", servers)
		if err != nil {
			panic(err)
		}
		use(w, func(c raftkv.Command) raftkv.Result {
			ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), time.Minute)
			defer cancel()
			result, err := session.Do(ctx, c)
			if err != nil {
				panic(err)
			}
			return result
		})
	})
	return w.Run()
}

// What was written is there after a server has died.
func Example() {
	err := store(1, func(w *sim.World, do func(raftkv.Command) raftkv.Result) {
		do(raftkv.Command{Op: "put", Key: "colour", Value: "blue"})
		w.Node("a").Crash()
		fmt.Println(do(raftkv.Command{Op: "get", Key: "colour"}).Value)
		fmt.Println(do(raftkv.Command{Op: "cas", Key: "colour", Old: "red", Value: "green"}).Done)
	})
	fmt.Println(err)
	// Output:
	// blue
	// false
	// <nil>
}

// BenchmarkPut is one command, with all that the servers do for it.
func BenchmarkPut(b *testing.B) {
	err := store(1, func(_ *sim.World, do func(raftkv.Command) raftkv.Result) {
		do(raftkv.Command{Op: "get", Key: "k"}) // once there is a leader
		b.ResetTimer()
		for range b.N {
			do(raftkv.Command{Op: "put", Key: "k", Value: "v"})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
