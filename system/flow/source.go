package flow

import (
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// source takes in the changes of a table, in the order of their sequence numbers and each once, and hands
// them to the flows that read it: from its buffer, when it is flushed.
//
//	HandleInserts --> send --> buffer --> tryFlush --> a subscription for each flow
//
// What comes twice is dropped. What comes early waits for what is before it; what does not come is
// fetched from a frontend.
type source struct {
	h     host.Host
	cfg   Config
	table *catalog.Table // its definition, which never changes under its number

	// sending is held while a batch is put into the buffer, which may wait.
	sending *host.Mutex
	buffer  *host.Chan[Batch]
	space   *host.Chan[struct{}] // tells the one who waits that there may be room

	// mu guards what follows, and is never held while waiting.
	mu       *host.Mutex
	next     uint64           // of the sequence numbers, that of the batch to come into the buffer next
	early    map[uint64]Batch // that wait for those before them
	buffered int              // rows in the buffer
	// published counts the batches that have left the buffer.
	published int
	subs      []*subscription
	gap       *gap // nil if nothing is lost
}

// gap is what a source has missed and can't fetch: the changes before upper.
type gap struct {
	upper uint64
	// over are the subscriptions there were when it was noticed. Those that were made since are of flows that
	// read a later snapshot.
	over []*subscription
}

// subscription is a flow's share of a source: what was published since it was made.
type subscription struct {
	flow    catalog.FlowID
	batches *host.Chan[Batch]
}

func newSource(h host.Host, cfg Config, table *catalog.Table, next uint64) *source {
	return &source{
		h: h, cfg: cfg, table: table, next: next, early: map[uint64]Batch{},
		sending: host.NewMutex(h, "sender of "+table.ID.String()),
		mu:      host.NewMutex(h, "source "+table.ID.String()),
		buffer:  host.NewChan[Batch](h, "buffer of "+table.ID.String(), cfg.SendBufCap),
		space:   host.NewChan[struct{}](h, "space in buffer of "+table.ID.String(), 1),
	}
}

// subscribe lets a flow see what is published from now on.
func (s *source) subscribe(flow catalog.FlowID) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &subscription{flow: flow, batches: host.NewChan[Batch](s.h, "input of a flow", host.Unbounded)}
	s.subs = append(s.subs, sub)
	return sub
}

func (s *source) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = slices.DeleteFunc(s.subs, func(other *subscription) bool { return other == sub })
}

// readers are the flows that read the source.
func (s *source) readers() []catalog.FlowID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var flows []catalog.FlowID
	for _, sub := range s.subs {
		if !slices.Contains(flows, sub.flow) {
			flows = append(flows, sub.flow)
		}
	}
	return flows
}

// upper is the sequence number of the batch that the source waits for: all before it are in the buffer, or
// have been.
func (s *source) upper() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// lose notes that the changes before the one of a number can't be had any more.
func (s *source) lose(upper uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gap == nil {
		s.gap = &gap{upper: upper, over: slices.Clone(s.subs)}
	}
}

// whole notes that nothing is missing.
func (s *source) whole() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = nil
}

// behind are the flows that have to begin anew before the source can pass over its gap.
func (s *source) behind() []catalog.FlowID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var flows []catalog.FlowID
	for _, sub := range s.subs {
		if s.gap != nil && slices.Contains(s.gap.over, sub) && !slices.Contains(flows, sub.flow) {
			flows = append(flows, sub.flow)
		}
	}
	return flows
}

// skip passes over the gap.
func (s *source) skip() {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gap == nil {
		return
	}
	s.next = max(s.next, s.gap.upper)
	s.gap = nil
	for seq := range s.early {
		if seq < s.next {
			delete(s.early, seq)
		}
	}
}

// send takes a batch in, and those that waited for it, and waits while the buffer is full. When the
// context ends before there is room, the batch counts as not having come. Whoever has the same batch waits for
// that, and then sends it.
func (s *source) send(ctx context.Context, b Batch) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	for ok := true; ok; {
		if !s.admit(b) {
			return nil
		}
		if err := s.put(ctx, b); err != nil {
			s.h.Sometimes("flow: an insert was given up while it waited for room", true)
			return err
		}
		b, ok = s.follower(b.Seq)
	}
	return nil
}

// admit tells whether the batch is the one that is waited for. It has not come before it is in the buffer: see
// follower.
func (s *source) admit(b Batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case b.Seq < s.next:
		s.h.Sometimes("flow: an insert came twice", true)
		return false
	case b.Seq > s.next:
		s.h.Sometimes("flow: an insert came early", true)
		if len(s.early) < s.cfg.EarlyInserts {
			s.early[b.Seq] = b
		}
		return false
	}
	return true
}

// follower notes that a batch has come, and is the one that has waited for it.
func (s *source) follower(seq uint64) (Batch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = max(s.next, seq+1)
	b, ok := s.early[s.next]
	delete(s.early, s.next)
	return b, ok
}

// put puts a batch into the buffer once there is room for it. The caller holds sending, so that there is
// one who waits at most.
func (s *source) put(ctx context.Context, b Batch) error {
	if s.h.Buggify("flow/dawdle before the buffer") {
		s.h.Clock().Sleep(50 * time.Millisecond)
	}
	for {
		s.mu.Lock()
		full := s.buffered >= s.cfg.SendBufRows
		if !full {
			s.buffered += len(b.Rows)
		}
		s.mu.Unlock()
		if !full {
			break
		}
		s.h.Sometimes("flow: an insert waits for room in the buffer", true)
		if _, _, err := s.space.RecvContext(ctx); err != nil {
			return err
		}
	}
	err := s.buffer.SendContext(ctx, b)
	if err != nil {
		s.mu.Lock()
		s.buffered -= len(b.Rows)
		s.mu.Unlock()
	}
	return err
}

// tryFlush publishes what is in the buffer, as long as no flow has too much before it, and returns how
// many rows that was. It does not wait.
func (s *source) tryFlush() (rows int) {
	for s.ready() {
		s.mu.Lock()
		b, _, ready := s.buffer.TryRecv()
		if !ready {
			s.mu.Unlock()
			break
		}
		rows += len(b.Rows)
		s.buffered -= len(b.Rows)
		s.published++
		for _, sub := range s.subs {
			sub.batches.Offer(b)
		}
		s.mu.Unlock()
		s.space.TrySend(struct{}{})
	}
	return rows
}

func (s *source) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if sub.batches.Len() >= s.cfg.BroadcastCap {
			s.h.Sometimes("flow: a buffer is not emptied because a flow is behind", true)
			return false
		}
	}
	return true
}

// admitted is how many batches will have been published once all in the buffer are.
func (s *source) admitted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published + s.buffer.Len()
}

// hasPublished tells whether so many batches have been published.
func (s *source) hasPublished(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published >= n
}
