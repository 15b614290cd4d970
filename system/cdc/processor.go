package cdc

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// processor replicates a capture's key spans of one changefeed. It is ticked by one task; what it is
// made of is replaced as a whole when something fails.
type processor struct {
	h       host.Host
	cfg     Config
	feed    model.ChangeFeedID
	capture model.CaptureID
	info    model.ChangeFeedInfo // as it was when the processor was made: what may change is not looked at
	// incarnation is the changefeed's: another one of the same id has another sink, target and start.
	incarnation coord.Revision
	life        context.Context
	end         context.CancelFunc
	agent       *agent
	// opened is closed once the opening of the sink has ended. From then on there is a sink, or an error.
	opened *host.Chan[struct{}]
	sink   sink.Sink
	err    error

	pipelines map[model.KeySpanID]*pipeline
	// What the coordination service says, as far as the view has come.
	globalCheckpoint, globalResolved model.Ts
	// infoRev is when the changefeed's info was put that the view had when all was well last: what fails after that may have
	// failed before the info was put again.
	infoRev coord.Revision
}

// newProcessor makes a processor without key spans, and begins to open its sink.
func newProcessor(ctx context.Context, l *life, feed model.ChangeFeedID, f *feedEntry) *processor {
	p := &processor{
		h: l.h, cfg: l.cfg, feed: feed, capture: l.id, info: f.info, incarnation: f.incarnation, infoRev: f.infoRev,
		opened: host.NewChan[struct{}](l.h, "cdc sink opened", 0), pipelines: map[model.KeySpanID]*pipeline{},
	}
	p.life, p.end = host.WithCancel(l.h, ctx)
	p.agent = newAgent(l, p)
	p.h.Go("cdc open a sink", p.open)
	return p
}

// open is the task that opens the sink. However long that takes, other changefeeds go on.
func (p *processor) open() {
	defer p.opened.Close()
	ctx, cancel := p.h.Clock().WithTimeout(p.life, p.cfg.Timeout)
	defer cancel()
	if p.sink, p.err = p.cfg.Sinks(ctx, p.feed, p.info); p.err != nil {
		p.err = fmt.Errorf("open the sink: %w", p.err)
	}
}

// tick does what is due. After an error the processor must be closed.
func (p *processor) tick(view *picture, f *feedEntry) error {
	if _, _, over := p.opened.TryRecv(); !over {
		p.h.Sometimes("cdc: a sink takes a while to open", true)
		return nil
	}
	if p.err != nil {
		return p.err
	}
	p.globalCheckpoint, p.globalResolved = f.status.CheckpointTs, f.status.ResolvedTs
	for _, id := range p.spans() {
		if _, err := p.pipelines[id].ended(); err != nil {
			return fmt.Errorf("key span %d: %w", id, err)
		}
		p.pipelines[id].raiseBarrier(p.globalResolved)
	}
	if err := p.agent.tick(view); err != nil {
		return err
	}
	p.infoRev = f.infoRev
	return nil
}

// close ends all pipelines and waits for them: after that nothing of this processor writes any more.
func (p *processor) close() {
	p.end()
	p.opened.Recv()
	for _, id := range p.spans() {
		p.pipelines[id].gone.Recv()
	}
	if p.err == nil {
		p.sink.Close()
	}
}

// spans are the key spans that have a pipeline, sorted.
func (p *processor) spans() []model.KeySpanID { return slices.Sorted(maps.Keys(p.pipelines)) }

// add starts a key span's pipeline, unless it is there. Epoch is that of the owner that dispatched it.
func (p *processor) add(id model.KeySpanID, startTs model.Ts, epoch coord.Revision) {
	if l := p.pipelines[id]; l != nil {
		if ended, _ := l.ended(); !ended {
			return
		}
	}
	p.h.Always("cdc: a key span does not start behind the checkpoint", startTs >= p.globalCheckpoint,
		"%s: key span %d at %d, the checkpoint is %d", p.feed, id, startTs, p.globalCheckpoint)
	p.h.Sometimes("cdc: a key span starts ahead of a view that lags", startTs > p.globalCheckpoint)
	p.pipelines[id] = newPipeline(p.life, p, id, startTs, epoch)
	p.pipelines[id].raiseBarrier(p.globalResolved)
}

// added tells whether a pipeline that was started at a ts is no longer behind, so that it may count as running.
// Reported is what the owner was told last, since the last Sync.
//
// From when a key span counts as running the owner takes the least over what captures have reported. By the time
// that it hears of the span it has heard the report, and none after it: messages keep their order. So
//
//   - the span is behind neither what was reported, or the checkpoint could move past it, and the resolved ts past
//     what it has received;
//   - and what was reported is not behind where the span started, nor what is stored, or the checkpoint could
//     regress, and the resolved ts go back without need.
func (p *processor) added(id model.KeySpanID, startTs model.Ts, reported report) bool {
	checkpoint, resolved := p.pipelines[id].progress()
	p.h.Sometimes("cdc: a key span has to catch up before it counts as added", checkpoint < reported.CheckpointTs)
	caughtUp := checkpoint >= reported.CheckpointTs && resolved >= reported.ResolvedTs
	return caughtUp && reported.CheckpointTs >= max(startTs, p.globalCheckpoint) && reported.ResolvedTs >= p.globalResolved
}

// remove tells a key span's pipeline to end. Owners dispatch the removal only of what the agent has told them runs
// since its last Sync, and nothing but a removal takes a pipeline away: one that is not there an owner has dispatched
// twice, or by what it knew of another processor. All the same it is as removed as can be, and the owner is told so.
func (p *processor) remove(id model.KeySpanID) {
	l := p.pipelines[id]
	p.h.Always("cdc: a key span that is to be removed is there", l != nil, "%s: key span %d", p.feed, id)
	if l != nil {
		l.end()
	}
}

// removed tells whether it has, and forgets it.
func (p *processor) removed(id model.KeySpanID) bool {
	l := p.pipelines[id]
	if l == nil {
		return true
	}
	if ended, _ := l.ended(); !ended {
		p.h.Sometimes("cdc: a key span takes a while to end", true)
		return false
	}
	delete(p.pipelines, id)
	return true
}

// progress is the least over the pipelines; the largest ts when there is none.
func (p *processor) progress() (checkpoint, resolved model.Ts) {
	checkpoint, resolved = math.MaxUint64, math.MaxUint64
	for _, id := range p.spans() {
		c, r := p.pipelines[id].progress()
		checkpoint, resolved = min(checkpoint, c), min(resolved, r)
	}
	return min(checkpoint, resolved), resolved
}
