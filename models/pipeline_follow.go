package models

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/naive"
)

// evaluate is what a plan says of inputs.
func (p *Pipeline) evaluate(plan dataflow.Plan, inputs map[dataflow.SourceID][]dataflow.Update) pipelineRows {
	c, err := naive.Evaluate(plan, naive.Inputs{Catalog: p.catalog, Updates: inputs}, 0)
	if err != nil {
		panic(fmt.Sprintf("models: a query of the pipeline: %v", err))
	}
	rows := pipelineRows{}
	for _, r := range c.Rows {
		rows[r.Row] = r.Count
	}
	return rows
}

// add changes how often a row is there.
func (r pipelineRows) add(row dataflow.Row, diff int64) {
	if r[row] += diff; r[row] == 0 {
		delete(r, row)
	}
}

// PipelineFollower judges a collection whose every update is observed: that what it adds up to is the query of the
// source, at every time.
type PipelineFollower struct {
	p      *Pipeline
	oracle string
	name   string
	query  string
	rows   pipelineRows
	// from is the first time of which it tells anything, upper up to where it was observed, exclusively.
	from, upper uint64
	// ahead: it may be complete beyond what was published.
	ahead bool
	wrong bool
}

// FollowSpan judges the shard that a key span is replicated into by pipeline/checkpoint, of which a checkpoint says that
// it is durable. The span is what was [Pipeline.DefinedSpan]; the rest is as with [Pipeline.FollowTable].
func (p *Pipeline) FollowSpan(name, span string, asOf uint64) *PipelineFollower {
	f := p.FollowTable(name, span, asOf)
	f.oracle, f.ahead = OraclePipelineCheckpoint, true
	return f
}

// FollowTable judges a table's or a materialized view's shard by pipeline/end-to-end. Query is what was
// [Pipeline.Defined]. What is observed begins with the contents as of a ts, at that time.
func (p *Pipeline) FollowTable(name, query string, asOf uint64) *PipelineFollower {
	return &PipelineFollower{p: p, oracle: OraclePipelineEndToEnd, name: name, query: query, rows: pipelineRows{}, from: asOf, upper: asOf}
}

// FollowSubscription judges a subscription by pipeline/subscribe, which begins as of a ts: with the contents, if
// snapshot, or else with what changes after that.
func (p *Pipeline) FollowSubscription(name, query string, asOf uint64, snapshot bool) *PipelineFollower {
	f := &PipelineFollower{p: p, oracle: OraclePipelineSubscribe, name: name, query: query, rows: pipelineRows{}, from: asOf}
	if !snapshot {
		f.rows = maps.Clone(p.query(query, asOf))
		f.from = asOf + 1
	}
	return f
}

// Advanced observes updates, sorted by time, of times from lower, where the last ones ended, up to upper, exclusively.
func (f *PipelineFollower) Advanced(lower, upper uint64, updates []dataflow.Update, m Moment) {
	p := f.p
	if f.wrong {
		return // what follows on an error is not told again
	}
	f.wrong = !p.Holds(f.oracle, lower == f.upper, m, "%s goes on at %d, and was told up to %d", f.name, lower, f.upper) ||
		!p.Holds(f.oracle, f.ahead || upper <= p.published+1, m, "%s is complete up to %d, and the latest checkpoint that was published is %d", f.name, int64(upper)-1, p.published)
	var times []uint64
	if upper > f.from && upper > lower {
		times = p.between(max(f.from, lower, 1)-1, upper-1)
	}
	for _, u := range updates {
		outside := u.Time < max(f.from, lower) || u.Time >= upper
		f.wrong = f.wrong || !p.Holds(f.oracle, !outside, m, "%s has an update at %d, outside of [%d, %d)", f.name, u.Time, max(f.from, lower), upper)
		times = append(times, u.Time)
	}
	slices.Sort(times)
	for _, t := range slices.Compact(times) {
		if f.wrong {
			return
		}
		for ; len(updates) > 0 && updates[0].Time <= t; updates = updates[1:] {
			f.rows.add(updates[0].Row, updates[0].Diff)
		}
		f.wrong = !p.compare(f.oracle, f.name, t, f.rows, p.query(f.query, t), m)
	}
	f.upper = upper
}

// Upper is up to where the collection was observed.
func (f *PipelineFollower) Upper() uint64 { return f.upper }

// PipelineRoll judges a collection that has one row for each of some names, whatever else the row says, at every time from
// the first row on: a roll of what there is, which nobody may find empty because it is being written anew.
type PipelineRoll struct {
	p     *Pipeline
	name  string
	names []string
	rows  pipelineRows
	begun map[string]bool // by name
	wrong bool
}

// FollowRoll judges a collection by pipeline/introspection. Rows that do not begin with one of the names do not matter.
func (p *Pipeline) FollowRoll(name string, names []string) *PipelineRoll {
	return &PipelineRoll{p: p, name: name, names: names, rows: pipelineRows{}, begun: map[string]bool{}}
}

// Advanced observes updates, sorted by time.
func (r *PipelineRoll) Advanced(updates []dataflow.Update, m Moment) {
	for len(updates) > 0 && !r.wrong {
		at := updates[0].Time
		for ; len(updates) > 0 && updates[0].Time == at; updates = updates[1:] {
			r.rows.add(updates[0].Row, updates[0].Diff)
		}
		count := map[string]int64{}
		for row, n := range r.rows {
			if data, err := row.Unpack(); err == nil && len(data) > 0 {
				count[data[0].Text()] += n
			}
		}
		for _, name := range r.names {
			r.begun[name] = r.begun[name] || count[name] > 0
			if r.begun[name] && !r.wrong {
				r.wrong = !r.p.Holds(OraclePipelineIntrospection, count[name] == 1, m, "%s as of %d has %d rows of %s", r.name, at, count[name], name)
			}
		}
	}
}

