package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Names of the oracles of [Flows].
const (
	OracleFlushVisible     = "flow/flush-visible"
	OracleSinkEqualsQuery  = "flow/sink-equals-query"
	OracleSinkConverges    = "flow/sink-converges"
	OracleNoDoubleCount    = "flow/no-double-count"
	OracleCreateAtomic     = "flow/create-atomic"
	OracleRemoveStops      = "flow/remove-stops"
	OracleRefillConverges  = "flow/refill-converges"
	OracleAcceptedIsStored = "flow/accepted-is-stored"
)

// FlowOracles are the names of the oracles.
func FlowOracles() []string {
	return []string{
		OracleFlushVisible, OracleSinkEqualsQuery, OracleSinkConverges, OracleNoDoubleCount, OracleCreateAtomic, OracleRemoveStops,
		OracleRefillConverges, OracleAcceptedIsStored,
	}
}

// Flows judges a system that keeps tables equal to queries over other tables. It is fed the changes of the
// source tables, numbered without gaps, and what the sinks are seen to hold.
//
// Its rule is that of a materialised view that may lag: at any time a sink holds what the query says of
// its source as it was before some change, and that place never moves back while one definition is in
// force. So
//
//   - flow/flush-visible: what a sink holds when a flush has returned is the query of the source before
//     some change that came after those that had been acknowledged when the flush was asked for;
//   - flow/sink-equals-query: so it is whenever the sink is read, and at rest that is the whole source;
//   - flow/sink-converges: once nothing changes any more, a sink comes to hold what the query says of the whole
//     source though nobody flushes the flow, also one that was made anew;
//   - flow/no-double-count: no group counts more rows than its source ever had at once, also while the sink may
//     lag behind by anything.
//
// Where rows expire a group that is over stays as it is: it holds what the query said before some change.
// The other oracles judge single observations: see [Flows.Holds].
type Flows struct {
	sources map[string]*flowSource
	results map[*FlowQuery]map[uint64]map[string]string // rows by key, before the change of a number
	rules   rules
}

// flowSource is a source table with its history.
type flowSource struct {
	inserted map[string]int64 // how often rows were inserted
	now      contents
	// eras are the contents from one change that changes something to the next, in order.
	eras []era
	next uint64 // the first number that was not observed yet
}

// era are the contents before the change of a number, and before those after it until the next era.
type era struct {
	from uint64
	rows []Row
}

// FlowGroup says what is known of a group of a flow whose rows expire.
type FlowGroup int

// The states of groups.
const (
	// GroupAlive: none of its rows came too late. It is judged as if nothing expired.
	GroupAlive FlowGroup = iota
	// GroupFading: some of its rows may have come too late. It holds what it held at some time, or is not
	// there.
	GroupFading
	// GroupExpired: all its rows came too late. It is not there.
	GroupExpired
)

// FlowQuery is what a flow computes.
type FlowQuery struct {
	// Flow names the flow, with its definition, in messages.
	Flow string
	// Source is the table that it reads.
	Source string
	// Eval is the query's result, rows without multiplicities, for the contents of the source, rows with
	// theirs. Both are sorted.
	Eval func(contents []Row) []string
	// Key is what tells a row of the result apart.
	Key func(row string) string
	// Group tells, of a flow whose rows expire, the state of a group by its key. Nil: nothing expires.
	Group func(key string) FlowGroup
	// Inherits: the sink had another definition before, whose rows of groups that are over are still there.
	Inherits bool
	// Count is how many rows of the source a row of the result counts; nil if that is not known of it.
	Count func(row string) (n int64, ok bool)
}

// NewFlows returns a model that has observed nothing.
func NewFlows() *Flows {
	return &Flows{
		sources: map[string]*flowSource{}, results: map[*FlowQuery]map[uint64]map[string]string{}, rules: newRules(FlowOracles()),
	}
}

// Oracles are the verdicts on what was observed so far.
func (f *Flows) Oracles() []Oracle { return f.rules.oracles() }

// Holds judges once by an oracle: ok must be true.
func (f *Flows) Holds(oracle string, ok bool, m Moment, format string, args ...any) bool {
	return f.rules.holds(oracle, ok, m, format, args...)
}

