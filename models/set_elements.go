package models

// elementShares bounds the questions that reads of a whole set are made into.
const elementShares = 2_000_000

// judgeElements readies the operations on a set that is removed from and read as a whole. It
// judges each element by itself first, a read of the whole being a question for each. If an
// element fails, so does the set, as an order that explains the set explains each element; what
// it misses are reads that fit each element and not all of them at once. The search that is to
// find those is spared the open operations that cannot show.
func judgeElements(ops []*Op, spec *Spec[members]) prepared[members] {
	p := prepared[members]{ops: ops}
	elements, shares := elementsAsked(ops)
	matters := map[*Op]bool{}
	q := Sequential[members]{Spec: Spec[members]{
		Oracle: spec.Oracle, Step: setStep, Alike: spec.Alike, ReadOnly: spec.ReadOnly,
	}}
	for i, share := range shares {
		share = pruneElement(share)
		for _, op := range share {
			matters[op] = true
		}
		if p.found == nil && q.fails(share, nil, explainSteps) {
			v := q.explain(&objectHistory{name: "element " + elements[i].String(), ops: share}, 0)
			p.found = []objection{{op: returning(share, v.Event), why: v.Message, told: true}}
		}
	}
	if shares == nil {
		return p
	}
	p.ops = nil
	for _, op := range ops {
		if op.Outcome != Unknown || matters[op] {
			p.ops = append(p.ops, op)
		}
	}
	return p
}

// elementsAsked are the elements of a set and, for each, the operations on it, reads of the
// whole having become questions for the element. There are no shares if they were too many.
func elementsAsked(ops []*Op) (elements []Value, shares [][]*Op) {
	index := map[Value]int{}
	share := func(e Value) int {
		i, ok := index[e]
		if !ok {
			i = len(elements)
			index[e] = i
			elements, shares = append(elements, e), append(shares, nil)
		}
		return i
	}
	reads := 0
	for _, op := range ops {
		if e, ok := elementOf(op); ok {
			share(e)
		} else if out, ok := op.Output.(Members); ok {
			reads++
			for _, e := range out.Elements {
				share(e)
			}
		}
	}
	if reads*len(elements) > elementShares {
		return elements, nil
	}
	for _, op := range ops {
		if e, ok := elementOf(op); ok {
			i := share(e)
			shares[i] = append(shares[i], op)
			continue
		}
		in := elementsOf(op)
		for i, e := range elements {
			asked := *op
			asked.Kind, asked.Input, asked.Output = KindContains, ContainsElement{Element: e}, Contained{in[e]}
			shares[i] = append(shares[i], &asked)
		}
	}
	return elements, shares
}

// returning is the operation that returns at a position.
func returning(ops []*Op, at uint64) *Op {
	for _, op := range ops {
		if op.Return == at {
			return op
		}
	}
	return ops[len(ops)-1]
}
