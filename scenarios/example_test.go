package scenarios_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// counterServer counts the requests of its clients, and keeps the count on its disk. It is the
// system under test: code against package host, which knows nothing of the simulator.
func counterServer(h host.Host) error {
	file, err := h.Disk().Open("count", host.Create)
	if err != nil {
		return err
	}
	record := make([]byte, 8)
	if _, err := file.ReadAt(record, 0); err != nil && err != io.EOF { // a new file is empty
		return err
	}
	if err := h.Disk().SyncDir(""); err != nil {
		return err
	}
	listener, err := h.Net().Listen("counter")
	if err != nil {
		return err
	}
	turn := host.NewMutex(h, "count")
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		h.Go("serve", func() {
			defer conn.Close()
			for {
				if _, err := conn.Recv(context.Background()); err != nil {
					return
				}
				turn.Lock()
				binary.BigEndian.PutUint64(record, binary.BigEndian.Uint64(record)+1)
				answer := append([]byte(nil), record...)
				_, err := file.WriteAt(answer, 0)
				if err == nil {
					err = file.Sync() // without this line the scenario below fails
				}
				turn.Unlock()
				if err != nil || conn.Send(context.Background(), answer) != nil {
					return
				}
			}
		})
	}
}

// counter is a scenario for it: clients ask for numbers, and no number may be handed out twice, whatever
// crashes.
func counter() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name:     "counter",
		Doc:      "clients of a counting server",
		Settings: []scenarios.Setting{{Name: "clients", Default: "3", Doc: "machines that ask for numbers"}},
		Oracles:  []string{"counter/unique"},
		Build: func(r *scenarios.Run) {
			unique := r.Check("counter/unique")
			asked, answered, handedOut := 0, 0, map[uint64]string{}
			r.Count(func() (ops, succeeded int) { return asked, answered })

			r.AddNode("server", "server", func(h host.Host) {
				for {
					h.Logf("the server ended: %v", counterServer(h))
					h.Clock().Sleep(100 * time.Millisecond) // as a supervisor starts it again
				}
			})
			r.UsesDisk("server")

			for i := range r.Int("clients") {
				name := fmt.Sprint("client-", i+1)
				pace := r.World.NewStream("workload", name)
				done := false
				r.AddNode(name, "client", func(h host.Host) {
					done = false
					for r.Working() {
						ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
						if conn, err := h.Net().Dial(ctx, "server:counter"); err == nil {
							asked++
							_ = conn.Send(ctx, []byte("next"))
							if answer, err := conn.Recv(ctx); err == nil {
								answered++
								n := binary.BigEndian.Uint64(answer)
								unique.Holds(handedOut[n] == "", "%d was handed out to %s and to %s", n, handedOut[n], name)
								handedOut[n] = name
							}
							_ = conn.Close()
						}
						cancel()
						h.Clock().Sleep(sim.Exp(0, 50*time.Millisecond).Sample(pace.Uint64()))
					}
					done = true
				})
				r.Settled(name+" ending its last request", func() bool { return done })
			}
		},
	}
}

// A scenario of one's own: a system, a workload on it, and what must hold. In a module of one's own,
// simrun.Main(counter()) gives it the whole command line.
func Example() {
	s := counter()
	for seed := uint64(1); seed <= 50; seed++ {
		if res := s.Execute(context.Background(), scenarios.Options{Seed: seed}); res.Verdict != scenarios.Pass {
			fmt.Println(seed, res.Verdict, res.Failures)
			return
		}
	}
	fmt.Println("50 seeds passed")
	// Output: 50 seeds passed
}
