package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/simrun-dev/simrun/system/dataflow"
)

// Names of the oracles of [Pipeline].
const (
	OraclePipelineCheckpoint    = "pipeline/checkpoint"
	OraclePipelineEndToEnd      = "pipeline/end-to-end"
	OraclePipelineFlowSink      = "pipeline/flow-sink"
	OraclePipelineSubscribe     = "pipeline/subscribe"
	OraclePipelineSameAnswer    = "pipeline/same-answer"
	OraclePipelineIntrospection = "pipeline/introspection"
	OraclePipelineReadable      = "pipeline/readable"
	OraclePipelineProgress      = "pipeline/progress"
)

// PipelineOracles are the names of the oracles, sorted.
func PipelineOracles() []string {
	return []string{
		OraclePipelineCheckpoint, OraclePipelineEndToEnd, OraclePipelineFlowSink, OraclePipelineIntrospection,
		OraclePipelineProgress, OraclePipelineReadable, OraclePipelineSameAnswer, OraclePipelineSubscribe,
	}
}

// Pipeline judges a system in which a source changes, and what is computed of it is served as of points in time.
// It is fed the source's commits, in their order, and what can be observed of the system, and judges each
// observation as it comes. What is right as of T is what package naive computes of the source's rows at T.
//
//   - pipeline/checkpoint: when T is published, every key span that there is at T is durable up to T; T never
//     regresses; nothing is committed at or below a T that was published. What the shard of a key span holds as of any
//     time is what the source's keys in it are then.
//   - pipeline/end-to-end: what is served as of T is the query of the source at T: by a peek, in a table, and in a
//     materialized view; and nothing is complete beyond the published checkpoint.
//   - pipeline/flow-sink: as of any time from the first result on a flow's sink has one mark W, and beside it the
//     query of the source at W; W never goes back, and is never beyond the published checkpoint.
//   - pipeline/subscribe: what a subscription has told up to F adds up to the query of the source at F-1, without
//     gap or overlap.
//   - pipeline/same-answer: what is computed on a sink as of T is what follows from what is in the sink's shard
//     as of T.
//   - pipeline/introspection: in the end, the system's collections about itself say what is so; all the time, a row of
//     what goes on being there is there.
//   - pipeline/readable: nobody whose history is held finds that it is gone; in the end history does go.
//   - pipeline/progress: when sources are quiet and faults are over, everything gets there.
//
// A check costs what the contents of the tables at one moment do, however long the history is: the source's keys are
// kept with their versions, and a query is evaluated once for all times between two commits.
type Pipeline struct {
	catalog dataflow.Catalog
	tables  map[dataflow.SourceID]map[string][]pipelineVersion // by key
	commits []uint64
	spans   map[uint64]*pipelineSpan
	durable PipelineProgress
	// published is the latest checkpoint, stored as a revision.
	published, revision uint64

	queries   map[string]*pipelineQuery
	evaluated map[pipelineAnswer]pipelineRows
	sinks     map[string]*PipelineSink
	rules     rules
}

// pipelineVersion is what a key has from a ts on.
type pipelineVersion struct {
	at  uint64
	row dataflow.Row // "" is nothing
}

type pipelineSpan struct{ added, dropped uint64 }

// pipelineQuery is what a collection is, in terms of tables, or of one sink; or the rows of a table's keys from start up
// to end, if table is given.
type pipelineQuery struct {
	plan       dataflow.Plan
	sink       string
	table      dataflow.SourceID
	start, end string
}

// pipelineAnswer names what a query says of the state between two commits.
type pipelineAnswer struct {
	query   string
	commits int
}

// pipelineRows are a collection's rows and how often each is there.
type pipelineRows map[dataflow.Row]int64

// PipelineChange is what a transaction does to a key of a table. Row "" deletes it.
type PipelineChange struct {
	Table dataflow.SourceID
	Key   string
	Row   dataflow.Row
}

// NewPipeline returns a model that has observed nothing, of tables with these schemas.
func NewPipeline(tables dataflow.Catalog) *Pipeline {
	p := &Pipeline{
		catalog: tables, tables: map[dataflow.SourceID]map[string][]pipelineVersion{}, spans: map[uint64]*pipelineSpan{}, durable: PipelineProgress{},
		queries: map[string]*pipelineQuery{}, evaluated: map[pipelineAnswer]pipelineRows{}, sinks: map[string]*PipelineSink{}, rules: newRules(PipelineOracles()),
	}
	for name := range tables {
		p.tables[name] = map[string][]pipelineVersion{}
		p.Defined(string(name), dataflow.Get(name))
	}
	return p
}

