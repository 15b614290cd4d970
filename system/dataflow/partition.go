package dataflow

import (
	"fmt"
	"slices"
)

// Stage is a part of a plan that several workers run side by side, each on the rows that the inputs' routers
// give to it. See [Partition].
type Stage struct {
	// Plan reads the stage's Inputs by their names.
	Plan   Plan
	Inputs []StageInput
	// Schema is that of the plan's output.
	Schema Schema
}

// StageInput is a collection that a stage reads.
type StageInput struct {
	// Name is what the stage's plan calls it.
	Name SourceID
	// Source is a source of the plan that was partitioned, or "": then it is the output of an earlier stage.
	Source SourceID
	// Stage is which, as an index into what Partition returned.
	Stage  int
	Schema Schema

	key routing
}

// routing is how rows find their worker: by columns, by expressions, as a whole, or all to the first.
type routing struct {
	columns []int
	exprs   []Expr
	whole   bool
	first   bool
}

func (k routing) String() string { return fmt.Sprint(k.columns, k.exprs, k.whole, k.first) }

// Partition cuts a plan into stages, each after those that it reads, the last of which puts out what the plan
// does. On each of several workers there is a [Dataflow] for every stage. What comes from a source, and what a
// stage puts out on any worker, goes for each input that reads it to the worker that the input's
// [StageInput.Router] says; a stage's input has come as far as the slowest worker has sent it. Then the rows of a
// group, and the pairs of a join, meet on one worker, and what all workers put out adds up to what the plan says.
//
// Constants, and what there is where there are no rows, are the first worker's: the others run [Stage.Follower]. A plan that lets rows expire is one stage, on
// the first worker, since what a group may forget can't be told from a stage's input. The error is a [*PlanError].
//
// Cutting before the operators on keys, and moving rows there, is the exchange of timely dataflow.
func Partition(plan Plan, sources Catalog) ([]Stage, error) {
	if _, err := plan.Schema(sources); err != nil {
		return nil, err
	}
	p := &partitioner{sources: sources, built: map[string]int{}}
	plan.walk(func(q Plan) { p.together = p.together || q.Op == OpExpire })
	_, err := p.stage(plan)
	return p.stages, err
}

// Single is the plan as one stage, for one worker. The error is a [*PlanError].
func Single(plan Plan, sources Catalog) ([]Stage, error) {
	schema, err := plan.Schema(sources)
	if err != nil {
		return nil, err
	}
	s := Stage{Plan: plan, Schema: schema}
	for _, id := range plan.Sources() {
		s.Inputs = append(s.Inputs, StageInput{Name: id, Source: id, Schema: sources[id]})
	}
	return []Stage{s}, nil
}

// Catalog are the schemas of the stage's inputs.
func (s *Stage) Catalog() Catalog {
	catalog := Catalog{}
	for _, in := range s.Inputs {
		catalog[in.Name] = in.Schema
	}
	return catalog
}

// Follower is the stage's plan as all workers but the first run it.
func (s *Stage) Follower() Plan { return withoutConstants(s.Plan) }

func withoutConstants(p Plan) Plan {
	switch p.Op {
	case OpConstant:
		p.Rows = nil
	case OpReduce:
		p.Default = ""
	}
	p.Inputs = slices.Clone(p.Inputs)
	for i, in := range p.Inputs {
		p.Inputs[i] = withoutConstants(in)
	}
	return p
}

type partitioner struct {
	sources  Catalog
	together bool
	stages   []Stage
	built    map[string]int // by the encoding of their plans
}

// stage makes the plan's stage, and tells its index.
func (p *partitioner) stage(plan Plan) (int, error) {
	key := string(plan.Encode())
	if i, ok := p.built[key]; ok {
		return i, nil
	}
	var s Stage
	cut, err := p.cut(&s, plan)
	if err != nil {
		return 0, err
	}
	s.Plan = cut
	if s.Schema, err = cut.Schema(s.Catalog()); err != nil {
		return 0, err
	}
	p.stages = append(p.stages, s)
	p.built[key] = len(p.stages) - 1
	return len(p.stages) - 1, nil
}

// cut is the plan with what the stage reads in place of what it does not compute itself.
func (p *partitioner) cut(s *Stage, plan Plan) (Plan, error) {
	if plan.Op == OpGet {
		return p.read(s, plan, routing{whole: true})
	}
	inputs := make([]Plan, len(plan.Inputs))
	for i, in := range plan.Inputs {
		var err error
		if key, keyed := plan.routing(i); keyed && !p.together {
			inputs[i], err = p.read(s, in, key)
		} else {
			inputs[i], err = p.cut(s, in)
		}
		if err != nil {
			return plan, err
		}
	}
	plan.Inputs = inputs
	return plan, nil
}

// read adds an input to the stage, and returns what reads it.
func (p *partitioner) read(s *Stage, from Plan, key routing) (Plan, error) {
	in := StageInput{key: key}
	if p.together {
		in.key = routing{first: true}
	}
	if from.Op == OpGet {
		in.Source, in.Schema = from.Source, p.sources[from.Source]
	} else {
		i, err := p.stage(from)
		if err != nil {
			return from, err
		}
		in.Stage, in.Schema = i, p.stages[i].Schema
	}
	for _, o := range s.Inputs {
		if o.Source == in.Source && o.Stage == in.Stage && o.key.String() == in.key.String() {
			return Get(o.Name).As(from.Names...), nil
		}
	}
	in.Name = SourceID(fmt.Sprintf("input %d", len(s.Inputs)))
	s.Inputs = append(s.Inputs, in)
	return Get(in.Name).As(from.Names...), nil
}

// routing is by what the rows of an input must meet, if the operator has to do with more than one row at a time.
func (p Plan) routing(input int) (routing, bool) {
	switch p.Op {
	case OpReduce:
		return routing{exprs: p.Exprs}, true
	case OpDistinct, OpThreshold:
		return routing{whole: true}, true
	case OpTopK:
		return routing{columns: p.Columns}, true
	case OpJoin:
		var key routing
		for _, on := range p.On {
			key.columns = append(key.columns, []int{on.Left, on.Right}[input])
		}
		return key, true
	}
	return routing{}, false
}
