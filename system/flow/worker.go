package flow

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// Worker owns the dataflows of its flows. It is a task that serves requests one at a time, in the order
// in which they came: whoever's request was answered knows that all before it are done.
type Worker struct {
	h        host.Host
	requests *host.Chan[request]
	flows    map[catalog.FlowID]*runningFlow
	now      int64 // of the latest run: time never goes back
}

// request is one of its fields, and where the answer goes, if one is wanted.
type request struct {
	create   *createRequest
	remove   *catalog.FlowID
	run      *runRequest
	contains *catalog.FlowID
	fill     *fillRequest
	stats    bool
	shutdown bool
	answer   *host.Chan[answer]
}

type runRequest struct{ now int64 }

type fillRequest struct {
	flow  catalog.FlowID
	sub   *subscription // that of the instance to be filled
	rows  []dataflow.RowCount
	upper uint64
	now   int64
}

type answer struct {
	yes  bool
	stat FlowStat
	err  error
}

// NewWorker returns a worker, to be run as a task, and a handle on it.
func NewWorker(h host.Host, number int) (*WorkerHandle, *Worker) {
	requests := host.NewChan[request](h, fmt.Sprintf("worker %d", number), host.Unbounded)
	handle := &WorkerHandle{h: h, number: number, requests: requests, mu: host.NewMutex(h, "worker handle")}
	return handle, &Worker{h: h, requests: requests, flows: map[catalog.FlowID]*runningFlow{}}
}

// Run serves requests until the worker is shut down.
func (w *Worker) Run() {
	for {
		r, ok := w.requests.Recv()
		if !ok || r.shutdown {
			w.requests.Close()
			w.abandon()
			return
		}
		a := w.serve(r)
		if r.answer != nil {
			r.answer.Offer(a)
		}
	}
}

// abandon answers those that nobody will serve any more.
func (w *Worker) abandon() {
	for {
		r, ok := w.requests.Recv()
		if !ok {
			return
		}
		if r.answer != nil {
			r.answer.Offer(answer{err: fmt.Errorf("%w: the worker was shut down", ErrInternal)})
		}
	}
}

func (w *Worker) serve(r request) (a answer) {
	switch {
	case r.create != nil:
		w.create(*r.create)
	case r.remove != nil:
		_, a.yes = w.flows[*r.remove]
		delete(w.flows, *r.remove)
	case r.run != nil:
		w.now = max(w.now, r.run.now)
		for _, id := range slices.Sorted(maps.Keys(w.flows)) {
			w.flows[id].run(w.now)
		}
	case r.contains != nil:
		_, a.yes = w.flows[*r.contains]
	case r.fill != nil:
		a.yes, a.err = w.fill(r.fill)
	case r.stats:
		a.stat = w.stats()
	}
	return a
}

// create starts a flow, in place of the one of that id, if there is one.
func (w *Worker) create(spec createRequest) {
	f := newRunningFlow(w.h, spec)
	w.flows[f.id()] = f
}

func (w *Worker) fill(r *fillRequest) (done bool, err error) {
	f := w.flows[r.flow]
	if f == nil || f.spec.sub != r.sub {
		return false, nil // it was removed, or begun anew
	}
	w.now = max(w.now, r.now)
	return true, f.fill(r.rows, r.upper, w.now)
}

func (w *Worker) stats() FlowStat {
	s := FlowStat{StateBytes: map[catalog.FlowID]int{}, LastRunTick: map[catalog.FlowID]int64{}}
	for id, f := range w.flows {
		s.StateBytes[id] = f.size()
		if f.ran {
			s.LastRunTick[id] = f.lastRun
		}
	}
	return s
}

// WorkerHandle sends requests to a worker. Its methods may be called by several tasks. An error of a
// worker that is gone is [ErrInternal].
type WorkerHandle struct {
	h        host.Host
	number   int
	requests *host.Chan[request]

	mu   *host.Mutex
	down bool
}

// send queues a request and waits for the answer, if one is wanted.
func (w *WorkerHandle) send(ctx context.Context, r request, blocking bool) (answer, error) {
	if blocking {
		r.answer = host.NewChan[answer](w.h, "worker's answer", 1)
	}
	if !w.requests.Offer(r) {
		return answer{}, fmt.Errorf("%w: worker %d is gone", ErrInternal, w.number)
	}
	if !blocking {
		return answer{}, nil
	}
	a, _, err := r.answer.RecvContext(ctx)
	if err != nil {
		return answer{}, err
	}
	return a, a.err
}

// createFlow starts a flow.
func (w *WorkerHandle) createFlow(ctx context.Context, spec createRequest) error {
	_, err := w.send(ctx, request{create: &spec}, true)
	return err
}

// RemoveFlow stops a flow and tells whether it was there.
func (w *WorkerHandle) RemoveFlow(ctx context.Context, id catalog.FlowID) (bool, error) {
	a, err := w.send(ctx, request{remove: &id}, true)
	return a.yes, err
}

// RunAvailable lets the flows work through what has come, as of a tick; blocking waits until they have.
func (w *WorkerHandle) RunAvailable(ctx context.Context, now int64, blocking bool) error {
	_, err := w.send(ctx, request{run: &runRequest{now}}, blocking)
	return err
}

// ContainsFlow tells whether the worker has a flow.
func (w *WorkerHandle) ContainsFlow(ctx context.Context, id catalog.FlowID) (bool, error) {
	a, err := w.send(ctx, request{contains: &id}, true)
	return a.yes, err
}

// fill gives a flow what its table holds; it tells whether the flow was there to take it.
func (w *WorkerHandle) fill(ctx context.Context, r fillRequest) (bool, error) {
	a, err := w.send(ctx, request{fill: &r}, true)
	return a.yes, err
}

// QueryStateSize tells what the flows hold, and when they ran last.
func (w *WorkerHandle) QueryStateSize(ctx context.Context) (FlowStat, error) {
	a, err := w.send(ctx, request{stats: true}, true)
	return a.stat, err
}

// Shutdown ends the worker after the requests before it. Shut down again, it fails with [ErrUnexpected].
func (w *WorkerHandle) Shutdown() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return fmt.Errorf("%w: worker %d is shut down already", ErrUnexpected, w.number)
	}
	w.down = true
	w.requests.Offer(request{shutdown: true})
	return nil
}
