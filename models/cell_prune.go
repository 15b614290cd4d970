package models

import (
	"fmt"
	"strings"
)

// observer is what an operation has seen of a cell, or has to see to take effect.
type observer struct {
	op    *Op
	value Value
	// not: it saw that the value was another.
	not bool
}

// observerOf is what an operation sees; ok is false for those that do not look.
func observerOf(op *Op) (o observer, ok bool) {
	switch in := op.Input.(type) {
	case Get:
		if op.Outcome == Ok {
			return observer{op: op, value: op.Output.(Found).Value}, true
		}
	case CompareAndSet:
		return observer{op: op, value: in.Old, not: op.Outcome == Fail}, true
	}
	return observer{}, false
}

// madeBy is the value that an operation makes, or the part that it appends.
func madeBy(op *Op) (value Value, appends bool) {
	switch in := op.Input.(type) {
	case Put:
		return in.Value, false
	case CompareAndSet:
		return in.New, false
	case Append:
		return in.Value, true
	}
	return "", false
}

// prepareCell readies the operations on one key.
func prepareCell(ops []*Op, spec *Spec[cell]) prepared[cell] {
	appends, overwrites := false, false
	for _, op := range ops {
		switch op.Input.(type) {
		case Append:
			appends = true
		case Get:
		default:
			overwrites = true
		}
	}
	p := prepared[cell]{ops: pruneCell(ops, appends)}
	switch {
	case !appends:
		p.step = func(c cell, op *Op) (cell, bool) { return cellStep(c, op, true) }
		p.found = unmadeValues(p.ops, spec.Init.value)
	case !overwrites:
		p.step = towards(longestSeen(p.ops))
	}
	return p
}

// pruneCell drops open operations that cannot matter: those whose value nothing can see.
//
// Let U be the open operations whose value is seen by a definite operation, or by another one of
// U which thereby may take effect; U is the least such set. Take any linearization and drop what
// is open and not in U. An operation that is left and looks at the value saw one made by an
// overwriting operation and the appends since. Each of these is definite or, being seen, in U:
// none was dropped. So what it saw is there still, and the rest is linearized as before. The
// other way round, a linearization of what is left is one of the whole, as open operations need
// not happen.
//
// "Can be seen by" is decided by the values, and errs on the side of yes: the operation that
// looks returned after the other was called, and it saw the value itself or, where there are
// appends, one that begins with it, or contains it in the case of an append.
func pruneCell(ops []*Op, appends bool) []*Op {
	var open []*Op
	var seen []observer
	for _, op := range ops {
		if op.Outcome == Unknown {
			open = append(open, op)
		} else if o, ok := observerOf(op); ok {
			seen = append(seen, o)
		}
	}
	if len(open) == 0 {
		return ops
	}
	index := newSeenValues(seen, appends)
	matters := map[*Op]bool{}
	for grew := true; grew; {
		grew = false
		for _, op := range open {
			if matters[op] || !index.sees(op) {
				continue
			}
			matters[op], grew = true, true
			if o, ok := observerOf(op); ok {
				index.add(o)
			}
		}
	}
	var kept []*Op
	for _, op := range ops {
		if op.Outcome != Unknown || matters[op] {
			kept = append(kept, op)
		}
	}
	return kept
}

// seenValues answers which values were seen, and until when.
type seenValues struct {
	appends bool
	// last is the latest return of those that saw the value; not of those that saw another.
	last map[Value]uint64
	not  map[Value]uint64
}

func newSeenValues(seen []observer, appends bool) *seenValues {
	s := &seenValues{appends: appends, last: map[Value]uint64{}, not: map[Value]uint64{}}
	for _, o := range seen {
		s.add(o)
	}
	return s
}

func (s *seenValues) add(o observer) {
	into := s.last
	if o.not {
		into = s.not
	}
	into[o.value] = max(into[o.value], o.op.Return)
}

// sees reports whether the value that an operation makes can be seen.
func (s *seenValues) sees(op *Op) bool {
	made, part := madeBy(op)
	for other, until := range s.not {
		if until >= op.Call && (s.appends || !made.shows(other)) {
			return true
		}
	}
	if !s.appends {
		return s.seen(made, op) || made == "" && s.seen(emptyText, op)
	}
	for value, until := range s.last {
		if until >= op.Call && couldShow(made, part, value) {
			return true
		}
	}
	return false
}

func (s *seenValues) seen(value Value, op *Op) bool {
	until, ok := s.last[value]
	return ok && until >= op.Call
}

// couldShow reports whether a value can come of one that an operation made, or of a part that it
// appended, by appends.
func couldShow(made Value, part bool, seen Value) bool {
	if made.shows(seen) || made == "" {
		return true
	}
	if !appendable(made) || !appendable(seen) || seen == "" {
		return false
	}
	inner := string(made[1 : len(made)-1])
	if part {
		return strings.Contains(string(seen), inner)
	}
	return strings.HasPrefix(string(seen[1:]), inner)
}

// unmadeValues finds operations that saw what nothing can have made until then. There are no
// appends on the key.
func unmadeValues(ops []*Op, init Value) []objection {
	makers := map[Value][]*Op{} // the first two of each value, by call: one may be the observer itself
	for _, op := range ops {
		if _, get := op.Input.(Get); get || op.Outcome == Fail {
			continue
		}
		value, _ := madeBy(op)
		if len(makers[value]) < 2 {
			makers[value] = append(makers[value], op)
		}
	}
	var found []objection
	for _, op := range ops {
		o, ok := observerOf(op)
		if !ok || op.Outcome != Ok || init.shows(o.value) {
			continue
		}
		could := makers[o.value]
		if o.value == emptyText {
			could = append(could[:len(could):len(could)], makers[""]...)
		}
		var first *Op
		for _, maker := range could {
			if maker != op && (first == nil || maker.Call < first.Call) {
				first = maker
			}
		}
		switch {
		case first == nil:
			found = append(found, objection{op: op, why: fmt.Sprintf("nothing that happened made the value %v", o.value)})
		case first.Call > op.Return:
			found = append(found, objection{op: op, others: []*Op{first},
				why: fmt.Sprintf("nothing had made the value %v by then; what first did was called later:", o.value)})
		}
	}
	return found
}

// longestSeen is the longest text that a definite operation saw, without quotes.
func longestSeen(ops []*Op) string {
	var longest string
	for _, op := range ops {
		if o, ok := observerOf(op); ok && len(innerText(o.value)) > len(longest) {
			longest = innerText(o.value)
		}
	}
	return longest
}

// innerText is what stands between the quotes of a string, "" if nothing is there.
func innerText(v Value) string {
	if v == "" || !appendable(v) {
		return ""
	}
	return string(v[1 : len(v)-1])
}

// towards is the step for keys that are only appended to and read: as long as a text is shorter
// than the longest one seen, that is still to be seen, so the text must be a beginning of it.
func towards(longest string) func(cell, *Op) (cell, bool) {
	return func(c cell, op *Op) (cell, bool) {
		next, legal := cellStep(c, op, false)
		if _, ok := op.Input.(Append); !ok || !legal || len(innerText(c.value)) >= len(longest) {
			return next, legal
		}
		return next, strings.HasPrefix(longest, innerText(next.value))
	}
}
