package models

import (
	"cmp"
	"fmt"
	"slices"
)

// OracleDefinite is the name of [Definite].
const OracleDefinite = "persist/definite"

// Definite is the oracle persist/definite: what a shard says once stays true.
//
//   - Two snapshots of a shard as of the same time are equal, whoever takes them and whenever,
//     and consolidated: a row comes once, and not with a count of zero.
//   - A snapshot as of a is answered only once the upper may be past a: some append that leads
//     past it has been called by then.
//   - A reader is not served below its own hold.
//   - Upper and since never regress: who is called after another was answered does not see an
//     earlier upper, nor a lower hold, nor a hold below a since that the shard had reached.
//
// It needs no sequential specification, so it holds of shards whose writers are not all
// recorded, but for the second rule.
type Definite struct {
	History *History
	// StrictSince also forbids serving a snapshot below a since that somebody was told before
	// its call. Leave it false for shards whose clients read from cached state: those may
	// serve, correctly, what the shard has just given up.
	StrictSince bool
}

// Name is persist/definite.
func (d Definite) Name() string { return OracleDefinite }

// Judge judges every shard.
func (d Definite) Judge() Judgement {
	shards, err := shardHistories(d.History)
	if err != nil {
		return judge(d.Name(), 0, nil, []Violation{{Oracle: d.Name(), Message: err.Error()}})
	}
	var found []Violation
	judged := 0
	for _, s := range shards {
		judged += s.answered
		found = append(found, sameSnapshots(s)...)
		found = append(found, earlySnapshots(s)...)
		found = append(found, upperRegressions(s)...)
		found = append(found, sinceRegressions(OracleDefinite, s)...)
		found = append(found, d.servedTooLow(s)...)
	}
	return judge(d.Name(), judged, found, nil)
}

// sameSnapshots compares each snapshot with the first of the same time to be answered.
func sameSnapshots(s *shardHistory) []Violation {
	var found []Violation
	first := map[uint64]*logEntry{}
	for _, e := range byReturn(s.log) {
		if e.kind != logSnapshot {
			continue
		}
		if len(Consolidate(e.rows)) != len(e.rows) {
			found = append(found, violation(OracleDefinite, s.shard, e.op,
				"%v is not consolidated: %s", e.op, unconsolidated(e.rows)))
		}
		before, ok := first[e.asOf]
		if !ok {
			first[e.asOf] = e
			continue
		}
		if before.sum != e.sum {
			gap := compareRows(before.rows, e.rows)
			found = append(found, violation(OracleDefinite, s.shard, e.op,
				"two snapshots as of %d differ: compared with %v, %v has %s",
				e.asOf, before.op, e.op, gap.describe(nil)))
		}
	}
	return found
}

// unconsolidated names the first row that is there twice or zero times.
func unconsolidated(sorted []Row) string {
	for i, r := range sorted {
		if r.Diff == 0 {
			return fmt.Sprintf("row %s comes with a count of 0", quoteRow(r.Data))
		}
		if i > 0 && sorted[i-1].Data == r.Data {
			return fmt.Sprintf("row %s comes more than once", quoteRow(r.Data))
		}
	}
	return "consolidated"
}

// earlySnapshots reports snapshots answered before any append past their time was called.
func earlySnapshots(s *shardHistory) []Violation {
	var found []Violation
	var reach Frontier
	appends := appendsByCall(s.all)
	for _, e := range byReturn(s.log) {
		if e.kind != logSnapshot {
			continue
		}
		for len(appends) > 0 && appends[0].Call <= e.ret {
			in := appends[0].Input.(CompareAndAppend)
			reach = reach.Join(in.New)
			appends = appends[1:]
		}
		if !reach.Beyond(e.asOf) {
			found = append(found, violation(OracleDefinite, s.shard, e.op,
				"%v was answered before the upper can have passed %d: "+
					"of the appends called until then the furthest leads to %v",
				e.op, e.asOf, reach))
		}
	}
	return found
}

// appendsByCall lists the appends that may have moved the upper, in the order of their calls.
func appendsByCall(all []*Op) []*Op {
	var appends []*Op
	for _, op := range all {
		if in, ok := op.Input.(CompareAndAppend); ok && op.Outcome != Fail && in.Misuse() == "" {
			appends = append(appends, op)
		}
	}
	return appends // histories are in the order of calls
}

// sighting is what an operation shows of a value that only grows.
type sighting struct {
	op *Op
	// needs is the value the operation needs at some moment of its own: it must not be below
	// what was known before its call. None if it needs nothing.
	needs    Frontier
	hasNeeds bool
	// knows is the value that was surely reached by its return.
	knows    Frontier
	hasKnows bool
}

// regression is a sighting below what another one had known before its call.
type regression struct{ before, after sighting }

// regressions finds them by going through calls and returns in order. Where a call and a return
// share a position they are concurrent, so calls come first.
func regressions(all []sighting) []regression {
	calls := slices.Clone(all)
	slices.SortStableFunc(calls, func(a, b sighting) int { return cmp.Compare(a.op.Call, b.op.Call) })
	returns := slices.Clone(all)
	slices.SortStableFunc(returns, func(a, b sighting) int { return cmp.Compare(a.op.Return, b.op.Return) })
	var found []regression
	var best sighting
	for _, s := range calls {
		for len(returns) > 0 && returns[0].op.Return < s.op.Call {
			if r := returns[0]; r.hasKnows && (!best.hasKnows || best.knows.Less(r.knows)) {
				best = r
			}
			returns = returns[1:]
		}
		if best.hasKnows && s.hasNeeds && s.needs.Less(best.knows) {
			found = append(found, regression{best, s})
		}
	}
	return found
}