// Oracles are the verdicts on what was observed so far.
func (p *Pipeline) Oracles() []Oracle { return p.rules.oracles() }

// Holds judges once, for what only who observes can tell: pipeline/introspection, pipeline/readable and
// pipeline/progress. It returns ok.
func (p *Pipeline) Holds(oracle string, ok bool, m Moment, format string, args ...any) bool {
	return p.rules.holds(oracle, ok, m, format, args...)
}

// Failed tells whether anything was found to be wrong: what follows is of little interest then.
func (p *Pipeline) Failed() bool {
	for _, o := range p.rules {
		if len(o.found) > 0 {
			return true
		}
	}
	return false
}

// Defined says what a collection is, in terms of tables.
func (p *Pipeline) Defined(name string, plan dataflow.Plan) {
	p.queries[name] = &pipelineQuery{plan: plan}
}

// DefinedSpan says that a collection is the rows of a table's keys from start up to end, exclusively.
func (p *Pipeline) DefinedSpan(name string, table dataflow.SourceID, start, end string) {
	p.queries[name] = &pipelineQuery{table: table, start: start, end: end}
}

// DefinedOn says what a collection is in terms of a sink's rows, the mark among them.
func (p *Pipeline) DefinedOn(name, sink string, columns []dataflow.Column, plan dataflow.Plan) {
	p.queries[name] = &pipelineQuery{plan: plan, sink: sink}
	p.catalog[dataflow.SourceID(sink)] = dataflow.Schema{Columns: columns}
}

// Committed observes a commit of the source. One that was observed before is passed over.
func (p *Pipeline) Committed(at uint64, changes []PipelineChange, m Moment) {
	if len(p.commits) > 0 && at <= p.commits[len(p.commits)-1] {
		return
	}
	if p.published > 0 {
		p.Holds(OraclePipelineCheckpoint, at > p.published, m, "the source commits at %d, and the checkpoint %d was published before", at, p.published)
	}
	p.commits = append(p.commits, at)
	for _, c := range changes {
		keys := p.tables[c.Table]
		keys[c.Key] = append(keys[c.Key], pipelineVersion{at, c.Row})
	}
}

// SpanAdded and SpanDropped observe that a key span comes and goes.
func (p *Pipeline) SpanAdded(span, at uint64) {
	if p.spans[span] == nil {
		p.spans[span] = &pipelineSpan{added: at}
	}
}

// SpanDropped observes that a key span goes.
func (p *Pipeline) SpanDropped(span, at uint64) { p.spans[span].dropped = at }

// SpanEnds tells whether a key span was dropped before a time, so that its shard has nothing to tell from there on.
func (p *Pipeline) SpanEnds(span, upper uint64) bool {
	s := p.spans[span]
	return s != nil && s.dropped != 0 && upper > s.dropped
}

// Durable observes that a key span is known to be in its shard up to a ts.
func (p *Pipeline) Durable(span, upTo uint64) { p.durable[span] = max(p.durable[span], upTo) }

// Progress is up to where key spans were durable at some moment.
type PipelineProgress map[uint64]uint64

// Progress is up to where key spans are durable.
func (p *Pipeline) Progress() PipelineProgress { return maps.Clone(p.durable) }

// Published observes that a checkpoint was published, as the given revision of what it is stored in, by somebody who
// set out to do so when key spans were that far.
func (p *Pipeline) Published(at, revision uint64, progress PipelineProgress, m Moment) {
	if revision < p.revision {
		p.Holds(OraclePipelineCheckpoint, at <= p.published, m, "the checkpoint goes back from %d to %d", at, p.published)
		return
	}
	p.Holds(OraclePipelineCheckpoint, at >= p.published, m, "the checkpoint goes back from %d to %d", p.published, at)
	p.published, p.revision = max(p.published, at), revision
	for _, id := range slices.Sorted(maps.Keys(p.spans)) {
		s := p.spans[id]
		if s.added >= at {
			continue
		}
		need := at
		if s.dropped != 0 {
			need = min(need, s.dropped)
		}
		p.Holds(OraclePipelineCheckpoint, progress[id] >= need, m,
			"the checkpoint %d is published, and key span %d (added at %d, dropped at %d) is durable up to %d only", at, id, s.added, s.dropped, progress[id])
	}
}

// Checkpoint is the latest that was published.
func (p *Pipeline) Checkpoint() uint64 { return p.published }

