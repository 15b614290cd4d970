package dataflow

import (
	"cmp"
	"slices"
)

// builder makes the graph of a plan. A part that occurs several times in the plan is there once.
type builder struct {
	graph   *Dataflow
	sources Catalog
	built   map[string]*node // by the encoding of their plans
}

func (d *Dataflow) build(sources Catalog) error {
	b := builder{graph: d, sources: sources, built: map[string]*node{}}
	root, err := b.node(d.plan)
	if err != nil {
		return err
	}
	b.count(d.plan)
	root.outs = append(root.outs, edge{to: result{&node{graph: d}}})
	slices.SortFunc(d.inputs, func(a, b *source) int { return cmp.Compare(a.id, b.id) })
	return nil
}

// count counts how often each node's plan occurs.
func (b *builder) count(p Plan) {
	b.built[string(p.Encode())].uses++
	for isLinear(p.Op) && isLinear(p.Inputs[0].Op) { // one node for the chain
		p = p.Inputs[0]
	}
	for _, in := range p.Inputs {
		b.count(in)
	}
}

func isLinear(op Op) bool { return op == OpMap || op == OpFilter || op == OpProject }

// node is the node of a plan, which has been checked.
func (b *builder) node(p Plan) (*node, error) {
	key := string(p.Encode())
	if n := b.built[key]; n != nil {
		return n, nil
	}
	n := &node{graph: b.graph}
	op, inputs, err := b.operator(n, p)
	if err != nil {
		return nil, err
	}
	for i, in := range inputs {
		from, err := b.node(in)
		if err != nil {
			return nil, err
		}
		from.outs = append(from.outs, edge{op, i})
	}
	if op != nil {
		b.graph.nodes = append(b.graph.nodes, op)
	}
	b.built[key] = n
	return n, nil
}

// operator makes the plan's operator, if it needs one, and tells the plans of its inputs.
func (b *builder) operator(n *node, p Plan) (operator, []Plan, error) {
	switch p.Op {
	case OpGet:
		s := &source{node: n, id: p.Source, schema: b.sources[p.Source]}
		b.graph.sources[p.Source] = s
		b.graph.inputs = append(b.graph.inputs, s)
		return nil, nil, nil
	case OpConstant:
		c := constant{node: n}
		for _, r := range p.Rows {
			c.rows = append(c.rows, delta{r.Row, r.Count})
		}
		b.graph.constants = append(b.graph.constants, c)
		return nil, nil, nil
	case OpMap, OpFilter, OpProject:
		return b.linear(n, p)
	case OpUnion:
		return union{n}, p.Inputs, nil
	case OpNegate:
		return negate{n}, p.Inputs, nil
	case OpExpire:
		return expire{n, expiringColumn{p.Columns[0], p.After}}, p.Inputs, nil
	}
	inputs := make([]relation, len(p.Inputs))
	for i, in := range p.Inputs {
		r, err := in.relation(b.sources, nil)
		if err != nil {
			return nil, nil, err
		}
		inputs[i] = r
	}
	out, err := p.check(b.sources, inputs)
	if err != nil {
		return nil, nil, err
	}
	width := len(inputs[0].Columns)
	switch p.Op {
	case OpJoin:
		return newJoining(n, p, width, len(inputs[1].Columns)), p.Inputs, nil
	case OpThreshold:
		return &threshold{node: n, rows: map[string]*multiplicity{}, queue: newExpiryQueue(out.expiry)}, p.Inputs, nil
	case OpTopK:
		return newTopK(n, p, width, out.expiry), p.Inputs, nil
	case OpDistinct:
		k := keyer{whole: true}
		return &reduce{node: n, keyer: k, groups: map[string]*group{}, queue: newExpiryQueue(out.expiry)}, p.Inputs, nil
	default:
		r, err := newReduce(n, p, inputs[0].Columns, out.expiry)
		return r, p.Inputs, err
	}
}

// linear makes one operator of a chain of linear ones.
func (b *builder) linear(n *node, p Plan) (operator, []Plan, error) {
	l := &linear{node: n}
	for isLinear(p.Op) {
		in, err := p.Inputs[0].Schema(b.sources)
		if err != nil {
			return nil, nil, err
		}
		step := linearStep{op: p.Op, columns: p.Columns}
		exprs, columns := p.Exprs, slices.Clone(in.Columns)
		if p.Op == OpFilter {
			exprs = []Expr{And(append(slices.Clone(exprs), Lit(Bool(true)))...)}
		}
		for _, e := range exprs {
			t, err := compile(e, columns)
			if err != nil {
				return nil, nil, err
			}
			step.exprs = append(step.exprs, t.eval)
			columns = append(columns, exprColumn(e, t, columns))
		}
		l.projects = l.projects || p.Op == OpProject
		for _, e := range exprs {
			l.decoded = max(l.decoded, e.columns())
		}
		l.width = len(in.Columns) // in the end, that of the first operator's input
		l.steps = append(l.steps, step)
		p = p.Inputs[0]
	}
	if l.projects {
		l.decoded = l.width
	}
	l.decoded = min(l.decoded, l.width) // the others are the chain's own
	slices.Reverse(l.steps)
	return l, []Plan{p}, nil
}

func newReduce(n *node, p Plan, columns []Column, expiry []expiringColumn) (*reduce, error) {
	k, err := exprKeyer(p.Exprs, columns)
	if err != nil {
		return nil, err
	}
	r := &reduce{node: n, keyer: k, groups: map[string]*group{}, queue: newExpiryQueue(expiry), byDefault: p.Default}
	for _, a := range p.Aggregates {
		compiled, err := newAggregation(a, columns)
		if err != nil {
			return nil, err
		}
		r.aggregations = append(r.aggregations, compiled)
		switch {
		case a.Func == AggCountAll:
		case compiled.column >= 0:
			r.arguments = append(r.arguments, compiled.column)
		default:
			r.evaluated = true
		}
	}
	if r.byDefault != "" { // it is there from the beginning
		r.touch(r.create(""))
		n.graph.starts = true
	}
	return r, nil
}

func newTopK(n *node, p Plan, width int, expiry []expiringColumn) *topk {
	var within []expiringColumn // the group's key
	for _, x := range expiry {
		within = append(within, expiringColumn{slices.Index(p.Columns, x.column), x.after})
	}
	return &topk{
		node: n, keyer: columnKeyer(p.Columns, width),
		order: p.Order, limit: p.Limit, offset: p.Offset,
		groups: map[string]*topGroup{}, queue: newExpiryQueue(within), sorting: newSorter(p.Order),
	}
}

func newJoining(n *node, p Plan, leftWidth, rightWidth int) *joining {
	var left, right []int
	for _, on := range p.On {
		left = append(left, on.Left)
		right = append(right, on.Right)
	}
	return &joining{
		node:  n,
		outer: p.Outer,
		sides: [2]joinSide{
			{keyer: columnKeyer(left, leftWidth), rows: map[string]*bag{}},
			{keyer: columnKeyer(right, rightWidth), rows: map[string]*bag{}},
		},
		nulls: string(Pack(make([]Datum, rightWidth)...)),
	}
}
