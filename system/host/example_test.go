package host_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// inExample runs fn as the only task of a world's own process.
func inExample(fn func(h host.Host)) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() { fn(w.Host()) })
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
}

func ExampleChan() {
	inExample(func(h host.Host) {
		numbers := host.NewChan[int](h, "numbers", 2)
		h.Go("producer", func() {
			for i := range 3 {
				numbers.Send(i)
			}
			numbers.Close()
		})
		for n, ok := numbers.Recv(); ok; n, ok = numbers.Recv() {
			fmt.Println(n)
		}
	})
	// Output:
	// 0
	// 1
	// 2
}

func ExampleChan_RecvContext() {
	inExample(func(h host.Host) {
		ctx, cancel := h.Clock().WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _, err := host.NewChan[int](h, "never", 0).RecvContext(ctx)
		fmt.Println(errors.Is(err, context.DeadlineExceeded))
	})
	// Output:
	// true
}

func ExampleSelectFirst() {
	inExample(func(h host.Host) {
		urgent, other := host.NewChan[string](h, "urgent", 1), host.NewChan[string](h, "other", 1)
		other.Send("other")
		urgent.Send("urgent")
		var v string
		for range 2 {
			host.SelectFirst(h, urgent.OnRecv(&v, nil), other.OnRecv(&v, nil))
			fmt.Println(v)
		}
	})
	// Output:
	// urgent
	// other
}

func ExampleMutex() {
	inExample(func(h host.Host) {
		balance, mu, done := 0, host.NewMutex(h, "balance"), host.NewWaitGroup(h, "deposits")
		for range 3 {
			done.Go(h, "deposit", func() {
				mu.Lock()
				defer mu.Unlock()
				before := balance
				h.Clock().Sleep(time.Millisecond) // it may wait while it holds the lock
				balance = before + 1
			})
		}
		done.Wait()
		fmt.Println(balance)
	})
	// Output:
	// 3
}

func ExampleWithCancel() {
	inExample(func(h host.Host) {
		ctx, cancel := host.WithCancel(h, context.Background())
		h.Go("canceller", func() {
			h.Clock().Sleep(time.Second)
			cancel()
		})
		host.Select(h, host.OnDone(ctx))
		fmt.Println(ctx.Err())
	})
	// Output:
	// context canceled
}

func ExampleReadFile() {
	inExample(func(h host.Host) {
		f, err := h.Disk().Open("notes/today", host.CreateNew)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = f.WriteAt([]byte("remember the milk"), 0)
		_ = f.Sync()                  // the contents survive a crash from here on,
		_ = h.Disk().SyncDir("notes") // and the name from here
		data, err := host.ReadFile(h.Disk(), "notes/today")
		fmt.Printf("%s %v\n", data, err)
	})
	// Output:
	// remember the milk <nil>
}