func (f *Flows) source(name string) *flowSource {
	s := f.sources[name]
	if s == nil {
		s = &flowSource{inserted: map[string]int64{}, now: contents{}, eras: []era{{from: 1}}, next: 1}
		f.sources[name] = s
	}
	return s
}

// Changed observes a change of a source. Changes are observed in the order of their numbers, which begin
// at 1 and have no gaps.
func (f *Flows) Changed(source string, number uint64, rows []Row) {
	s := f.source(source)
	if number != s.next {
		panic(fmt.Sprintf("models: change %d of source %s observed where change %d was due", number, source, s.next))
	}
	s.next++
	if len(rows) == 0 {
		return
	}
	for _, r := range rows {
		if r.Diff > 0 {
			s.inserted[r.Data] += r.Diff
		}
	}
	s.now.add(rows)
	s.eras = append(s.eras, era{s.next, s.now.rows()})
}

// Next is the number of the first change of a source that was not observed yet.
func (f *Flows) Next(source string) uint64 { return f.source(source).next }

// Contents are what a source holds after all changes observed, sorted.
func (f *Flows) Contents(source string) []Row { return f.source(source).now.rows() }

// contents are rows with their multiplicities.
type contents map[string]int64

func (c contents) add(rows []Row) {
	for _, r := range rows {
		if c[r.Data] += r.Diff; c[r.Data] == 0 {
			delete(c, r.Data)
		}
	}
}

func (c contents) rows() []Row {
	all := make([]Row, 0, len(c))
	for _, data := range slices.Sorted(maps.Keys(c)) {
		all = append(all, Row{Data: data, Diff: c[data]})
	}
	return all
}

// Seen judges what a sink held at some time: the query of the source before some change numbered from at
// least and to at most. It returns which, if that can be told. All changes before to have been observed.
func (f *Flows) Seen(oracle string, q *FlowQuery, from, to uint64, sink []string, m Moment) (at uint64, ok bool) {
	s := f.source(q.Source)
	j := newSinkJudge(q, sink)
	if q.Group != nil {
		f.remember(j, s, to)
	}
	for i, e := range s.eras {
		over := i+1 < len(s.eras) && s.eras[i+1].from <= from
		if !over && e.from <= to && !j.matched {
			j.look(max(e.from, from), f.result(q, e))
		}
	}
	problem := ""
	if !j.matched {
		problem = j.problem()
	}
	f.counted(q, j, s, to, m)
	f.Holds(oracle, j.matched, m, "flow %s: its sink is not what the query says of %s before any change from %d to %d: %s",
		q.Flow, q.Source, from, to, problem)
	return j.at, j.matched
}

// Shows tells whether a sink holds what the query says of the whole source, and judges nothing. All changes have to
// have been observed.
func (f *Flows) Shows(q *FlowQuery, sink []string) bool {
	s := f.source(q.Source)
	j := newSinkJudge(q, sink)
	if q.Group != nil {
		f.remember(j, s, s.next)
	}
	last := s.eras[len(s.eras)-1]
	j.look(last.from, f.result(q, last))
	return j.matched
}

// remember has the judge know what the query ever said, before changes up to to.
func (f *Flows) remember(j *sinkJudge, s *flowSource, to uint64) {
	for _, e := range s.eras {
		if e.from <= to {
			j.remember(f.result(j.q, e))
		}
	}
}

// result is the query's result in an era, by key.
func (f *Flows) result(q *FlowQuery, e era) map[string]string {
	known := f.results[q]
	if known == nil {
		known = map[uint64]map[string]string{}
		f.results[q] = known
	}
	if known[e.from] == nil {
		rows := map[string]string{}
		for _, row := range q.Eval(e.rows) {
			rows[q.Key(row)] = row
		}
		known[e.from] = rows
	}
	return known[e.from]
}

// Counted judges no more of what a sink held at some time than its counts. All changes before to have been observed.
func (f *Flows) Counted(q *FlowQuery, to uint64, sink []string, m Moment) {
	f.counted(q, newSinkJudge(q, sink), f.source(q.Source), to, m)
}

