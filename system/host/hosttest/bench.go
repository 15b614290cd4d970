package hosttest

import (
	"testing"

	"github.com/simrun-dev/simrun/system/host"
)

// messageLength is about what a call and its answer take.
const messageLength = 200

// Benchmark measures, on a host, what systems do most: hand a value to another task and back, wait for
// one of several things, send a message to another machine and get one back, and append to a file and
// sync it.
func Benchmark(b *testing.B, setup Setup) {
	for _, bench := range []struct {
		name string
		run  func(b *testing.B, c Cluster)
	}{
		{"chan round trip", benchChan},
		{"select round trip", benchSelect},
		{"task", benchTask},
		{"message round trip", benchMessage},
		{"message one way", benchStream},
		{"synced append", benchAppend},
	} {
		b.Run(bench.name, func(b *testing.B) {
			setup(b, func(c Cluster) { bench.run(b, c) })
		})
	}
}

func onMachine(b *testing.B, c Cluster, machine int, fn func(h host.Host) error) (wait func()) {
	return c.Start(machine, "benchmark", func(h host.Host) {
		if err := fn(h); err != nil {
			b.Error(err)
		}
	})
}

func benchChan(b *testing.B, c Cluster) {
	onMachine(b, c, 0, func(h host.Host) error {
		ping, pong := host.NewChan[int](h, "ping", 0), host.NewChan[int](h, "pong", 0)
		h.Go("echo", func() {
			for v, ok := ping.Recv(); ok; v, ok = ping.Recv() {
				pong.Send(v)
			}
		})
		for i := 0; b.Loop(); i++ {
			ping.Send(i)
			pong.Recv()
		}
		ping.Close()
		return nil
	})()
}

func benchSelect(b *testing.B, c Cluster) {
	onMachine(b, c, 0, func(h host.Host) error {
		ping, pong := host.NewChan[int](h, "ping", 0), host.NewChan[int](h, "pong", 0)
		ctx, cancel := host.WithCancel(h, background)
		ticker := h.Clock().Ticker(1 << 60)
		h.Go("echo", func() {
			for v, ok := ping.Recv(); ok; v, ok = ping.Recv() {
				pong.Send(v)
			}
		})
		cases := []host.Case{pong.OnRecv(nil, nil), host.OnDone(ctx), host.OnTime(ticker.C, nil)}
		for i := 0; b.Loop(); i++ {
			ping.Send(i)
			host.Select(h, cases...)
		}
		ping.Close()
		ticker.Stop()
		cancel()
		return nil
	})()
}

func benchTask(b *testing.B, c Cluster) {
	onMachine(b, c, 0, func(h host.Host) error {
		done := host.NewWaitGroup(h, "tasks")
		for b.Loop() {
			done.Go(h, "task", func() {})
			done.Wait()
		}
		return nil
	})()
}

// connectBench is connect for benchmarks.
func connectBench(b *testing.B, c Cluster) (dialled, accepted host.Conn) {
	var l host.Listener
	onMachine(b, c, 1, func(h host.Host) (err error) {
		l, err = h.Net().Listen("bench")
		return err
	})()
	server := onMachine(b, c, 1, func(host.Host) (err error) {
		accepted, err = l.Accept(background)
		return err
	})
	onMachine(b, c, 0, func(h host.Host) (err error) {
		dialled, err = h.Net().Dial(background, l.Addr())
		return err
	})()
	server()
	return dialled, accepted
}

func benchMessage(b *testing.B, c Cluster) {
	dialled, accepted := connectBench(b, c)
	server := onMachine(b, c, 1, func(host.Host) error {
		for {
			msg, err := accepted.Recv(background)
			if err != nil {
				return nil
			}
			if err := accepted.Send(background, msg); err != nil {
				return err
			}
		}
	})
	onMachine(b, c, 0, func(h host.Host) error {
		// Calls have deadlines.
		ctx, cancel := h.Clock().WithTimeout(background, 1<<60)
		defer cancel()
		msg := make([]byte, messageLength)
		b.SetBytes(2 * messageLength)
		for b.Loop() {
			if err := dialled.Send(ctx, msg); err != nil {
				return err
			}
			if _, err := dialled.Recv(ctx); err != nil {
				return err
			}
		}
		return dialled.Close()
	})()
	server()
}

func benchStream(b *testing.B, c Cluster) {
	dialled, accepted := connectBench(b, c)
	server := onMachine(b, c, 1, func(host.Host) error {
		for {
			if _, err := accepted.Recv(background); err != nil {
				return nil
			}
		}
	})
	onMachine(b, c, 0, func(host.Host) error {
		msg := make([]byte, messageLength)
		b.SetBytes(messageLength)
		for b.Loop() {
			if err := dialled.Send(background, msg); err != nil {
				return err
			}
		}
		return dialled.Close()
	})()
	server()
}

func benchAppend(b *testing.B, c Cluster) {
	onMachine(b, c, 0, func(h host.Host) error {
		f, err := h.Disk().Open("log", host.Create)
		if err != nil {
			return err
		}
		record := make([]byte, messageLength)
		b.SetBytes(messageLength)
		for off := int64(0); b.Loop(); off += messageLength {
			if _, err := f.WriteAt(record, off); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return f.Close()
	})()
}