// Last is the ts of the latest commit.
func (p *Pipeline) Last() uint64 {
	if len(p.commits) == 0 {
		return 0
	}
	return p.commits[len(p.commits)-1]
}

// commitsUpTo is how many commits there are up to a ts.
func (p *Pipeline) commitsUpTo(at uint64) int {
	return sort.Search(len(p.commits), func(i int) bool { return p.commits[i] > at })
}

// between are the ts at which a collection can change from a ts, exclusively, up to another, and that other.
func (p *Pipeline) between(after, upTo uint64) []uint64 {
	times := slices.Clone(p.commits[p.commitsUpTo(after):p.commitsUpTo(upTo)])
	if len(times) == 0 || times[len(times)-1] != upTo {
		times = append(times, upTo)
	}
	return times
}

// contents are a table's rows at a ts.
func (p *Pipeline) contents(table dataflow.SourceID, at uint64) []dataflow.Update {
	var rows []dataflow.Update
	for _, versions := range p.tables[table] { // the order does not matter to a query
		if row := versionAt(versions, at); row != "" {
			rows = append(rows, dataflow.Update{Row: row, Diff: 1})
		}
	}
	return rows
}

// span are the rows of some keys at a ts.
func (p *Pipeline) span(q *pipelineQuery, at uint64) pipelineRows {
	rows := pipelineRows{}
	for key, versions := range p.tables[q.table] {
		if row := versionAt(versions, at); row != "" && key >= q.start && key < q.end {
			rows[row]++
		}
	}
	return rows
}

// versionAt is what a key has at a ts.
func versionAt(versions []pipelineVersion, at uint64) dataflow.Row {
	n := sort.Search(len(versions), func(i int) bool { return versions[i].at > at })
	if n == 0 {
		return ""
	}
	return versions[n-1].row
}

// query is what a query of tables says of the source at a ts.
func (p *Pipeline) query(name string, at uint64) pipelineRows {
	key := pipelineAnswer{name, p.commitsUpTo(at)}
	if rows, ok := p.evaluated[key]; ok {
		return rows
	}
	q := p.queries[name]
	if q.table != "" {
		rows := p.span(q, at)
		p.evaluated[key] = rows
		return rows
	}
	plan := q.plan
	inputs := map[dataflow.SourceID][]dataflow.Update{}
	for _, source := range plan.Sources() {
		inputs[source] = p.contents(source, at)
	}
	rows := p.evaluate(plan, inputs)
	p.evaluated[key] = rows
	return rows
}

// Peeked observes the answer to a peek as of a ts.
func (p *Pipeline) Peeked(view string, at uint64, rows []dataflow.RowCount, m Moment) {
	got := pipelineRows{}
	for _, r := range rows {
		got[r.Row] += r.Count
	}
	q := p.queries[view]
	if q.sink != "" {
		p.sinks[q.sink].peeked(view, at, got, m)
		return
	}
	p.compare(OraclePipelineEndToEnd, "a peek of "+view, at, got, p.query(view, at), m)
}

// compare judges contents.
func (p *Pipeline) compare(oracle, what string, at uint64, got, want pipelineRows, m Moment) bool {
	if maps.Equal(got, want) {
		p.rules[oracle].judged++
		return true
	}
	return p.Holds(oracle, false, m, "%s as of %d is not what the source says: %s", what, at, differing(got, want))
}

// differing says how contents are not what they ought to be.
func differing(got, want pipelineRows) string {
	type odd struct {
		row       dataflow.Row
		got, want int64
	}
	var all []odd
	for row, n := range got {
		if n != want[row] {
			all = append(all, odd{row, n, want[row]})
		}
	}
	for row, n := range want {
		if _, there := got[row]; !there {
			all = append(all, odd{row, 0, n})
		}
	}
	slices.SortFunc(all, func(a, b odd) int { return cmp.Compare(a.row, b.row) })
	var text []byte
	for i, o := range all {
		if i == 8 {
			text = fmt.Appendf(text, "; and %d more", len(all)-i)
			break
		}
		if i > 0 {
			text = append(text, "; "...)
		}
		switch {
		case o.got == 0:
			text = fmt.Appendf(text, "missing %v", o.row)
		case o.want == 0:
			text = fmt.Appendf(text, "surplus %v", o.row)
		default:
			text = fmt.Appendf(text, "wrong %v", o.row)
		}
		if o.got > 1 || o.want > 1 || o.got < 0 {
			text = fmt.Appendf(text, " (%d times, want %d)", o.got, o.want)
		}
	}
	return string(text)
}
