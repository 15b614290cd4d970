package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// Mirror is the process between the parts that speak of checkpoints and those that don't. At each Interval it
// takes the published checkpoint T, and for each table
//
//  1. appends what changed in (T0, T] in the table's key spans to the shard TableShard, whose upper tells T0;
//  2. writes the same, and the mark T, in one operation to the table that flows read;
//
// and for each flow it copies a result whose mark is later than the one in the shard SinkShard to that shard,
// in one append.
//
// It keeps nothing: T0 is the shard's upper, the mark is in the table. So it may die at any point. Of several
// mirrors one leads; one that does not know yet that it no longer does finds that its appends are late, by the
// upper, and that its writes to tables are fenced out by those of a later term.
type Mirror struct {
	h     host.Host
	cfg   Config
	links Links
}

// StartMirror runs a mirror.
func StartMirror(h host.Host, cfg Config, links Links) (*Mirror, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	m := &Mirror{h: h, cfg: cfg, links: links}
	l := &leadership{h: h, coord: links.Coord, prefix: MirrorElection, ttl: cfg.SessionTTL}
	h.Go("campaign", func() { l.run(m.lead) })
	return m, nil
}

// lead mirrors until ctx is done.
func (m *Mirror) lead(ctx context.Context, term coord.Revision) {
	tasks := host.NewWaitGroup(m.h, "mirror")
	ingests := make([]*ingest, len(m.cfg.Tables))
	for i := range m.cfg.Tables {
		t := &m.cfg.Tables[i]
		ingests[i] = newIngest(m, t)
		feed := newFeed(m, t, term)
		tasks.Go(m.h, "feed "+t.Name, func() {
			m.keep(ctx, "feed "+t.Name, feed.step)
			feed.restart()
		})
	}
	retired := newRetirement(m)
	tasks.Go(m.h, "ingest", func() {
		var at model.Ts // the latest checkpoint that all tables are complete up to
		m.keep(ctx, "ingest", func(ctx context.Context) (err error) {
			at, err = m.ingest(ctx, ingests, retired, at)
			return err
		})
		for _, i := range ingests {
			i.close()
		}
	})
	publisher := newPublisher(m)
	tasks.Go(m.h, "publish", func() {
		m.keep(ctx, "publish", publisher.step)
		publisher.close()
	})
	tasks.Wait()
}

// keep makes a step over and over until the life is over.
func (m *Mirror) keep(life context.Context, what string, step func(context.Context) error) {
	for life.Err() == nil {
		ctx, cancel := m.h.Clock().WithTimeout(life, 10*m.cfg.CallTimeout)
		err := step(ctx)
		cancel()
		if err != nil && !errors.Is(err, ErrNoCheckpoint) {
			m.h.Logf("mirror: %s: %v", what, err)
		}
		m.h.Clock().Sleep(m.cfg.Interval)
	}
}

// ingest brings all tables from a checkpoint up to the published one, and returns that.
func (m *Mirror) ingest(ctx context.Context, ingests []*ingest, retired *retirement, from model.Ts) (model.Ts, error) {
	at, err := Checkpoint(ctx, m.links.Coord, m.cfg.Feed)
	if err != nil || at <= from {
		return from, err
	}
	if m.h.Buggify("pipeline/dawdle between the checkpoint and the key spans") {
		m.h.Clock().Sleep(time.Duration(m.h.Rand().Int64N(int64(2 * m.cfg.CallTimeout))))
	}
	// The list is taken after the checkpoint, so that it is complete as of it.
	spans, err := m.links.Source.Spans(ctx)
	if err != nil || spans.AsOf < at {
		return from, err
	}
	done := at
	var errs []error
	for _, i := range ingests {
		reached, err := i.step(ctx, spans, at)
		errs = append(errs, err)
		done = min(done, reached)
	}
	if err := errors.Join(errs...); err != nil {
		return from, err
	}
	forget := retired.step(ctx, spans, done, func(id model.KeySpanID) bool {
		return slices.ContainsFunc(ingests, func(i *ingest) bool { return i.spans[id] != nil })
	})
	if _, err := m.links.Source.Safepoint(ctx, mirrorService, forget, mirrorHold); err != nil {
		return from, err
	}
	m.h.Note("pipeline.mirrored", formatTS(at))
	return at, nil
}