// counted judges the counts. What is right as a whole is right in them.
func (f *Flows) counted(q *FlowQuery, j *sinkJudge, s *flowSource, to uint64, m Moment) {
	switch {
	case q.Count == nil:
		return
	case j.matched:
		f.Holds(OracleNoDoubleCount, true, m, "")
		return
	}
	f.remember(j, s, to)
	for _, key := range slices.Sorted(maps.Keys(j.sink)) {
		n, ok := q.Count(j.sink[key])
		if !ok {
			continue
		}
		most := int64(0)
		for row := range j.history[key] {
			if had, ok := q.Count(row); ok {
				most = max(most, had)
			}
		}
		f.Holds(OracleNoDoubleCount, n <= most, m, "flow %s: the sink counts %d rows in %s, and %s never had more than %d", q.Flow, n,
			quoteRow(key), q.Source, most)
	}
}

// sinkJudge compares a sink with the history of a query.
type sinkJudge struct {
	q       *FlowQuery
	sink    map[string]string // rows by key
	twice   string            // a key that two rows have
	history map[string]map[string]bool

	matched bool
	at      uint64
	// closest is the least wrong place, and what is wrong there.
	closest  []string
	closeAt  uint64
	compared bool
}

func newSinkJudge(q *FlowQuery, sink []string) *sinkJudge {
	j := &sinkJudge{q: q, sink: map[string]string{}, history: map[string]map[string]bool{}}
	for _, row := range sink {
		key := q.Key(row)
		if _, there := j.sink[key]; there {
			j.twice = key
		}
		j.sink[key] = row
	}
	return j
}

// remember notes what the query said at some time.
func (j *sinkJudge) remember(result map[string]string) {
	for key, row := range result {
		if j.history[key] == nil {
			j.history[key] = map[string]bool{}
		}
		j.history[key][row] = true
	}
}

// look compares the sink with the result before a change.
func (j *sinkJudge) look(number uint64, want map[string]string) {
	wrong := j.differences(want)
	switch {
	case len(wrong) == 0:
		j.matched, j.at = true, number
	case !j.compared || len(wrong) <= len(j.closest):
		j.compared, j.closest, j.closeAt = true, wrong, number
	}
}

// differences tells, sorted, how the sink differs from what it should hold.
func (j *sinkJudge) differences(want map[string]string) []string {
	var wrong []string
	if j.twice != "" {
		wrong = append(wrong, "two rows of the key "+quoteRow(j.twice))
	}
	keys := maps.Clone(want)
	maps.Copy(keys, j.sink)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		has, there := j.sink[key]
		wanted, due := want[key]
		state := GroupAlive
		if j.q.Group != nil {
			state = j.q.Group(key)
		}
		switch {
		case state == GroupExpired && there:
			wrong = append(wrong, "has "+quoteRow(has)+" of a group whose rows all came too late")
		case state == GroupExpired, there == due && has == wanted:
		case state == GroupFading && (!there || j.q.Inherits || j.history[key][has]):
		case !there:
			wrong = append(wrong, "lacks "+quoteRow(wanted))
		case !due:
			wrong = append(wrong, "has "+quoteRow(has)+" too much")
		default:
			wrong = append(wrong, "has "+quoteRow(has)+" in place of "+quoteRow(wanted))
		}
	}
	return wrong
}

// problem says what is wrong at the place where least is.
func (j *sinkJudge) problem() string {
	if !j.compared {
		return "there is no such change"
	}
	shown := j.closest[:min(len(j.closest), 4)]
	text := fmt.Sprintf("%d rows differ before change %d: it %s", len(j.closest), j.closeAt, strings.Join(shown, ", "))
	if len(shown) < len(j.closest) {
		text += ", ..."
	}
	return text
}

// Accepted judges that rows whose insertion was acknowledged are in the source, as often as they were
// inserted: rows that differ from all others, and that nobody has deleted.
func (f *Flows) Accepted(source string, rows []string, m Moment) {
	s := f.source(source)
	for _, row := range slices.Sorted(slices.Values(rows)) {
		f.Holds(OracleAcceptedIsStored, s.inserted[row] == 1, m, "row %s of %s was acknowledged and was inserted %d times",
			quoteRow(row), source, s.inserted[row])
	}
}

// MomentAt is a moment of virtual time.
func MomentAt(event uint64, at time.Duration) Moment { return Moment{Event: event, NS: int64(at)} }
