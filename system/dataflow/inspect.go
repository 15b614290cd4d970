package dataflow

// OperatorSize is what an operator of a [Dataflow] holds.
type OperatorSize struct {
	Op Op
	Size
}

// Operators are the sizes of the operators, inputs first. A chain of linear operators is one, of the kind [OpMap],
// and what was not worked off yet stands first, as [OpGet].
func (d *Dataflow) Operators() []OperatorSize {
	all := []OperatorSize{{OpGet, d.pendingSize}}
	for _, n := range d.nodes {
		all = append(all, OperatorSize{opOf(n), n.size()})
	}
	return all
}

func opOf(n operator) Op {
	switch n := n.(type) {
	case *linear:
		return OpMap
	case *reduce:
		if len(n.aggregations) == 0 {
			return OpDistinct
		}
		return OpReduce
	case *threshold:
		return OpThreshold
	case *topk:
		return OpTopK
	case *joining:
		return OpJoin
	case union:
		return OpUnion
	case negate:
		return OpNegate
	case expire:
		return OpExpire
	}
	panic("dataflow: an operator of an unknown kind")
}
