package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// pipeline replicates one key span: a puller reads its changes into a sorter, a flusher writes what is
// resolved, everywhere, to the sink.
type pipeline struct {
	h    host.Host
	cfg  Config
	feed model.ChangeFeedID
	// incarnation is the changefeed's.
	incarnation coord.Revision
	capture     model.CaptureID
	span        model.KeySpanID
	startTs     model.Ts
	target      model.Ts
	dispatched  coord.Revision        // the epoch of the owner that dispatched it
	epoch       func() coord.Revision // the highest that is known
	life        context.Context
	end         context.CancelFunc
	tasks       *host.WaitGroup
	wake        *host.Chan[struct{}] // of capacity 1: there may be something to flush
	drained     *host.Chan[struct{}] // of capacity 1: there may be room for rows
	gone        *host.Chan[struct{}] // closed once it has stopped

	mu         *host.Mutex
	sorter     sorter
	resolved   model.Ts // everything up to it has been received
	checkpoint model.Ts // everything up to it is durable in the sink
	barrier    model.Ts // the largest resolved ts of the whole changefeed that was heard of
	stopped    bool     // it has ended, and so has its writing to the sink
	err        error
}

func newPipeline(ctx context.Context, p *processor, span model.KeySpanID, startTs model.Ts, dispatched coord.Revision) *pipeline {
	l := &pipeline{
		h: p.h, cfg: p.cfg, feed: p.feed, incarnation: p.incarnation, capture: p.capture, span: span, startTs: startTs,
		target: p.info.Target(), dispatched: dispatched, epoch: p.agent.ownerEpoch,
		tasks:   host.NewWaitGroup(p.h, "cdc pipeline"),
		wake:    host.NewChan[struct{}](p.h, "cdc pipeline flush", 1),
		drained: host.NewChan[struct{}](p.h, "cdc pipeline drained", 1),
		gone:    host.NewChan[struct{}](p.h, "cdc pipeline gone", 0),
		mu:      host.NewMutex(p.h, "cdc pipeline"), resolved: startTs, checkpoint: startTs, barrier: startTs,
	}
	l.life, l.end = host.WithCancel(p.h, ctx)
	p.h.Go(fmt.Sprintf("cdc span %d", span), func() { l.run(p.sink) })
	return l
}

// run is the pipeline's life. Whatever ends it, it counts as stopped only after its writing has ended.
func (l *pipeline) run(s sink.Sink) {
	out, err := l.open(s)
	if err == nil {
		l.cfg.Observer.Observe(SpanStarted{
			Feed: l.feed, Incarnation: l.incarnation, Capture: l.capture, Epoch: l.dispatched, Span: l.span, StartTs: l.startTs,
		})
		l.tasks.Go(l.h, "cdc pull", func() { l.fail(l.pull()) })
		l.fail(l.flush(out))
		l.tasks.Wait()
		if l.h.Buggify("cdc/a key span takes long to end") {
			l.h.Clock().Sleep(time.Duration(l.h.Rand().Int64N(int64(2 * time.Second))))
		}
		out.Close()
		l.cfg.Observer.Observe(SpanStopped{Feed: l.feed, Incarnation: l.incarnation, Capture: l.capture, Span: l.span})
	}
	l.fail(err)
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.gone.Close()
}

// fail ends the pipeline for the first reason that is not that it was told to end.
func (l *pipeline) fail(err error) {
	l.mu.Lock()
	if l.err == nil && err != nil && l.life.Err() == nil {
		l.err = err
	}
	l.mu.Unlock()
	if err != nil {
		l.end()
	}
}

// open opens the sink's side, and gets what has to be in the sink before the first change.
func (l *pipeline) open(s sink.Sink) (sink.Span, error) {
	out, base, err := s.Open(l.life, l.span, l.startTs)
	if err != nil || !base {
		return out, err
	}
	rows, err := retried(l, func(ctx context.Context) ([]source.Row, error) {
		return l.cfg.Upstream.Snapshot(ctx, l.span, l.startTs)
	})
	if err != nil {
		out.Close()
		return nil, err
	}
	l.h.Sometimes("cdc: a key span begins with a snapshot", len(rows) > 0)
	for i := range rows {
		rows[i] = sink.Base(rows[i])
	}
	l.sorter.add(rows)
	return out, nil
}

