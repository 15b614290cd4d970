package simbench

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
)

func TestKernelMeasuresEverything(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Kernel(Options{Rounds: 1, Scale: 1000}) {
		require.NotEmpty(t, m.Unit)
		require.False(t, names[m.Name])
		names[m.Name] = true
		if m.Unit != "ratio" {
			require.Positive(t, m.Value, m.Name)
		}
	}
	for _, name := range []string{"task_switches_per_s", "messages_per_s", "hash_overhead", "record_overhead", "worker_scaling"} {
		require.True(t, names[name], name)
	}
}

// BenchmarkPingPong is the same exchange between two machines, a millisecond apart, in a world, in
// a testing/synctest bubble, and driven by benbjohnson/clock's Mock: an op is one message.
func BenchmarkPingPong(b *testing.B) {
	const latency = time.Millisecond
	b.Run("simrun", func(b *testing.B) {
		Messages(sim.Config{Net: sim.NetConfig{Latency: sim.Fixed(latency)}}, max(b.N, 2))
	})
	// In a bubble and on a Mock, a sender that sleeps and a channel are what there is for a
	// network.
	pingPong := func(n int, sleep func(time.Duration)) {
		ping, pong := make(chan int), make(chan int)
		go func() {
			for v := range ping {
				sleep(latency)
				pong <- v
			}
			close(pong)
		}()
		for i := range n / 2 {
			sleep(latency)
			ping <- i
			<-pong
		}
		close(ping)
		<-pong
	}
	b.Run("synctest", func(b *testing.B) {
		done := make(chan struct{})
		// A bubble needs a *testing.T, and a benchmark has none.
		go func() {
			defer close(done)
			testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
				Name: "bubble", F: func(t *testing.T) {
					synctest.Test(t, func(*testing.T) { pingPong(b.N, time.Sleep) })
				},
			}})
		}()
		<-done
	})
	b.Run("mock", func(b *testing.B) {
		mock := clock.NewMock()
		finished := make(chan struct{})
		go func() {
			pingPong(b.N, mock.Sleep)
			close(finished)
		}()
		for {
			select {
			case <-finished:
				return
			default:
				mock.Add(latency)
			}
		}
	})
}

func ExampleSwitches() {
	Switches(sim.Config{Seed: 1}, 1000)
	fmt.Println("done")
	// Output: done
}
