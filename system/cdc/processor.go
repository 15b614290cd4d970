package cdc

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/host"
)

// processor replicates a capture's key spans of one changefeed. It is ticked by one task; what it is
// made of is replaced as a whole when something fails.
type processor struct {
	h       host.Host
	cfg     Config
	feed    model.ChangeFeedID
	capture model.CaptureID
	info    model.ChangeFeedInfo
	life    context.Context
	end     context.CancelFunc
	sink    sink.Sink
	agent   *agent

	pipelines map[model.KeySpanID]*pipeline
	// What the coordination service says, as far as the view has come.
	globalCheckpoint, globalResolved model.Ts
}

// newProcessor opens the sink and makes a processor without key spans.
func newProcessor(ctx context.Context, l *life, feed model.ChangeFeedID, info model.ChangeFeedInfo) (*processor, error) {
	p := &processor{
		h: l.h, cfg: l.cfg, feed: feed, capture: l.id, info: info,
		pipelines: map[model.KeySpanID]*pipeline{},
	}
	p.life, p.end = host.WithCancel(l.h, ctx)
	s, err := l.cfg.Sinks(p.life, feed, info)
	if err != nil {
		p.end()
		return nil, err
	}
	p.sink = s
	p.agent = newAgent(l, feed, p)
	return p, nil
}

// tick does what is due. After an error the processor must be closed.
func (p *processor) tick(view *picture, f *feedEntry) error {
	p.globalCheckpoint, p.globalResolved = f.status.CheckpointTs, f.status.ResolvedTs
	for _, id := range p.spans() {
		if _, err := p.pipelines[id].ended(); err != nil {
			return fmt.Errorf("key span %d: %w", id, err)
		}
		p.pipelines[id].raiseBarrier(p.globalResolved)
	}
	return p.agent.tick(view)
}

// close ends all pipelines and waits for them: after that nothing of this processor writes any more.
func (p *processor) close() {
	p.end()
	for _, id := range p.spans() {
		p.pipelines[id].gone.Recv()
	}
	p.sink.Close()
}

// spans are the key spans that have a pipeline, sorted.
func (p *processor) spans() []model.KeySpanID { return slices.Sorted(maps.Keys(p.pipelines)) }

// add starts a key span's pipeline, unless it is there.
func (p *processor) add(id model.KeySpanID, startTs model.Ts) {
	if l := p.pipelines[id]; l != nil {
		if ended, _ := l.ended(); !ended {
			return
		}
	}
	p.h.Always("cdc: a key span does not start behind the checkpoint", startTs >= p.globalCheckpoint,
		"%s: key span %d at %d, the checkpoint is %d", p.feed, id, startTs, p.globalCheckpoint)
	p.h.Sometimes("cdc: a key span starts ahead of a view that lags", startTs > p.globalCheckpoint)
	p.pipelines[id] = newPipeline(p, p.life, id, startTs)
	p.pipelines[id].raiseBarrier(p.globalResolved)
}

// added tells whether a pipeline that was started at a ts is no longer behind: not behind what the owner
// knows of this processor, and that not behind the start. Known is the last checkpoint that the owner
// has heard since the last Sync, 0 for none.
//
// The owner takes the least checkpoint over captures from what it has heard. Were the span to count as
// running before, the checkpoint could move past it.
func (p *processor) added(id model.KeySpanID, startTs, known model.Ts) bool {
	checkpoint, resolved := p.pipelines[id].progress()
	_, localResolved := p.progress()
	caughtUp := known != 0 && checkpoint >= known && known >= startTs && known >= p.globalCheckpoint
	p.h.Sometimes("cdc: a key span has to catch up before it counts as added", known != 0 && checkpoint < known)
	return caughtUp && resolved >= localResolved && localResolved >= p.globalResolved
}

// remove tells a key span's pipeline to end. One that is not there is no error.
func (p *processor) remove(id model.KeySpanID) {
	if l := p.pipelines[id]; l != nil {
		l.end()
	} else {
		p.h.Sometimes("cdc: the removal of a key span that is not there", true)
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
