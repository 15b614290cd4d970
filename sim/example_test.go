package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// inExample runs fn as the only task of a world's own process.
func inExample(fn func(w *sim.World, h host.Host)) {
	w := sim.New(sim.Config{Seed: 7})
	defer w.Close()
	w.Go("main", func() { fn(w, w.Host()) })
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
}

// A partition: a rule that drops everything between two sides, until it is removed.
func ExampleWorld_AddRule() {
	inExample(func(w *sim.World, h host.Host) {
		w.NewNode("server", echo)
		w.Sleep(time.Millisecond)
		ask := func() error {
			ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := h.Net().Dial(ctx, "server:echo")
			return err
		}
		fmt.Println(ask())
		heal := w.AddRule(sim.Rule{From: []string{"simrun"}, To: []string{"server"}, Both: true, Drop: true})
		fmt.Println(errors.Is(ask(), context.DeadlineExceeded))
		heal()
		fmt.Println(ask())
	})
	// Output:
	// <nil>
	// true
	// <nil>
}

// A crash takes what was in memory, and what was written and not synced if the seed says so.
func ExampleNode_Crash() {
	inExample(func(w *sim.World, h host.Host) {
		n := w.NewNode("n", func(h host.Host) {
			data, err := host.ReadFile(h.Disk(), "greeting")
			fmt.Printf("life %d finds %q, %v\n", h.Incarnation(), data, err)
			f, _ := h.Disk().Open("greeting", host.Create)
			_, _ = f.WriteAt([]byte("hello"), 0)
			_ = f.Sync()
			_ = h.Disk().SyncDir("")
		})
		w.Sleep(time.Second)
		n.Crash()
		n.Restart()
		w.Sleep(time.Second)
	})
	// Output:
	// life 1 finds "", open greeting: file does not exist
	// life 2 finds "hello", <nil>
}

func ExampleNode_Pause() {
	inExample(func(w *sim.World, h host.Host) {
		n := w.NewNode("n", func(h host.Host) {
			for {
				before := h.Clock().Now()
				h.Clock().Sleep(time.Second)
				if late := h.Clock().Since(before); late > 2*time.Second {
					fmt.Println("the clock has jumped by", late)
				}
			}
		})
		w.Sleep(500 * time.Millisecond)
		n.Pause()
		w.Sleep(time.Minute)
		n.Resume()
		w.Sleep(time.Second)
	})
	// Output:
	// the clock has jumped by 1m0.5s
}

func ExampleNode_SetClock() {
	inExample(func(w *sim.World, h host.Host) {
		n := w.NewNode("n", func(host.Host) {})
		n.SetClock(time.Minute, 100_000) // a minute ahead, and a tenth too fast
		w.Sleep(10 * time.Second)
		fmt.Println(n.ClockOffset())
	})
	// Output:
	// 1m1s
}

// A disk that fails now and then.
func ExampleNode_AddDiskRule() {
	inExample(func(w *sim.World, h host.Host) {
		n := w.NewNode("n", func(h host.Host) {
			_, err := h.Disk().Open("f", host.Create)
			fmt.Println(errors.Is(err, host.ErrIO))
		})
		n.AddDiskRule(sim.DiskRule{Fail: 1_000_000})
		w.Sleep(time.Second)
	})
	// Output:
	// true
}

// Assertions are counted by name; a Sometimes that never held is a blind spot.
func ExampleWorld_Sometimes() {
	w := sim.New(sim.Config{Seed: 7})
	defer w.Close()
	w.NewNode("n", func(h host.Host) {
		for i := range 10 {
			h.Sometimes("n: an odd number", i%2 == 1)
			h.Sometimes("n: a large number", i > 100)
			h.Always("n: numbers are small", i < 10, "%d", i)
		}
	})
	if err := w.RunFor(time.Second); err != nil {
		fmt.Println(err)
	}
	fmt.Println(w.Sometimes())
	// Output:
	// map[n: a large number:0 n: an odd number:5]
}

// A recorded trace can be read back, by any program, with the hash of every event.
func ExampleReadTrace() {
	var file bytes.Buffer
	w := sim.New(sim.Config{Seed: 7, RecordTo: &file})
	w.NewNode("n", func(h host.Host) {
		h.Clock().Sleep(time.Second)
		h.Logf("good morning")
	})
	if err := w.RunFor(time.Minute); err != nil {
		fmt.Println(err)
	}
	hash := w.Hash()
	w.Close()
	var last sim.Event
	for e, err := range sim.ReadTrace(&file) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Kind == sim.EventLog {
			fmt.Println(time.Duration(e.At), e.Node, e.Text)
		}
		last = e
	}
	fmt.Println(last.Hash == hash)
	// Output:
	// 1s n good morning
	// true
}

// Every random choice has an address, at which it can be replaced, without any other changing.
func ExampleConfig_overrides() {
	run := func(overrides map[sim.Decision]uint64) (arrived []time.Duration, made []sim.Decision) {
		w := sim.New(sim.Config{Seed: 7, Overrides: overrides, OnDecision: func(d sim.Decision, _ uint64) { made = append(made, d) }})
		defer w.Close()
		_, at := sink(w, "b")
		sendEvery(w, "a", "b", 3, time.Second)
		link := w.StreamKey("link", "a", "b")
		if err := w.RunFor(5 * time.Second); err != nil {
			fmt.Println(err)
		}
		var ofLink []sim.Decision
		for _, d := range made {
			if d.Stream == link {
				ofLink = append(ofLink, d)
			}
		}
		return *at, ofLink
	}
	before, latencies := run(nil)
	after, _ := run(map[sim.Decision]uint64{latencies[1]: 0}) // the second message's: as slow as can be
	fmt.Println(before[0] == after[0], before[1] == after[1], before[2] == after[2])
	// Output:
	// true false true
}

// What waits for what, when nothing can go on.
func ExampleDeadlock() {
	inExample(func(w *sim.World, h host.Host) {
		mu := host.NewMutex(h, "accounts")
		mu.Lock()
		h.Go("transfer", func() {
			mu.Lock()
		})
		host.NewChan[int](h, "receipts", 0).Recv()
	})
	// Output:
	// deadlock at 0s: no task can go on; simrun/main waits to receive receipts since 0s; simrun/transfer waits to lock accounts since 0s
}
