package flow

import (
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
)

// output is what one run of a flow has put out.
type output struct {
	flow     catalog.FlowID
	query    *planner.Query
	requests []DiffRequest
	errs     *errCollector
	// whole: this is all of the flow's result, the first that it puts out. What else the sink has is to
	// go, unless it is older than horizon or there are other flows that write into the sink.
	whole   bool
	horizon int64
	landing *landing
}

// sinkQueue holds what is to be written into a sink.
type sinkQueue struct {
	h    host.Host
	name catalog.Name

	mu      *host.Mutex
	waiting []output

	busy bool // somebody holds writing

	// writing is held from taking results to the last write, so that the sink gets them in order. What
	// follows is of whoever holds it, who holds mu as well to change attempt.
	writing *host.Mutex
	// attempt is the write that was begun and whose outcome is not known yet.
	attempt *attempt
	// apart: the sink has refused a write of several flows, and each one's results are to be tried alone.
	apart bool
	// fenced: a write of this life of the node is known to be done, so that none of an earlier life can
	// be done any more.
	fenced bool
}

// attempt is a write, to be repeated as it is until it is known to have been done.
type attempt struct {
	request WriteRequest
	outputs []output
	tried   bool
}

func (a *attempt) wrote(node string, sink catalog.Name) Wrote {
	w := Wrote{Node: node, Sink: sink, Stamp: a.request.Stamp}
	for _, o := range a.outputs {
		if !slices.Contains(w.Flows, o.flow) {
			w.Flows = append(w.Flows, o.flow)
		}
	}
	for _, r := range a.request.Requests {
		if r.Delete {
			w.Deleted = append(w.Deleted, r.Rows...)
		} else {
			w.Inserted = append(w.Inserted, r.Rows...)
		}
	}
	return w
}

func newSinkQueue(h host.Host, name catalog.Name) *sinkQueue {
	return &sinkQueue{h: h, name: name, mu: host.NewMutex(h, "sink "+name.String()), writing: host.NewMutex(h, "write-back into "+name.String())}
}

// begin takes the sink for oneself, until end.
func (s *sinkQueue) begin() {
	s.writing.Lock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = true
}

func (s *sinkQueue) end() {
	s.mu.Lock()
	s.busy = false
	s.mu.Unlock()
	s.writing.Unlock()
}

// attempting notes the write that is about to be made, nil for none.
func (s *sinkQueue) attempting(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = a
}

func (s *sinkQueue) push(o output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, o)
}

// pushFront puts back what was taken.
func (s *sinkQueue) pushFront(outputs []output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(slices.Clone(outputs), s.waiting...)
}

// take takes all that waits.
func (s *sinkQueue) take() []output {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.waiting
	s.waiting = nil
	return taken
}

// requests are those that wait, an attempt's first.
func (s *sinkQueue) requests() (all []DiffRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt != nil {
		for _, o := range s.attempt.outputs {
			all = append(all, o.requests...)
		}
	}
	for _, o := range s.waiting {
		all = append(all, o.requests...)
	}
	return all
}

// discard forgets what waits of a flow.
func (s *sinkQueue) discard(flow catalog.FlowID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(o output) bool { return o.flow == flow })
}

// empty tells whether there is nothing to do, and nobody about to do it.
func (s *sinkQueue) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) == 0 && s.attempt == nil && !s.busy
}

// idle is empty for who has the sink.
func (s *sinkQueue) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) == 0 && s.attempt == nil
}

// portion is how much of what was taken is written at once: all, or the first flow's.
func (s *sinkQueue) portion(outputs []output) []output {
	if !s.apart {
		return outputs
	}
	n := slices.IndexFunc(outputs, func(o output) bool { return o.flow != outputs[0].flow })
	if n < 0 {
		return outputs
	}
	return outputs[:n]
}

// sameFlow tells whether all outputs are of one flow.
func sameFlow(outputs []output) bool {
	return !slices.ContainsFunc(outputs, func(o output) bool { return o.flow != outputs[0].flow })
}

func countRows(requests []DiffRequest) (n int) {
	for _, r := range requests {
		n += len(r.Rows)
	}
	return n
}

// inserted are the rows of all requests that are not deletions.
func inserted(requests []DiffRequest) (rows []dataflow.Row) {
	for _, r := range requests {
		if !r.Delete {
			rows = append(rows, r.Rows...)
		}
	}
	return rows
}
