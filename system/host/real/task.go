package real

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
)

// Go is part of host.Host. The goroutine has the labels "host" and "task".
func (h *Host) Go(name string, fn func()) {
	if h.begin() {
		go h.run(name, fn)
	}
}

// begin counts a task that is about to run. It is false when the host is closed.
func (h *Host) begin() bool {
	h.mu.Lock()
	begun := !h.closed.Load()
	if begun {
		h.tasks.Add(1)
	}
	h.mu.Unlock()
	return begun || h.alive()
}

// run is the outermost frame of a task: it is what exitTask looks for.
//
//go:noinline
func (h *Host) run(name string, fn func()) {
	defer h.tasks.Done()
	defer func() {
		if r := recover(); r != nil {
			h.panicked(name, r)
		}
	}()
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("host", h.cfg.Name, "task", name)))
	fn()
}

// panicked ends the program. Of a task of the dead, whose deferred calls run when nothing works any
// more, it is only logged.
func (h *Host) panicked(task string, r any) {
	if h.closed.Load() {
		h.log.Warn("a task panicked after the host was closed", "task", task, "panic", fmt.Sprint(r))
		return
	}
	h.log.Error("a task panicked", "task", task, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	panic(r)
}

var taskFrame = runtime.FuncForPC(reflect.ValueOf((*Host).run).Pointer()).Name()

// exitTask ends the calling goroutine, running its deferred calls, if it is a task. It looks through
// the stack, which is slow: only hosts that are closed need to know.
func exitTask() {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(1, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*n)
		n = runtime.Callers(1, pcs)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == taskFrame {
			runtime.Goexit()
		}
	}
}