// PipelineSink judges a flow's sink, of which every update is observed.
type PipelineSink struct {
	p    *Pipeline
	name string
	// asOf is the column of the mark.
	asOf int
	// may are the queries of tables that the flow may be running, the latest last.
	may   []string
	rows  pipelineRows
	upper uint64
	marks []pipelineMark
	wrong bool
	// early are peeks of times that were not observed yet.
	early []pipelinePeek
}

// pipelineMark is a mark and the query whose result it came with, from a time on.
type pipelineMark struct {
	from, mark uint64
	rows       pipelineRows // without the mark
	full       pipelineRows
}

type pipelinePeek struct {
	view string
	at   uint64
	rows pipelineRows
	m    Moment
}

// FollowSink judges a sink by pipeline/flow-sink, and what is computed on it by pipeline/same-answer. The query, of
// tables, gives the sink's rows but for the mark, which is told by a value in column asOf.
func (p *Pipeline) FollowSink(name string, asOf int, query string) *PipelineSink {
	s := &PipelineSink{p: p, name: name, asOf: asOf, may: []string{query}, rows: pipelineRows{}}
	p.sinks[name] = s
	return s
}

// Replaced says that the flow's query is about to be another one.
func (s *PipelineSink) Replaced(query string) { s.may = append(s.may, query) }

// Settled says that the flow's query is the one that was defined last, and no other.
func (s *PipelineSink) Settled() { s.may = s.may[len(s.may)-1:] }

// Upper is up to where the sink was observed.
func (s *PipelineSink) Upper() uint64 { return s.upper }

// Mark is the latest mark.
func (s *PipelineSink) Mark() uint64 {
	if len(s.marks) == 0 {
		return 0
	}
	return s.marks[len(s.marks)-1].mark
}

// Advanced observes updates, sorted by time, up to upper, exclusively.
func (s *PipelineSink) Advanced(lower, upper uint64, updates []dataflow.Update, m Moment) {
	if s.wrong {
		return
	}
	if !s.p.Holds(OraclePipelineFlowSink, lower == s.upper, m, "sink %s goes on at %d, and was told up to %d", s.name, lower, s.upper) {
		s.wrong = true
		return
	}
	for len(updates) > 0 && !s.wrong {
		at, n := updates[0].Time, 0
		for ; n < len(updates) && updates[n].Time == at; n++ {
			s.rows.add(updates[n].Row, updates[n].Diff)
		}
		updates = updates[n:]
		s.changed(at, m)
	}
	s.upper = upper
	s.answer()
}

// changed judges what the sink holds from a time on.
func (s *PipelineSink) changed(at uint64, m Moment) {
	p := s.p
	rest := pipelineRows{}
	var marks []uint64
	for row, n := range s.rows {
		data, err := row.Unpack()
		if err != nil || s.asOf >= len(data) {
			s.wrong = !p.Holds(OraclePipelineFlowSink, false, m, "sink %s holds %q, which is no row of it", s.name, row)
			return
		}
		if d := data[s.asOf]; d.IsNull() {
			rest[row] = n
		} else {
			marks = append(marks, uint64(d.Int()))
		}
	}
	slices.Sort(marks)
	if !p.Holds(OraclePipelineFlowSink, len(marks) == 1, m, "sink %s as of %d has the marks %v, and must have one", s.name, at, marks) {
		s.wrong = true
		return
	}
	w := marks[0]
	ok := p.Holds(OraclePipelineFlowSink, w >= s.Mark(), m, "sink %s as of %d has the mark %d, and had %d before", s.name, at, w, s.Mark()) &&
		p.Holds(OraclePipelineFlowSink, w <= at, m, "sink %s as of %d has the mark %d, which is later", s.name, at, w) &&
		p.Holds(OraclePipelineFlowSink, w <= p.published, m, "sink %s has the mark %d, and the latest checkpoint that was published is %d", s.name, w, p.published)
	if ok && !slices.ContainsFunc(s.may, func(q string) bool { return maps.Equal(rest, p.query(q, w)) }) {
		ok = p.compare(OraclePipelineFlowSink, fmt.Sprintf("sink %s at %d with its mark", s.name, at), w, rest, p.query(s.may[len(s.may)-1], w), m)
	}
	s.wrong = !ok
	s.marks = append(s.marks, pipelineMark{at, w, rest, maps.Clone(s.rows)})
}

// peeked judges what was computed on the sink, as soon as it is known what that held.
func (s *PipelineSink) peeked(view string, at uint64, rows pipelineRows, m Moment) {
	s.early = append(s.early, pipelinePeek{view, at, rows, m})
	s.answer()
}

// answer judges peeks of times that were observed.
func (s *PipelineSink) answer() {
	s.early = slices.DeleteFunc(s.early, func(k pipelinePeek) bool {
		if k.at >= s.upper {
			return false
		}
		full := pipelineRows{}
		if n := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].from > k.at }); n > 0 {
			full = s.marks[n-1].full
		}
		inputs := make([]dataflow.Update, 0, len(full))
		for row, n := range full {
			inputs = append(inputs, dataflow.Update{Row: row, Diff: n})
		}
		want := s.p.evaluate(s.p.queries[k.view].plan, map[dataflow.SourceID][]dataflow.Update{dataflow.SourceID(s.name): inputs})
		s.p.compare(OraclePipelineSameAnswer, "a peek of "+k.view+", on sink "+s.name+",", k.at, k.rows, want, k.m)
		return true
	})
}
