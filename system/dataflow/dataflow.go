package dataflow

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/simrun-dev/simrun/system/persist"
)

// Config is what a dataflow needs to know besides its plan.
type Config struct {
	// Sources are the schemas of what the plan reads.
	Sources Catalog
	// AsOf is the first time of the output. What comes for earlier times counts as of then.
	AsOf uint64
	// Until ends the output: nothing at or beyond it is computed. Nil is the empty frontier, no
	// end.
	Until *Frontier
}

// Dataflow maintains a plan's output while its sources change. See [New].
type Dataflow struct {
	plan    Plan
	schema  Schema
	asOf    uint64
	until   Frontier
	sources map[SourceID]*source
	inputs  []*source   // sorted by id
	nodes   []operator  // each after its inputs
	pending []*timely   // input not worked off, in the order of times
	done    []completed // frontiers that the sources have reached together, but not the output

	// what is being worked on
	current  *timely
	flushing int // node
	now      int64
	work     int
	rows     []delta
	errors   []ErrorUpdate

	wallNow     int64 // what SetNow said
	output      Output
	dropped     int64
	constants   []constant
	starts      bool // there is something at AsOf, whatever the inputs are
	pendingSize Size
}

// source is an input.
type source struct {
	*node
	id       SourceID
	schema   Schema
	frontier Frontier
}

// constant is an input that has come when the dataflow starts.
type constant struct {
	*node
	rows []delta
}

// timely is the input of one time. Each part goes to one node.
type timely struct {
	time   uint64
	parts  []part
	errors []inputError
}

// inputError is an error among a source's rows.
type inputError struct {
	from *node
	err  RowError
	diff int64
}

type part struct {
	to     *node
	deltas []delta
}

// completed is a frontier up to which all times are complete, and what time of day it was then.
type completed struct {
	upper Frontier
	now   int64
}

// Output is what a dataflow has put out of the times in [Lower, Upper).
type Output struct {
	_            struct{} `cbor:",toarray"`
	Lower, Upper Frontier
	// Updates and Errors are consolidated, and sorted by time and then by row or error.
	Updates []Update
	Errors  []ErrorUpdate
}

// New makes a dataflow of the plan. The error is a [*PlanError].
func New(plan Plan, config Config) (*Dataflow, error) {
	d := &Dataflow{
		plan:    plan,
		asOf:    config.AsOf,
		until:   persist.Empty(),
		sources: map[SourceID]*source{},
		now:     math.MinInt64,
		wallNow: math.MinInt64,
	}
	if config.Until != nil {
		d.until = *config.Until
	}
	r, err := plan.relation(config.Sources, nil)
	if err != nil {
		return nil, err
	}
	d.schema = r.Schema
	if err := d.build(config.Sources); err != nil {
		return nil, err
	}
	d.output.Lower = persist.At(d.asOf)
	d.output.Upper = d.output.Lower
	if d.until.Compare(d.output.Upper) <= 0 {
		d.output.Upper = persist.Empty()
		return d, nil
	}
	if d.starts || len(d.constants) > 0 {
		t := d.at(d.asOf)
		for _, c := range d.constants {
			t.parts = append(t.parts, part{c.node, c.rows})
			d.pendingSize = d.pendingSize.plus(sizeOf(c.rows))
		}
	}
	d.complete()
	return d, nil
}

// Plan is what the dataflow computes.
func (d *Dataflow) Plan() Plan { return d.plan }

// Schema is what rows of the output look like.
func (d *Dataflow) Schema() Schema { return d.schema }

// AsOf is the first time of the output.
func (d *Dataflow) AsOf() uint64 { return d.asOf }

// Sources are what the dataflow wants to be fed, sorted.
func (d *Dataflow) Sources() []SourceID {
	ids := make([]SourceID, len(d.inputs))
	for i, s := range d.inputs {
		ids[i] = s.id
	}
	return ids
}

// Push takes updates of a source, of any times not before its frontier, in any order. The rows'
// memory is kept, the slice's not. If any is refused none is taken, and the error is an
// [*InputError].
func (d *Dataflow) Push(id SourceID, updates []Update) error {
	s := d.sources[id]
	if s == nil {
		return &InputError{Source: id, Cause: ErrUnknownSource}
	}
	for _, u := range updates {
		if err := s.accept(u.Time); err != nil {
			return err
		}
		if err := s.schema.Check(u.Row); err != nil {
			return &InputError{Source: id, Cause: err}
		}
	}
	var t *timely
	var p *part
	for _, u := range updates {
		time := max(u.Time, d.asOf)
		if d.until.LessEqual(time) {
			continue
		}
		if t == nil || t.time != time {
			t = d.at(time)
			p = t.part(s.node)
		}
		p.deltas = append(p.deltas, delta{u.Row, u.Diff})
		d.pendingSize.Records++
		d.pendingSize.Bytes += len(u.Row) + 24
	}
	return nil
}

