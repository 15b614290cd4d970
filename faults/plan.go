package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Plan is the faults of one run, as data.
type Plan struct {
	// Profile and Seed say where the plan comes from; they have no effect.
	Profile string `yaml:"profile,omitempty"`
	Seed    uint64 `yaml:"seed,omitempty"`
	// Faults in order of From.
	Faults []Fault `yaml:"faults"`
}

// Fault is one thing that goes wrong.
type Fault struct {
	// ID is the fault's stable key: kind and ordinal when generated. It is unique in a plan, and
	// what the fault draws while it acts is drawn from a stream of that name.
	ID string `yaml:"id"`
	// Kind is a name of the catalogue.
	Kind string `yaml:"kind"`
	// Target is what it acts on: machines, or the scenario's own subjects.
	Target []string `yaml:"target,flow,omitempty"`
	// From and To are when it begins and ends, after the start of the fault phase.
	From Time `yaml:"from"`
	To   Time `yaml:"to,omitempty"`
	// Params are the kind's parameters; those left out have their defaults.
	Params map[string]Value `yaml:"params,flow,omitempty"`
}

func (f *Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", f.ID)
	if len(f.Target) > 0 {
		fmt.Fprintf(&b, " on %s", strings.Join(f.Target, ","))
	}
	for _, p := range kinds[f.Kind].Params {
		fmt.Fprintf(&b, " %s=%s", p.Name, f.param(p.Name))
	}
	return b.String()
}

// Time is a point of virtual time, written "12.5s".
type Time time.Duration

// MarshalYAML writes the time as Go writes durations.
func (t Time) MarshalYAML() ([]byte, error) { return []byte(time.Duration(t).String()), nil }

// UnmarshalYAML reads what MarshalYAML writes.
func (t *Time) UnmarshalYAML(b []byte) error {
	text := strings.Trim(strings.TrimSpace(string(b)), `"'`)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time: write it like 1.5s", text)
	}
	*t = Time(d)
	return nil
}

// Value is a parameter's value as it is written: "5%", "100ms", "ring".
type Value string

// UnmarshalYAML takes any scalar.
func (v *Value) UnmarshalYAML(b []byte) error {
	*v = Value(strings.Trim(strings.TrimSpace(string(b)), `"'`))
	return nil
}

// YAML prints the plan in the form that ParsePlan reads.
func (p *Plan) YAML() []byte {
	b, err := yaml.MarshalWithOptions(p, yaml.IndentSequence(true))
	if err != nil {
		panic(fmt.Sprintf("faults: a plan that can't be printed: %v", err)) // it is plain data
	}
	return b
}

// A PlanError says what is wrong with a plan, and where.
type PlanError struct {
	Line, Column int // from 1; 0 where unknown
	Problem      string
}

func (e *PlanError) Error() string {
	if e.Line == 0 {
		return "fault plan: " + e.Problem
	}
	return fmt.Sprintf("fault plan, line %d column %d: %s", e.Line, e.Column, e.Problem)
}

// ParsePlan reads a plan from YAML and checks all that can be checked without knowing the
// scenario; see [Plan.Check] for the rest. Its errors are *PlanError.
func ParsePlan(data []byte) (*Plan, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, planError(err)
	}
	var p Plan
	if err := yaml.UnmarshalWithOptions(data, &p, yaml.Strict()); err != nil {
		return nil, planError(err)
	}
	ids := map[string]bool{}
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.ID == "" {
			f.ID = fmt.Sprintf("%s/%d", f.Kind, i+1)
		}
		where, err := f.check()
		if err == nil && ids[f.ID] {
			where, err = "id", fmt.Errorf("there are two faults %q", f.ID)
		}
		ids[f.ID] = true
		if err != nil {
			return nil, positioned(file, i, where, err)
		}
	}
	p.sort()
	return &p, nil
}

func (p *Plan) sort() {
	slices.SortStableFunc(p.Faults, func(a, b Fault) int {
		return int(min(max(a.From-b.From, -1), 1))
	})
}

// check returns the field that is wrong and why.
func (f *Fault) check() (field string, err error) {
	k := kinds[f.Kind]
	if k == nil {
		return "kind", fmt.Errorf("there is no fault kind %q; see simrun list --faults", f.Kind)
	}
	switch {
	case (k.Machines == oneMachine || k.Machines == oneDisk) && len(f.Target) != 1:
		return "target", fmt.Errorf("%s acts on one machine: target: [name]", f.Kind)
	case k.Machines == twoMachines && len(f.Target) != 2:
		return "target", fmt.Errorf("%s acts on two machines: target: [name, name]", f.Kind)
	case k.Machines == someMachines && len(f.Target) == 0:
		return "target", fmt.Errorf("%s needs machines to act on: target: [name, ...]", f.Kind)
	case k.Instant && f.To != 0:
		return "to", fmt.Errorf("%s is over as it begins and has no to", f.Kind)
	case !k.Instant && f.To <= f.From:
		return "to", fmt.Errorf("%s needs a to after its from", f.Kind)
	}
	names := make([]string, 0, len(f.Params))
	for name := range f.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(k.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return "params." + name, fmt.Errorf("%s has no parameter %q%s", f.Kind, name, k.paramNames())
		}
		if err := k.Params[i].check(string(f.Params[name])); err != nil {
			return "params." + name, fmt.Errorf("%s: %w", name, err)
		}
	}
	return "", nil
}

func (k *Kind) paramNames() string {
	if len(k.Params) == 0 {
		return "; it has none"
	}
	names := make([]string, len(k.Params))
	for i, p := range k.Params {
		names[i] = p.Name
	}
	return "; it has " + strings.Join(names, ", ")
}

func planError(err error) *PlanError {
	var y yaml.Error
	if errors.As(err, &y) {
		e := &PlanError{Problem: firstLine(y.GetMessage())}
		if t := y.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
		return e
	}
	return &PlanError{Problem: firstLine(err.Error())}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func positioned(file *ast.File, i int, field string, err error) *PlanError {
	e := &PlanError{Problem: err.Error()}
	for _, where := range []string{fmt.Sprintf("$.faults[%d].%s", i, field), fmt.Sprintf("$.faults[%d]", i)} {
		path, perr := yaml.PathString(where)
		if perr != nil {
			continue
		}
		if node, ferr := path.FilterFile(file); ferr == nil && node != nil && node.GetToken() != nil {
			e.Line, e.Column = node.GetToken().Position.Line, node.GetToken().Position.Column
			return e
		}
	}
	return e
}

// Check tells whether the plan fits a topology and the kinds that have handlers. Its errors are
// *PlanError.
func (p *Plan) Check(t *Topology, handled func(kind string) bool) error {
	for i := range p.Faults {
		f := &p.Faults[i]
		k := kinds[f.Kind]
		if k == nil {
			_, err := f.check()
			return &PlanError{Problem: err.Error()}
		}
		if k.begin == nil && !handled(f.Kind) {
			return &PlanError{Problem: fmt.Sprintf("%s: this scenario has nothing that %s could act on", f.ID, f.Kind)}
		}
		known := t.machineNames()
		if k.Subjects {
			known = t.Subjects[f.Kind]
		}
		for _, name := range f.Target {
			if !slices.Contains(known, name) {
				return &PlanError{Problem: fmt.Sprintf("%s: there is no target %q; there are %s", f.ID, name, strings.Join(known, ", "))}
			}
		}
	}
	return nil
}
