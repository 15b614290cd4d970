package compute

import (
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// chooseAsOf is the time as of which a dataflow begins. It is bounded
//
//   - from below by what its inputs can be read from on;
//   - from above by the last complete time of the shards that it reads, itself or through indexes, so that
//     it hydrates at once, and by the read policy applied to that. How far an index is says nothing, since
//     it begins anew with each controller;
//   - from above, and without regard to anything else, by where the shard of its sink ends: what belongs
//     between would be missing for ever.
//
// The latest such time makes for the least history, and for the most that replicas can retain.
func (c *Controller) chooseAsOf(d *Description, flow *protocol.Dataflow) (uint64, error) {
	lower := c.readableFrom(flow)
	chosen := lower.at
	switch {
	case d.AsOf != nil:
		chosen = persist.At(*d.AsOf)
		if chosen.Before(lower.at) {
			return 0, &SinceError{Collection: lower.by, AsOf: chosen, Since: lower.at}
		}
	case len(flow.Shards)+len(flow.Indexes) > 0:
		complete := stepBack(c.completeBefore(flow))
		if flow.Sink.Kind == protocol.Index && d.Policy != nil {
			complete = complete.Meet(d.Policy(c.completeBefore(flow)))
		}
		chosen = lower.at.Join(complete)
	}
	if flow.Sink.Kind == protocol.Shard {
		s := c.shards[flow.Sink.Shard]
		if d.AsOf == nil && !s.isNew() && stepBack(s.upper).Before(chosen) {
			chosen = lower.at.Join(stepBack(s.upper))
		}
		if !s.isNew() && s.upper.Before(chosen) {
			return 0, &SinkError{AsOf: chosen, Upper: s.upper}
		}
	}
	t, ok := chosen.Time()
	if !ok {
		return 0, &SinceError{Collection: lower.by, AsOf: chosen, Since: lower.at}
	}
	return t, nil
}

type bound struct {
	at protocol.Frontier
	by string
}

// readableFrom is from where on all inputs can be read.
func (c *Controller) readableFrom(flow *protocol.Dataflow) (b bound) {
	raise := func(to protocol.Frontier, by string) {
		if b.by == "" || b.at.Before(to) {
			b = bound{to, by}
		}
	}
	for _, s := range flow.Shards {
		raise(c.shards[s.Shard].since, string(s.Shard))
	}
	for _, i := range flow.Indexes {
		raise(c.collections[i.ID].since, i.ID.String())
	}
	return b
}

// completeBefore is before which time all shards that a dataflow reads, itself or through indexes, are
// complete.
func (c *Controller) completeBefore(flow *protocol.Dataflow) protocol.Frontier {
	upper := persist.Empty()
	for _, s := range flow.Shards {
		upper = upper.Meet(c.shards[s.Shard].upper)
	}
	for _, i := range flow.Indexes {
		upper = upper.Meet(c.completeBefore(c.collections[i.ID].desc))
	}
	return upper
}