// retried makes a call of the upstream store until it succeeds, history turns out to be given up, or the
// pipeline ends.
func retried[T any](l *pipeline, call func(ctx context.Context) (T, error)) (T, error) {
	for {
		ctx, cancel := l.h.Clock().WithTimeout(l.life, l.cfg.Timeout)
		v, err := call(ctx)
		cancel()
		if err == nil || errors.Is(err, source.ErrGC) {
			return v, err
		}
		if errors.Is(err, source.ErrNoSpan) {
			// All of it is in the sink, and the owner is about to say that it is not wanted any more.
			l.h.Sometimes("cdc: a key span is gone upstream before its pipeline was told to end", true)
			host.Select(l.h, host.OnDone(l.life))
		}
		_ = host.Sleep(l.life, l.h, 50*time.Millisecond+time.Duration(l.h.Rand().Int64N(int64(100*time.Millisecond))))
		if l.life.Err() != nil {
			return v, l.life.Err()
		}
	}
}

// pull is the task that reads changes.
func (l *pipeline) pull() error {
	at := source.Cursor{Span: l.span, After: l.startTs}
	for l.life.Err() == nil {
		changes, err := retried(l, func(ctx context.Context) (source.Changes, error) { return l.cfg.Upstream.Changes(ctx, at) })
		if err != nil {
			l.h.Sometimes("cdc: a pipeline's history was given up", errors.Is(err, source.ErrGC))
			return err
		}
		at = changes.Next
		l.mu.Lock()
		l.sorter.add(changes.Rows)
		l.resolved = max(l.resolved, changes.Resolved)
		l.mu.Unlock()
		l.wake.Offer(struct{}{})
		l.awaitRoom()
	}
	return l.life.Err()
}

// awaitRoom waits while too many rows could be written and are not. Rows that wait for other key spans
// do not count: those might wait for this one.
func (l *pipeline) awaitRoom() {
	for l.life.Err() == nil {
		l.mu.Lock()
		full := l.sorter.len() > l.cfg.MaxBuffered && l.flushableLocked() > l.checkpoint
		l.mu.Unlock()
		if !full {
			return
		}
		l.h.Sometimes("cdc: a puller waits for the sink", true)
		_, _, _ = l.drained.RecvContext(l.life)
	}
}

// flushableLocked is the ts up to which rows may be written.
func (l *pipeline) flushableLocked() model.Ts { return min(l.resolved, l.barrier, l.target) }

// flush writes, until the pipeline ends, or a write fails. It does not try again: what a failed write left in the sink
// is found out when that is opened anew, and whatever made it fail a fresh connection is the best try at.
func (l *pipeline) flush(out sink.Span) error {
	for {
		l.mu.Lock()
		after, upTo := l.checkpoint, l.flushableLocked()
		var rows []source.Row
		if upTo > after {
			rows = l.sorter.take(upTo)
		}
		l.mu.Unlock()
		if upTo <= after {
			if _, _, err := l.wake.RecvContext(l.life); err != nil {
				return err
			}
			continue
		}
		if l.rarely("cdc/a write to the sink takes long") {
			_ = host.Sleep(l.life, l.h, time.Duration(l.h.Rand().Int64N(int64(3*time.Second))))
		}
		fresh, err := out.Write(l.life, rows, upTo)
		if err == nil && l.rarely("cdc/the answer of a write to the sink is lost") {
			err = errAnswerLost
		}
		if err != nil {
			l.h.Sometimes("cdc: a write to the sink failed", l.life.Err() == nil)
			return err
		}
		l.cfg.Observer.Observe(SpanFlushed{
			Feed: l.feed, Incarnation: l.incarnation, Capture: l.capture, Epoch: l.epoch(), Span: l.span,
			After: after, UpTo: upTo, Rows: rows, Fresh: fresh,
		})
		l.mu.Lock()
		l.checkpoint = upTo
		l.mu.Unlock()
		l.drained.Offer(struct{}{})
		_ = host.Sleep(l.life, l.h, l.cfg.FlushInterval)
	}
}

// rarely is Buggify for what a pipeline comes by many times a second.
func (l *pipeline) rarely(site string) bool { return l.h.Buggify(site) && l.h.Rand().IntN(8) == 0 }

// raiseBarrier tells the pipeline the changefeed's resolved ts.
func (l *pipeline) raiseBarrier(ts model.Ts) {
	l.mu.Lock()
	l.barrier = max(l.barrier, ts)
	l.mu.Unlock()
	l.wake.Offer(struct{}{})
}

// progress is how far the pipeline is.
func (l *pipeline) progress() (checkpoint, resolved model.Ts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkpoint, l.resolved
}

// ended tells whether the pipeline has ended, and why if it was not told to.
func (l *pipeline) ended() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped, l.err
}