func upperRegressions(s *shardHistory) []Violation {
	var sightings []sighting
	for _, e := range s.log {
		if e.op.Outcome == Unknown || e.broken != "" {
			continue
		}
		switch e.kind {
		case logAppend:
			sightings = append(sightings,
				sighting{op: e.op, needs: e.from, hasNeeds: true, knows: e.to, hasKnows: true})
		case logUpper:
			sightings = append(sightings,
				sighting{op: e.op, needs: e.upper, hasNeeds: true, knows: e.upper, hasKnows: true})
		case logSnapshot:
			sightings = append(sightings, sighting{op: e.op, knows: after(e.asOf), hasKnows: true})
		}
	}
	var found []Violation
	for _, r := range regressions(sightings) {
		found = append(found, violation(OracleDefinite, s.shard, r.after.op,
			"the upper went back: it was at %v or later by the return of %v, "+
				"and at %v for %v, which was called after that",
			r.before.knows, r.before.op, r.after.needs, r.after.op))
	}
	return found
}

// after is the least upper that is past a time.
func after(t uint64) Frontier {
	if t+1 == 0 {
		return Closed()
	}
	return At(t + 1)
}

// sinceRegressions reports holds that went down, and live holds below a since that the shard
// had reached. Whatever it reports the holds' specification rejects as well.
func sinceRegressions(oracle string, s *shardHistory) []Violation {
	var found []Violation
	holders := map[holderID][]sighting{}
	var order []holderID
	var shard []sighting
	for _, e := range s.holds {
		if e.op.Outcome != Ok || e.broken != "" {
			continue
		}
		if _, ok := holders[e.holder]; !ok {
			order = append(order, e.holder)
		}
		since := e.since
		if e.kind != holdExpired {
			// An answer with a hold in force bounds the shard's since from above.
			shard = append(shard, sighting{op: e.op, needs: since, hasNeeds: true})
		}
		holders[e.holder] = append(holders[e.holder],
			sighting{op: e.op, needs: since, hasNeeds: true, knows: since, hasKnows: true})
	}
	shard = append(shard, reachedSinces(s)...)
	for _, id := range order {
		for _, r := range regressions(holders[id]) {
			found = append(found, violation(oracle, s.shard, r.after.op,
				"the since of %v went back: it was %v by the return of %v, and %v for %v, which was called after that",
				id, r.before.knows, r.before.op, r.after.needs, r.after.op))
		}
	}
	for _, r := range regressions(shard) {
		found = append(found, violation(oracle, s.shard, r.after.op,
			"the shard's since passed a hold in force: it was at %v or later by the return of %v, "+
				"and %v, which was called after that, still holds %v",
			r.before.knows, r.before.op, r.after.op, r.after.needs))
	}
	return found
}

// reachedSinces are the sinces that the shard itself surely reached: those of since errors,
// unless the error may speak of the reader's own hold, having moved that far at some time.
func reachedSinces(s *shardHistory) []sighting {
	highest := map[holderID]Frontier{}
	for _, e := range s.holds {
		highest[e.holder] = highest[e.holder].Join(e.asked)
		if e.kind != holdTooLate {
			highest[e.holder] = highest[e.holder].Join(e.since)
		}
	}
	var reached []sighting
	for _, e := range s.holds {
		if e.kind != holdTooLate || e.broken != "" || e.holder.id != "" && !highest[e.holder].Less(e.since) {
			continue
		}
		reached = append(reached, sighting{op: e.op, knows: e.since, hasKnows: true})
	}
	return reached
}

// servedTooLow reports snapshots served below a since.
func (d Definite) servedTooLow(s *shardHistory) []Violation {
	var found []Violation
	readers := map[string][]sighting{}
	var order []string
	for _, e := range s.holds {
		if e.op.Outcome != Ok || e.holder.critical || e.broken != "" {
			continue
		}
		readers[e.holder.id] = append(readers[e.holder.id], sighting{op: e.op, knows: e.since, hasKnows: true})
	}
	shard := reachedSinces(s)
	for _, e := range s.log {
		if e.kind != logSnapshot {
			continue
		}
		served := sighting{op: e.op, needs: At(e.asOf), hasNeeds: true}
		shard = append(shard, served)
		if reader := e.op.Input.(Snapshot).Reader; reader != "" {
			if !slices.Contains(order, reader) {
				order = append(order, reader)
			}
			readers[reader] = append(readers[reader], served)
		}
	}
	for _, reader := range order {
		for _, r := range regressions(readers[reader]) {
			found = append(found, violation(OracleDefinite, s.shard, r.after.op,
				"%v was served although the reader's own hold is past that time: it was %v by the return of %v",
				r.after.op, r.before.knows, r.before.op))
		}
	}
	if d.StrictSince {
		for _, r := range regressions(shard) {
			found = append(found, violation(OracleDefinite, s.shard, r.after.op,
				"%v was served although the since was at %v or later by the return of %v, before it was called",
				r.after.op, r.before.knows, r.before.op))
		}
	}
	return found
}

func byReturn(log []*logEntry) []*logEntry {
	sorted := slices.Clone(log)
	slices.SortStableFunc(sorted, func(a, b *logEntry) int { return cmp.Compare(a.ret, b.ret) })
	return sorted
}
