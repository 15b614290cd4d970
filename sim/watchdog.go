package sim

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Stuck is a world that makes no progress in real time: a task computes for ever, or waits for
// something that the kernel does not see, such as a bare channel, a held sync.Mutex or real I/O.
// Nothing can interrupt it; its goroutine is lost.
type Stuck struct {
	// Place is where the task stands: the innermost frames of its stack, functions with file and
	// line.
	Place string
	// Stack is the task's whole stack.
	Stack string
}

func (s Stuck) Error() string {
	return "sim: a task blocks the whole world, at " + s.Place +
		": in a simulation a task waits only by package host's means (Chan, Select, Mutex, Clock), never by a bare channel, sync or real I/O"
}

// watchdog asks the world for a sign of life, and takes its silence for being stuck. The world
// answers from its loop, for the price of looking at one word a step.
type watchdog struct {
	asked atomic.Bool
}

// defaultStuckAfter is far beyond what a step takes, even on a busy machine under the race
// detector.
const defaultStuckAfter = 30 * time.Second

// start begins watching, and returns what ends it.
func (d *watchdog) start(cfg *Config) (end func()) {
	after := cfg.StuckAfter
	if after == 0 {
		after = defaultStuckAfter
	}
	if after < 0 {
		return func() {}
	}
	onStuck := cfg.OnStuck
	if onStuck == nil {
		onStuck = func(s Stuck) {
			fmt.Fprintf(os.Stderr, "%v\n\n%s\n", s, s.Stack)
			os.Exit(3)
		}
	}
	d.asked.Store(false)
	stop, stopped := make(chan struct{}), make(chan struct{})
	world := goroutineID()
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(after)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			if d.asked.Swap(true) {
				onStuck(findStuck(world))
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// goroutineID is the number of the calling goroutine, as stack dumps show it.
func goroutineID() string {
	buf := make([]byte, 64)
	fields := strings.Fields(string(buf[:runtime.Stack(buf, false)]))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

// findStuck looks for the task that the world runs at present among all goroutines. Parked tasks
// have the state "coroutine"; so has the world's own goroutine while a task runs. The one that is
// stuck has another, and is at work in runTask.
func findStuck(world string) Stuck {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		inTask := strings.Contains(stack, "sim.(*World).runTask(") && !strings.Contains(head, "[coroutine")
		if inTask || strings.HasPrefix(head, "goroutine "+world+" ") && !strings.Contains(head, "[coroutine") {
			return Stuck{Place: innermost(stack), Stack: stack}
		}
	}
	return Stuck{Place: "a place that can't be found", Stack: string(buf)}
}

// innermost is the frames of a stack that are the program's own, at most three.
func innermost(stack string) string {
	lines := strings.Split(stack, "\n")
	var frames []string
	for i := 1; i+1 < len(lines) && len(frames) < 3; i += 2 {
		fn := lines[i]
		if strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "sync.") || strings.HasPrefix(fn, "internal/") {
			continue
		}
		if at := strings.LastIndexByte(fn, '('); at > 0 {
			fn = fn[:at]
		}
		place := strings.TrimSpace(lines[i+1])
		place, _, _ = strings.Cut(place, " ")
		if slash := strings.LastIndexByte(place, '/'); slash >= 0 {
			place = place[slash+1:]
		}
		frames = append(frames, fn+" "+place)
	}
	return strings.Join(frames, ", called by ")
}
