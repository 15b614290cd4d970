package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
)

// flowUser is a client: it changes the tables, and has flows of its own.
type flowUser struct {
	*flowCluster
	number  int
	choices *sim.Stream
	client  *frontend.Client
	slots   []*flowSlot
	moments *host.Chan[*flowSlot] // see flow_moment.go
	// sharer: it mostly has flows begin to share a sink, of which there are two.
	sharer bool
	// sharing: it is having a flow begin to share the sink of another that has just begun.
	sharing  bool
	rows     int
	bad      int
	accepted []string // rows of events whose insertion was acknowledged
	begun    bool     // it has inserted something
	done     bool
}

// flowSlot is the name of a flow with what is known of it.
type flowSlot struct {
	name string
	// fixed: the flow is created from this template and never replaced; nil of others.
	fixed *flowTemplate
	// current is the flow's definition, nil if there is no flow.
	current *definition
	// flushed: a flush has succeeded since the flow was defined, and floor is the change before which the
	// sink is at least.
	flushed bool
	floor   uint64
	// tried are the definitions that may be in force: see settle.
	tried []*definition
	murky bool
	// sinkGone: the flow's sink was dropped under it. unfit: there may be another table of that name, into
	// which the flow can't write.
	sinkGone, unfit bool
	// used are the sinks that it had, and open those of them into which something may come yet: of definitions that
	// were not known to be over when the last one was made.
	used, open map[string]bool
	// opened is when a write into its sink was begun last that was held up, or whose answer was lost.
	opened time.Duration
	// stopped are the sinks that nobody writes any more, with what they held when that was so.
	stopped map[string]sinkState
}

func newSlot(name string, fixed *flowTemplate) *flowSlot {
	return &flowSlot{name: name, fixed: fixed, used: map[string]bool{}, open: map[string]bool{}, stopped: map[string]sinkState{}}
}

func (u *flowUser) moment() models.Moment {
	return models.MomentAt(u.r.World.Events(), u.r.World.Now())
}

// execute executes a statement. Definite tells of an error whether the statement surely has no effect.
func (u *flowUser) execute(text string) (rows []string, definite bool, err error) {
	u.ops++
	u.r.World.Op(fmt.Sprintf("user %d: %s", u.number+1, text))
	ctx, cancel := u.watch.h.Clock().WithTimeout(context.Background(), statementTimeout+time.Second)
	defer cancel()
	results, err := u.client.Execute(ctx, text)
	u.r.World.Op(fmt.Sprintf("user %d: %v", u.number+1, err))
	if err != nil {
		return nil, frontend.Definite(err), err
	}
	if u.r.Working() {
		u.succeeded++
	}
	for _, r := range results[len(results)-1].Rows {
		rows = append(rows, string(r))
	}
	return rows, true, nil
}

func (u *flowUser) run() {
	u.client = frontend.NewClient(u.watch.h, statementTimeout+500*time.Millisecond, u.addresses(u.number)...)
	for !u.ready {
		u.watch.h.Clock().Sleep(poll)
	}
	for len(u.accepted) == 0 { // so that there is something to judge in any run
		u.insertEvents(sim.NewStream(u.choices.Uint64(), "first"))
	}
	u.begun = true
	for u.r.Working() {
		draw := sim.NewStream(u.choices.Uint64(), "statement")
		if s, moment := u.pause(sim.Exp(0, u.r.Duration("pace")).Sample(draw.Uint64())); moment && draw.N(4) > 0 {
			u.seize(s, draw)
			continue
		}
		if u.sharer && draw.N(3) > 0 {
			u.share(draw)
			continue
		}
		switch n := draw.N(20); {
		case n < 9:
			u.insertEvents(draw)
		case n < 12:
			u.insertState(draw)
		case n < 13:
			u.delete(draw)
		case n < 14 && draw.N(3) == 0:
			u.racedCreate(draw)
		case n < 14:
			u.badCreate(draw)
		case len(u.slots) == 0:
		default:
			u.handle(u.slots[draw.N(uint64(len(u.slots)))], draw)
		}
	}
	for _, s := range u.slots {
		for s.murky || s.sinkGone {
			u.mend(s)
		}
	}
	u.done = true
}

