package scenarios

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// Moments are worth more to users than other times are, as they are to faults: what a user asks for while a write into
// a flow's sink is open, or a node has just begun anew or does not hear what it should run, meets something that is
// half done. Users do not know that in real life, and have more time.

// writeOpen has who has a flow with the sink act at once.
func (c *flowCluster) writeOpen(sink string) {
	for _, u := range c.users {
		for _, s := range u.slots {
			if s.current != nil && s.current.sink == sink {
				s.opened = c.r.World.Now()
				u.moments.TrySend(s)
				break
			}
		}
	}
}

// contended tells whether a user is about to have another flow begin to share a sink and write there, in a run in which
// writes may be slow.
func (c *flowCluster) contended(sink string) bool {
	slow := c.r.Working() && (c.r.planned("frontend.slow") || c.r.planned("flow.lost_reply"))
	return slow && sink == sharedSink && slices.ContainsFunc(c.users, func(u *flowUser) bool { return u.sharing })
}

// disturbed has every user act at once, as a node has been restarted, is not told of what is defined, or can't write or
// have what it has missed.
func (c *flowCluster) disturbed() {
	for _, u := range c.users {
		if len(u.slots) > 0 {
			u.moments.TrySend(nil)
		}
	}
}

// pause waits until it is time for the next statement, or it is the moment for one about a flow: about any, if that is
// nil, and then that is the one into whose sink a write was open last.
func (u *flowUser) pause(d time.Duration) (s *flowSlot, moment bool) {
	ctx, cancel := u.watch.h.Clock().WithTimeout(context.Background(), d)
	defer cancel()
	s, moment, _ = u.moments.RecvContext(ctx)
	return s, moment
}

// seize makes something of a moment: what a flow has on its way must not matter once it is dropped or replaced, nor to
// who comes to share its sink.
func (u *flowUser) seize(s *flowSlot, draw *sim.Stream) {
	replace, remake := draw.N(2) == 0, false
	if s == nil {
		replace, remake = draw.N(4) > 0, draw.N(4) == 0
		s = slices.MaxFunc(u.slots, func(a, b *flowSlot) int { return cmp.Compare(a.opened, b.opened) })
		if i := slices.IndexFunc(u.slots, (*flowSlot).shares); i >= 0 && draw.N(2) == 0 {
			s = u.slots[i]
		}
	}
	switch {
	case s.murky || s.sinkGone:
	case s.shares() && s.current != nil:
		if draw.N(2) == 0 {
			u.drop(s)
			u.shareAnew(s, draw)
		}
	case s.current == nil:
		u.create(s, draw, false)
	case s.fixed != nil:
		u.flush(s)
	case remake:
		u.remakeSink(s, draw)
	case replace:
		t := &flowTemplates[draw.N(uint64(len(flowTemplates)))]
		if t != s.current.flowTemplate { // so that it has another sink from now on
			u.createOf(s, t, -1000, draw, true)
		}
	default:
		u.drop(s)
	}
}

// shares tells whether the flow shares its sink.
func (s *flowSlot) shares() bool { return s.fixed != nil && s.fixed.src != "" }
