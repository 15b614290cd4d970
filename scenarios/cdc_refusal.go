package scenarios

import (
	"context"
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
)

// sinkRefusal is a fault sink.refuse in force.
type sinkRefusal struct {
	feed string
	how  string
}

// handleSinks makes the sinks of changefeeds the subject of faults. Operators resume what fails by them: see mend.
func (c *cdcCluster) handleSinks() {
	feeds := slices.Clone(c.feeds)
	if c.opt.late {
		feeds = append(feeds, lateFeed)
	}
	c.r.Handle("sink.refuse", feeds, func(f *faults.Fault) (func(), bool) {
		if !slices.Contains(c.feeds, f.Target[0]) {
			return nil, false // it is to be created late
		}
		refusal := &sinkRefusal{f.Target[0], f.Text("how")}
		c.refusals = append(c.refusals, refusal)
		return func() {
			c.refusals = slices.DeleteFunc(c.refusals, func(other *sinkRefusal) bool { return other == refusal })
		}, true
	})
}

// refusableSink is a sink of a changefeed's life that takes nothing while it is refused.
type refusableSink struct {
	sink.Sink
	c          *cdcCluster
	feed, life string
}

// refused is the error of a sink that refuses, nil of one that does not.
func (s *refusableSink) refused(opens bool) error {
	for _, r := range s.c.refusals {
		if r.feed != s.feed {
			continue
		}
		switch {
		case r.how == "closed":
			s.c.watch.refused(s.life)
			return fmt.Errorf("%w: sink.refuse", sink.ErrClosed)
		case opens:
			s.c.watch.refused(s.life)
			return fmt.Errorf("%w: sink.refuse", sink.ErrGap)
		}
	}
	return nil
}

// Open is part of sink.Sink.
func (s *refusableSink) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	if err := s.refused(true); err != nil {
		return nil, false, err
	}
	span, base, err := s.Sink.Open(ctx, id, start)
	if err != nil {
		return nil, false, err
	}
	return &refusableSpan{span, s}, base, nil
}

type refusableSpan struct {
	sink.Span
	s *refusableSink
}

// Write is part of sink.Span.
func (s *refusableSpan) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	if err := s.s.refused(false); err != nil {
		return 0, err
	}
	return s.Span.Write(ctx, rows, upTo)
}
