package replica

import (
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
)

// subscribe sends a dataflow's output to the controller.
type subscribe struct {
	c *collection
	// upper is that of the last batch.
	upper protocol.Frontier
}

// emit sends what comes next. Without a snapshot the contents as of the beginning are left out.
func (s *subscribe) emit(out dataflow.Output) {
	if !s.c.desc.Sink.Snapshot {
		asOf := timeOf(s.c.desc.AsOf)
		out.Updates = slices.DeleteFunc(out.Updates, func(u dataflow.Update) bool { return u.Time <= asOf })
		out.Errors = slices.DeleteFunc(out.Errors, func(u dataflow.ErrorUpdate) bool { return u.Time <= asOf })
	}
	s.c.w.send(protocol.SubscribeResponse{ID: s.c.desc.ID, Batch: &protocol.SubscribeBatch{
		Lower: s.upper, Upper: out.Upper, Updates: out.Updates, Errors: out.Errors,
	}})
	s.upper = out.Upper
}