// PushErrors takes updates of errors that a source has beside its rows, as the output of another
// dataflow may. They become errors of the output, once for each time that the plan reads the
// source. The error is an [*InputError].
func (d *Dataflow) PushErrors(id SourceID, updates []ErrorUpdate) error {
	s := d.sources[id]
	if s == nil {
		return &InputError{Source: id, Cause: ErrUnknownSource}
	}
	for _, u := range updates {
		if err := s.accept(u.Time); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if time := max(u.Time, d.asOf); !d.until.LessEqual(time) {
			t := d.at(time)
			t.errors = append(t.errors, inputError{s.node, u.Err, u.Diff})
		}
	}
	return nil
}

// accept refuses updates of times that are over.
func (s *source) accept(time uint64) error {
	if s.frontier.LessEqual(time) {
		return nil
	}
	return &InputError{Source: s.id, Cause: ErrBehindFrontier, Detail: fmt.Sprintf("time %d, frontier %v", time, s.frontier)}
}

func sizeOf(deltas []delta) Size {
	s := Size{Records: len(deltas)}
	for _, d := range deltas {
		s.Bytes += len(d.row) + 24
	}
	return s
}

// at is the input of a time.
func (d *Dataflow) at(time uint64) *timely {
	i, found := len(d.pending), false
	if i > 0 && d.pending[i-1].time >= time {
		i, found = slices.BinarySearchFunc(d.pending, time, func(t *timely, time uint64) int { return cmp.Compare(t.time, time) })
	}
	if !found {
		d.pending = slices.Insert(d.pending, i, &timely{time: time})
	}
	return d.pending[i]
}

// part is what goes to a node.
func (t *timely) part(to *node) *part {
	for i := range t.parts {
		if t.parts[i].to == to {
			return &t.parts[i]
		}
	}
	t.parts = append(t.parts, part{to: to})
	return &t.parts[len(t.parts)-1]
}

// Advance says that nothing comes from the source any more for times before the frontier. The
// error is an [*InputError].
func (d *Dataflow) Advance(id SourceID, to Frontier) error {
	s := d.sources[id]
	if s == nil {
		return &InputError{Source: id, Cause: ErrUnknownSource}
	}
	if to.Before(s.frontier) {
		return &InputError{Source: id, Cause: ErrFrontierRegressed, Detail: fmt.Sprintf("to %v, it is at %v", to, s.frontier)}
	}
	s.frontier = to
	d.complete()
	return nil
}

// complete notes how far all sources are.
func (d *Dataflow) complete() {
	upper := persist.Empty()
	for _, s := range d.inputs {
		upper = upper.Meet(s.frontier)
	}
	if d.until.Compare(upper) <= 0 {
		upper = persist.Empty()
	}
	last := d.output.Upper
	if n := len(d.done); n > 0 {
		last = d.done[n-1].upper
	}
	if last.Before(upper) {
		d.done = append(d.done, completed{upper, d.wallNow})
	}
}

// SetNow tells the time of day in milliseconds, which [Plan.Expire] compares timestamps with. It
// holds for the times that are completed by later calls of [Dataflow.Advance], so that it does
// not matter how fast they are worked off. It never goes back: an earlier one is ignored. Before
// the first call nothing expires.
func (d *Dataflow) SetNow(ms int64) { d.wallNow = max(d.wallNow, ms) }

// Frontier is how far the output is computed: [Output.Upper] of what Take would return.
func (d *Dataflow) Frontier() Frontier { return d.output.Upper }

// Pending tells whether there is something for Step to do.
func (d *Dataflow) Pending() bool { return len(d.done) > 0 }

// Dropped is how many updates were dropped because they were too old. See [Plan.Expire].
func (d *Dataflow) Dropped() int64 { return d.dropped }

// Take returns what was put out since the last call.
func (d *Dataflow) Take() Output {
	out := d.output
	d.output = Output{Lower: out.Upper, Upper: out.Upper}
	return out
}

// Size estimates what the dataflow holds: its operators' state, input not worked off and output not
// taken.
func (d *Dataflow) Size() Size {
	s := d.pendingSize
	for _, n := range d.nodes {
		s = s.plus(n.size())
	}
	for _, u := range d.output.Updates {
		s = s.plus(Size{1, len(u.Row) + 32})
	}
	return s
}
