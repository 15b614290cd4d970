package replica

import (
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// stage is a part of a dataflow on a worker, which has its share of the rows.
type stage struct {
	dataflow.Stage
	flow   *dataflow.Dataflow
	inputs []input
}

// input puts together what workers send for one input of a stage.
type input struct {
	gather *dataflow.Gather
	router *dataflow.Router
}

// partition sets up the stages of the dataflow on this worker.
func (c *collection) partition() {
	d, workers := c.desc, len(c.w.p.workers)
	cut := dataflow.Partition
	if workers == 1 {
		cut = dataflow.Single
	}
	stages, err := cut(d.Plan, d.Catalog())
	if err != nil {
		panic(fmt.Sprintf("compute: dataflow %v, which its controller has checked: %v", d.ID, err))
	}
	for _, s := range stages {
		plan := s.Plan
		if c.w.number > 0 {
			plan = s.Follower()
		}
		flow, err := dataflow.New(plan, dataflow.Config{Sources: s.Catalog(), AsOf: timeOf(d.AsOf), Until: &d.Until})
		if err != nil {
			panic(fmt.Sprintf("compute: dataflow %v, which its controller has checked: %v", d.ID, err))
		}
		on := &stage{Stage: s, flow: flow}
		for _, in := range s.Inputs {
			on.inputs = append(on.inputs, input{dataflow.NewGather(c.producers(in), protocol.Frontier{}), in.Router(workers)})
		}
		c.stages = append(c.stages, on)
	}
	c.output = dataflow.NewGather(workers, d.AsOf)
}

// producers is how many workers send what an input reads: one reads a shard, all have a part of an index.
func (c *collection) producers(in dataflow.StageInput) int {
	for _, s := range c.desc.Shards {
		if s.Name == in.Source && in.Source != "" {
			return 1
		}
	}
	return len(c.w.p.workers)
}

// last is the stage that computes the dataflow's output.
func (c *collection) last() *stage { return c.stages[len(c.stages)-1] }

// feed sends what comes from a source to the workers that have to do with it. Producer is that among the
// source's.
func (c *collection) feed(name dataflow.SourceID, producer int, out dataflow.Output) {
	c.distribute(producer, out, func(in dataflow.StageInput) bool { return in.Source == name })
}

// distribute sends an output to the inputs that read it.
func (c *collection) distribute(producer int, out dataflow.Output, reads func(dataflow.StageInput) bool) {
	for i, s := range c.stages {
		for n, in := range s.Inputs {
			if reads(in) {
				c.deal(i, n, producer, s.inputs[n].router.Split(out))
			}
		}
	}
}

// deal sends each worker its part of an output.
func (c *collection) deal(stage, input, producer int, parts []dataflow.Output) {
	for number, part := range parts {
		e := exchanged{stage, input, producer, part}
		if number == c.w.number {
			c.receive(e)
			continue
		}
		generation := c.generation
		c.w.p.workers[number].hand(bytesOf(part), func(w *worker) { w.exchange(generation, e) })
	}
}

// receive takes this worker's part of an output: for a stage, or, behind the last of them, for the sink.
func (c *collection) receive(e exchanged) {
	if e.stage == len(c.stages) {
		if out, ok := c.output.Add(e.from, e.out); ok {
			c.put(out)
		}
		return
	}
	s := c.stages[e.stage]
	out, ok := s.inputs[e.input].gather.Add(e.from, e.out)
	if !ok {
		return
	}
	name := s.Inputs[e.input].Name
	err := errors.Join(
		s.flow.Push(name, out.Updates),
		s.flow.PushErrors(name, out.Errors),
		s.flow.Advance(name, out.Upper),
	)
	if err != nil {
		panic(fmt.Sprintf("compute: dataflow %v: %v", c.desc.ID, err))
	}
}

// step works off some input. It tells whether there is more to do.
func (c *collection) step(budget int) (more bool) {
	if !c.scheduled {
		return false
	}
	for i, s := range c.stages {
		if !s.flow.Pending() {
			continue
		}
		more = s.flow.Step(budget) || more
		out := s.flow.Take()
		switch {
		case out.Lower == out.Upper:
		case i < len(c.stages)-1:
			c.distribute(c.w.number, out, func(in dataflow.StageInput) bool { return in.Source == "" && in.Stage == i })
		default:
			c.conclude(out)
		}
	}
	c.w.h.Sometimes("compute: a dataflow's work took several turns", more)
	return more
}

// conclude takes what this worker has computed of the dataflow's output. The controller puts together what workers
// send; an index is kept by key, and one worker writes the shard.
func (c *collection) conclude(out dataflow.Output) {
	workers := len(c.w.p.workers)
	switch {
	case c.subscribe != nil:
		c.subscribe.emit(out)
	case workers == 1:
		c.receive(exchanged{stage: len(c.stages), out: out})
	case c.desc.Sink.Kind == protocol.Shard:
		parts := make([]dataflow.Output, workers)
		for i := range parts {
			parts[i] = dataflow.Output{Lower: out.Lower, Upper: out.Upper}
			if c.w.p.workers[i].writesTo(c.desc.ID) {
				parts[i] = out
			}
		}
		c.deal(len(c.stages), 0, c.w.number, parts)
	default:
		c.deal(len(c.stages), 0, c.w.number, c.router.Split(out))
	}
}

// put takes what is complete of this worker's share of the output.
func (c *collection) put(out dataflow.Output) {
	switch {
	case c.sink != nil:
		c.sink.desire(out)
	case c.index != nil:
		if err := c.index.Apply(out); err != nil {
			panic("compute: " + err.Error())
		}
		for _, d := range c.dependents {
			d.c.feed(d.name, c.w.number, out)
		}
	}
}

// computed is how far this worker's share of the output is computed.
func (c *collection) computed() protocol.Frontier {
	switch {
	case c.log != 0:
		return c.index.Upper()
	case c.subscribe != nil:
		return c.last().flow.Frontier()
	}
	return c.output.Upper()
}

// size estimates what the stages hold.
func (c *collection) size() (s dataflow.Size) {
	for _, on := range c.stages {
		of := on.flow.Size()
		s.Records, s.Bytes = s.Records+of.Records, s.Bytes+of.Bytes
	}
	return s
}

// timeOf is the time at which a dataflow begins.
func timeOf(asOf persist.Frontier) uint64 {
	t, ok := asOf.Time()
	if !ok {
		panic("compute: a dataflow as of []")
	}
	return t
}