// handle does something with a flow.
func (u *flowUser) handle(s *flowSlot, draw *sim.Stream) {
	switch {
	case s.murky || s.sinkGone:
		u.mend(s)
	case s.current == nil:
		u.create(s, draw, false)
	default:
		switch n := draw.N(16); {
		case n < 5:
			for range draw.N(4) { // whose mirrors are on their way when the flush comes
				u.insertFor(s, draw)
			}
			u.flush(s)
		case n < 9:
			u.look(s)
		case s.shares() && draw.N(2) == 0:
			u.drop(s) // and its row stays, as if it were of who has the sink for itself then
			if draw.N(2) == 0 {
				u.shareAnew(s, draw)
			}
		case s.fixed != nil:
			u.flush(s)
		case n < 11:
			u.create(s, draw, true)
		case n < 14:
			u.remakeSink(s, draw)
		default:
			if draw.N(4) == 0 {
				u.dropSink(s, draw)
			}
			if !s.murky && s.current != nil {
				u.drop(s)
			}
		}
	}
}

// insertEvents inserts rows into the table that keeps all, the columns in any order, some left out.
func (u *flowUser) insertEvents(draw *sim.Stream) {
	columns := [][]string{{"id", "k", "v", "ts"}, {"ts", "v", "id", "k"}, {"v", "k", "id", "ts"}, {"id", "v", "ts"}, {"id", "k", "ts"}}[draw.N(5)]
	var values, rows []string
	for range 1 + draw.N(4) {
		u.rows++
		id := int64(u.number+1)*1_000_000 + int64(u.rows)
		k, v := dataflow.String(string(rune('a'+draw.N(5)))), dataflow.Int(int64(draw.N(41))-20)
		if draw.N(10) == 0 {
			k = dataflow.Null()
		}
		if draw.N(10) == 0 {
			v = dataflow.Null()
		}
		ts := u.watch.now() - int64(draw.N([]uint64{40_000, 200_000}[draw.N(2)]))
		switch draw.N(20) {
		case 0:
			ts = int64(draw.N(30_000)) - 15_000 // about 1970
		case 1:
			ts = u.watch.now() + int64(draw.N(10_000))
		}
		if !contains(columns, "k") {
			k = dataflow.Null()
		}
		if !contains(columns, "v") {
			v = dataflow.Int(7) // the column's default
		}
		u.watch.inserting(k, ts)
		literals := map[string]string{"id": fmt.Sprint(id), "k": k.String(), "v": v.String(), "ts": fmt.Sprint(ts)}
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = literals[c]
		}
		values = append(values, "("+strings.Join(row, ", ")+")")
		rows = append(rows, string(dataflow.Pack(dataflow.Int(id), k, v, dataflow.Timestamp(ts))))
	}
	_, _, err := u.execute(fmt.Sprintf("INSERT INTO events (%s) VALUES %s", strings.Join(columns, ", "), strings.Join(values, ", ")))
	if err == nil {
		u.accepted = append(u.accepted, rows...)
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// insertState replaces rows of the table with a key.
func (u *flowUser) insertState(draw *sim.Stream) {
	var values []string
	for range 1 + draw.N(3) {
		u.rows++
		k := draw.N(10)
		values = append(values, fmt.Sprintf("('k%d', %d, %d, %d)", k, k*1000, int64(draw.N(9))-2, u.number*1_000_000+u.rows))
	}
	u.execute("INSERT INTO state (k, ts, v, id) VALUES " + strings.Join(values, ", "))
}

func (u *flowUser) delete(draw *sim.Stream) {
	if draw.N(2) == 0 {
		u.execute(fmt.Sprintf("DELETE FROM state WHERE k = 'k%d' OR v = %d", draw.N(10), draw.N(9)))
		return
	}
	u.execute(fmt.Sprintf("DELETE FROM events WHERE id %% %d = %d AND v > %d", 5+draw.N(20), draw.N(5), int64(draw.N(40))-20))
}

// create creates or replaces a flow.
func (u *flowUser) create(s *flowSlot, draw *sim.Stream, replace bool) {
	t, above := &flowTemplates[draw.N(uint64(len(flowTemplates)))], int64(draw.N(10))-25
	if draw.N(3) == 0 {
		above = int64(draw.N(30)) - 20
	}
	if s.fixed != nil {
		t, above = s.fixed, -1000
	}
	if replace && draw.N(2) == 0 {
		t = s.current.flowTemplate
	}
	u.createOf(s, t, above, draw, replace)
}

// createOf creates or replaces a flow, of a template.
func (u *flowUser) createOf(s *flowSlot, t *flowTemplate, above int64, draw *sim.Stream, replace bool) {
	d := define(t, s.name, above, u.watch.group)
	d.query.Inherits = s.used[d.sink]
	s.used[d.sink] = true
	how := []string{"CREATE FLOW", "CREATE FLOW IF NOT EXISTS", "CREATE OR REPLACE FLOW"}[draw.N(3)]
	if replace {
		how = "CREATE OR REPLACE FLOW"
	}
	if at, ok := s.stopped[d.sink]; ok {
		if !u.stillStopped(s, d.sink, at) {
			return
		}
		delete(s.stopped, d.sink)
	}
	if d.made != "" {
		if _, _, err := u.execute(fmt.Sprintf(d.made, d.sink)); err != nil {
			return
		}
	}
	old := s.current
	s.open[d.sink] = true
	_, definite, err := u.execute(d.create(how, s.name))
	switch {
	case err == nil:
		u.stops(s, d.sink)
		s.current, s.flushed, s.floor, s.sinkGone = d, false, 0, false
		if draw.N(2) == 0 { // while the flow is given what its table holds, the table goes on
			for range draw.N(8) {
				u.insertFor(s, draw)
			}
		}
	case !definite:
		s.murky, s.flushed = true, false
		s.tried = append(s.tried, d)
		switch {
		case old == nil:
		case draw.N(3) == 0:
			u.dropInDoubt(s, d)
		default:
			u.flushInDoubt(s)
		}
	}
}

// dropInDoubt drops a flow that may have been replaced. What the definition before had on its way must not come
// after that, whether its node knew of the other one or not. Its replacement may come yet, with a sink of its own.
func (u *flowUser) dropInDoubt(s *flowSlot, replacement *definition) {
	if _, _, err := u.execute("DROP FLOW " + s.name); err != nil {
		return
	}
	s.current = nil
	u.stops(s, replacement.sink)
}

// flushInDoubt flushes a flow that may have been replaced, and judges that by what the catalog says it is before
// and after.
func (u *flowUser) flushInDoubt(s *flowSlot) {
	before, d := u.defined(s)
	if d == nil {
		return
	}
	from, err := u.watch.upper(d.table)
	if err != nil {
		return
	}
	if _, _, err := u.execute("FLUSH FLOW " + s.name); err != nil {
		return
	}
	rows, _, readErr := u.execute(d.read())
	if readErr != nil && !errors.Is(readErr, frontend.ErrNotFound) {
		return
	}
	to, err := u.watch.upper(d.table)
	if err != nil {
		return
	}
	switch after, _ := u.defined(s); {
	case after != before:
	case readErr != nil:
		u.model.Holds(models.OracleFlushVisible, false, u.moment(), "flow %s was flushed, and has no sink: %v", s.name, readErr)
	default:
		u.model.Seen(models.OracleFlushVisible, d.query, from, to, rows, u.moment())
	}
}

// defined is what the catalog says of a flow: its revision, and which definition that is, nil if it is none or can't
// be found out.
func (u *flowUser) defined(s *flowSlot) (revision uint64, found *definition) {
	ctx, cancel := u.watch.ask()
	defer cancel()
	f, err := u.watch.catalog.Flow(ctx, catalog.Public(s.name))
	if err != nil {
		return 0, nil
	}
	return f.Revision, s.known(f)
}

// known is the definition that a flow has in the catalog, nil if it is none of the slot's.
func (s *flowSlot) known(f *catalog.Flow) (found *definition) {
	for _, d := range append(s.tried, s.current) {
		if d != nil && f.Sink == catalog.Public(d.sink) && f.Query == canonical(d.text()) {
			found = d
		}
	}
	return found
}

// drop drops a flow.
func (u *flowUser) drop(s *flowSlot) {
	_, definite, err := u.execute("DROP FLOW " + s.name)
	switch {
	case err == nil:
		s.current, s.sinkGone = nil, false
		u.stops(s, "")
	case !definite:
		s.murky, s.flushed = true, false
	}
}

// share has two flows begin to share a sink, one after the other.
func (u *flowUser) share(draw *sim.Stream) {
	for _, s := range u.slots {
		switch {
		case !s.shares():
			continue
		case s.murky:
			u.mend(s)
		case s.current != nil:
			u.drop(s)
			u.shareAnew(s, draw)
		default:
			u.create(s, draw, false)
		}
		return
	}
}

// shareAnew has the other flow of a shared sink begin to have it for itself: it clears away what this one has left, and
// that may be on its way yet when this one comes back.
func (u *flowUser) shareAnew(s *flowSlot, draw *sim.Stream) {
	for _, other := range u.slots {
		if other == s || !other.shares() || other.murky || s.murky {
			continue
		}
		if other.current != nil {
			u.drop(other)
		}
		if other.murky {
			return
		}
		u.moments.TryRecv() // of before
		u.sharing = true
		u.create(other, draw, false)
		u.pause(sim.Exp(0, time.Second).Sample(draw.Uint64())) // or until its write is open
		u.create(s, draw, false)
		if s.current != nil {
			u.flush(s)
		}
		u.sharing = false
	}
}

// insertFor inserts rows into the table that a flow reads.
func (u *flowUser) insertFor(s *flowSlot, draw *sim.Stream) {
	if s.current.table == eventsTable {
		u.insertEvents(draw)
	} else {
		u.insertState(draw)
	}
}

// dropSink drops the table that a flow writes into, while it does.
func (u *flowUser) dropSink(s *flowSlot, draw *sim.Stream) {
	u.insertFor(s, draw)
	s.flushed = false
	_, definite, err := u.execute("DROP TABLE " + s.current.sink)
	s.sinkGone, s.murky = err == nil || !definite, err != nil && !definite
	u.watch.h.Clock().Sleep(sim.Exp(0, 200*time.Millisecond).Sample(draw.Uint64()))
}

// remakeSink drops the table that a flow writes into, and makes another one of that name: one just like it,
// for which the flow begins anew by itself, or one into which it can't write.
func (u *flowUser) remakeSink(s *flowSlot, draw *sim.Stream) {
	ctx, cancel := u.watch.ask()
	t, err := u.watch.catalog.Table(ctx, catalog.Public(s.current.sink))
	cancel()
	if err != nil {
		return
	}
	if u.dropSink(s, draw); s.murky || !s.sinkGone {
		return
	}
	s.unfit = draw.N(2) == 0
	if !s.unfit {
		if _, _, err := u.execute(t.String()); err == nil {
			s.sinkGone = false
		}
		return
	}
	u.execute("CREATE TABLE " + s.current.sink + " (unfit BOOLEAN)")
	u.watch.h.Clock().Sleep(sim.Exp(0, 3*time.Second).Sample(draw.Uint64()))
}

// stops notes that nothing may be written from now on into the sinks that the flow ever had, but for one: the node has
// seen to that before it told that the flow is dropped, or has its new definition.
func (u *flowUser) stops(s *flowSlot, but string) {
	for _, sink := range sortedKeys(s.open) {
		if sink != but {
			delete(s.open, sink)
			u.stopped(s, sink)
		}
	}
}

// stopped notes what a sink holds that nobody writes any more.
func (u *flowUser) stopped(s *flowSlot, sink string) {
	if sink == sharedSink {
		return // which others do
	}
	for range 20 { // what comes until it is known is not noticed
		if state, ok, err := u.watch.sinkState(sink); err == nil {
			if ok {
				s.stopped[sink] = state
			}
			return
		}
		u.watch.h.Clock().Sleep(poll)
	}
}

// stillStopped judges that nothing was written; it tells whether that could be found out.
func (u *flowUser) stillStopped(s *flowSlot, sink string, at sinkState) bool {
	now, ok, err := u.watch.sinkState(sink)
	if err != nil {
		return false
	}
	u.model.Holds(models.OracleRemoveStops, ok && slices.Equal(now.rows, at.rows), u.moment(),
		"flow %s was removed or replaced, and rows of its sink %s were changed after that, by the changes from %d to %d", s.name, sink, at.upper, now.upper)
	return true
}

// settle finds out what became of statements of unknown outcome, once nothing of them can happen any more.
func (u *flowUser) settle(s *flowSlot) {
	u.watch.h.Clock().Sleep(murkyTime)
	for {
		ctx, cancel := u.watch.ask()
		f, err := u.watch.catalog.Flow(ctx, catalog.Public(s.name))
		cancel()
		var missing *catalog.NotFoundError
		switch {
		case errors.As(err, &missing):
			s.current = nil
			clear(s.open) // its node may not know yet
		case err != nil:
			continue
		default:
			if d := s.known(f); d != nil {
				s.current = d
			}
		}
		s.murky, s.flushed, s.floor, s.tried = false, false, 0, nil
		s.sinkGone = s.sinkGone && s.current != nil
		s.unfit = s.unfit && s.sinkGone
		return
	}
}

// mend brings a flow back to where it is known what it is.
func (u *flowUser) mend(s *flowSlot) {
	if s.murky {
		u.settle(s)
		return
	}
	if s.unfit {
		_, _, err := u.execute("DROP TABLE IF EXISTS " + s.current.sink)
		if s.unfit = err != nil; s.unfit {
			return
		}
	}
	d := *s.current
	_, definite, err := u.execute(d.create("CREATE OR REPLACE FLOW", s.name))
	s.sinkGone = err != nil
	if err != nil && !definite {
		s.murky = true
		s.tried = append(s.tried, &d)
	}
}

// flush flushes a flow and looks whether all is in its sink.
func (u *flowUser) flush(s *flowSlot) bool {
	from, err := u.watch.upper(s.current.table)
	if err != nil {
		return false
	}
	if _, _, err := u.execute("FLUSH FLOW " + s.name); err != nil {
		return false
	}
	at, ok := u.see(models.OracleFlushVisible, s, from)
	if ok {
		s.flushed, s.floor = true, at
	}
	return ok
}

// look looks whether the sink holds what it can. Before the first flush it may lag behind by anything, and still
// has nothing twice.
func (u *flowUser) look(s *flowSlot) {
	if !s.flushed {
		if s.current.query.Inherits {
			return
		}
		rows, _, err := u.execute(s.current.read())
		if err != nil {
			return
		}
		if to, err := u.watch.upper(s.current.table); err == nil {
			u.model.Counted(s.current.query, to, rows, u.moment())
		}
		return
	}
	if at, ok := u.see(models.OracleSinkEqualsQuery, s, s.floor); ok {
		s.floor = at
	}
}

// see reads the sink and judges what it holds.
func (u *flowUser) see(oracle string, s *flowSlot, from uint64) (at uint64, ok bool) {
	rows, _, err := u.execute(s.current.read())
	if err != nil {
		return 0, false
	}
	to, err := u.watch.upper(s.current.table)
	if err != nil {
		return 0, false
	}
	return u.model.Seen(oracle, s.current.query, from, to, rows, u.moment())
}
