package simbench

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/sim/internal/knob"
	"github.com/simrun-dev/simrun/system/host"
)

// Measurement is one figure.
type Measurement struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Options are how thoroughly to measure.
type Options struct {
	// Rounds is how often each figure is measured; the median counts. Zero is 5.
	Rounds int
	// Scale divides the work of each round; 1 takes about 20 s in all. Zero is 1.
	Scale int
}

func (o Options) n(work int) int { return max(work/max(o.Scale, 1), 10) }

func (o Options) rounds() int {
	if o.Rounds <= 0 {
		return 5
	}
	return o.Rounds
}

// median runs the measurements in turns and returns the median of each, in seconds.
func (o Options) median(runs ...func()) []float64 {
	took := make([][]float64, len(runs))
	for range o.rounds() {
		for i, run := range runs {
			runtime.GC()
			began := time.Now()
			run()
			took[i] = append(took[i], time.Since(began).Seconds())
		}
	}
	medians := make([]float64, len(runs))
	for i, t := range took {
		slices.Sort(t)
		medians[i] = t[len(t)/2]
	}
	return medians
}

// Kernel measures the kernel by itself.
func Kernel(o Options) []Measurement {
	switches, messages, sleeps := o.n(1_000_000), o.n(500_000), o.n(1_000_000)
	t := o.median(
		func() { Switches(sim.Config{}, switches) },
		func() { Handoffs(sim.Config{}, switches) },
		func() { Messages(sim.Config{}, messages) },
		func() { Sleeps(sim.Config{}, 1000, sleeps) },
		func() { idleCluster(time.Duration(o.n(3600)) * time.Second) },
	)
	idle := float64(o.n(3600)) / t[4]
	return slices.Concat([]Measurement{
		{"task_switches_per_s", float64(switches) / t[0], "1/s"},
		{"handoffs_per_s", float64(switches) / t[1], "1/s"},
		{"messages_per_s", float64(messages) / t[2], "1/s"},
		{"timers_per_s", float64(sleeps) / t[3], "1/s"},
		{"idle_sim_seconds_per_s", idle, "s/s"},
	}, overheads(o), []Measurement{scaling(o)})
}

// overheads is what hashing the trace and recording it add to the time of a message, as a share.
func overheads(o Options) []Measurement {
	messages := o.n(500_000)
	t := o.median(
		func() {
			knob.NoHash = true
			defer func() { knob.NoHash = false }()
			Messages(sim.Config{}, messages)
		},
		func() { Messages(sim.Config{}, messages) },
		func() { Messages(sim.Config{RecordTo: discard{}}, messages) },
	)
	return []Measurement{
		{"hash_overhead", t[1]/t[0] - 1, "ratio"},
		{"record_overhead", t[2]/t[1] - 1, "ratio"},
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// scaling is the gain of two workers over one in running worlds, divided by the gain of two
// goroutines over one in pure computing: two cores that are really one would otherwise be held
// against the simulator.
func scaling(o Options) Measurement {
	work := func(workers int, each func()) func() {
		return func() {
			var wg sync.WaitGroup
			for range workers {
				wg.Go(each)
			}
			wg.Wait()
		}
	}
	worlds := func() {
		for seed := range uint64(10) {
			Messages(sim.Config{Seed: seed}, o.n(30_000))
		}
	}
	compute := func() {
		if spin(o.n(50_000_000)) == 0 {
			panic("a shift register that ran into zero") // it can't, but has to be looked at
		}
	}
	t := o.median(work(1, worlds), work(2, worlds), work(1, compute), work(2, compute))
	return Measurement{"worker_scaling", (2 * t[0] / t[1]) / (2 * t[2] / t[3]), "ratio"}
}

// spin computes without memory.
func spin(n int) uint64 {
	x := uint64(1)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// Switches makes two tasks take turns n times: queue, choice, hash and switch. Each sleeps until the
// other is at work: tasks that only yield would often go on themselves, which is no switch.
func Switches(cfg sim.Config, n int) {
	w := sim.New(cfg)
	defer w.Close()
	for i := range 2 {
		w.Go("turns", func() {
			w.Sleep(time.Duration(i))
			for range n / 2 {
				w.Sleep(2)
			}
		})
	}
	must(w.Run())
}

// Handoffs makes two tasks hand a token to each other over channels n times.
func Handoffs(cfg sim.Config, n int) {
	w := sim.New(cfg)
	defer w.Close()
	h := w.Host()
	ping, pong := host.NewChan[int](h, "ping", 0), host.NewChan[int](h, "pong", 0)
	w.Go("a", func() {
		for i := range n / 2 {
			ping.Send(i)
			pong.Recv()
		}
		ping.Close()
	})
	w.Go("b", func() {
		for v, ok := ping.Recv(); ok; v, ok = ping.Recv() {
			pong.Send(v)
		}
	})
	must(w.Run())
}

// Messages makes a client and a server on two machines exchange n datagrams.
func Messages(cfg sim.Config, n int) {
	w := sim.New(cfg)
	defer w.Close()
	ctx := context.Background()
	w.NewNode("server", func(h host.Host) {
		s, err := h.Net().OpenSocket("echo")
		must(err)
		for {
			from, msg, err := s.RecvFrom(ctx)
			if err != nil {
				return
			}
			must(s.SendTo(from, msg))
		}
	})
	w.Go("client", func() {
		s, err := w.Host().Net().OpenSocket("client")
		must(err)
		w.Sleep(time.Millisecond) // until the server listens
		msg := make([]byte, 32)
		for range n / 2 {
			must(s.SendTo("server:echo", msg))
			_, _, err := s.RecvFrom(ctx)
			must(err)
		}
	})
	must(w.Run())
}

// Sleeps makes tasks sleep n times in all.
func Sleeps(cfg sim.Config, tasks, n int) {
	w := sim.New(cfg)
	defer w.Close()
	left := n
	for i := range tasks {
		w.Go("sleeper", func() {
			for left > 0 {
				left--
				w.Sleep(time.Duration(1+i%97) * time.Millisecond)
			}
		})
	}
	must(w.Run())
}

// idleCluster is five machines that exchange a heartbeat a second, for a time.
func idleCluster(d time.Duration) {
	w := sim.New(sim.Config{})
	defer w.Close()
	names := []string{"a", "b", "c", "d", "e"}
	for i, name := range names {
		w.NewNode(name, func(h host.Host) {
			s, err := h.Net().OpenSocket("beat")
			must(err)
			h.Go("listen", func() {
				for {
					if _, _, err := s.RecvFrom(context.Background()); err != nil {
						return
					}
				}
			})
			for {
				h.Clock().Sleep(time.Second)
				must(s.SendTo(names[(i+1)%len(names)]+":beat", []byte("beat")))
			}
		})
	}
	must(w.RunFor(d))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
