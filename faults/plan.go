package faults

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Plan is the faults of one run, as data.
type Plan struct {
	// Profile and Seed say where the plan comes from; they have no effect.
	Profile string `yaml:"profile,omitempty"`
	Seed    uint64 `yaml:"seed,omitempty"`
	// Faults in order of From.
	Faults []Fault `yaml:"faults"`

	// source is where the faults of a plan that was read stand in its text, by ID.
	source map[string]faultSource
}

// Fault is one thing that goes wrong.
type Fault struct {
	// ID is the fault's stable key: kind and ordinal when generated. It is unique in a plan, and
	// what the fault draws while it acts is drawn from a stream of that name.
	ID string `yaml:"id"`
	// Kind is a name of the catalogue.
	Kind string `yaml:"kind"`
	// Target is what it acts on: machines, or the scenario's own subjects. A fault with a When may
	// also name the machine that noted, [There], and any machine of a role, "role/client".
	Target []string `yaml:"target,flow,omitempty"`
	// From and To are when it begins and ends, after the start of the fault phase.
	From Time `yaml:"from"`
	To   Time `yaml:"to,omitempty"`
	// When is a moment that the fault waits for, from From on, and For how long it lasts then, in
	// place of To. Nil is none: it begins at From.
	When *When `yaml:"when,flow,omitempty"`
	For  Time  `yaml:"for,omitempty"`
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

// MarshalYAML implements yaml.InterfaceMarshaler: a fault that waits for a moment from the start on
// does not say from when on.
func (f Fault) MarshalYAML() (any, error) {
	if f.When == nil || f.From != 0 {
		type plain Fault
		return plain(f), nil
	}
	return struct {
		ID     string           `yaml:"id"`
		Kind   string           `yaml:"kind"`
		Target []string         `yaml:"target,flow,omitempty"`
		When   *When            `yaml:"when,flow,omitempty"`
		For    Time             `yaml:"for,omitempty"`
		Params map[string]Value `yaml:"params,flow,omitempty"`
	}{f.ID, f.Kind, f.Target, f.When, f.For, f.Params}, nil
}

// Time is a point of virtual time, written "12.5s".
type Time time.Duration

// MarshalYAML writes the time as Go writes durations.
func (t Time) MarshalYAML() ([]byte, error) { return []byte(time.Duration(t).String()), nil }

// Value is a parameter's value as it is written: "5%", "100ms", "ring".
type Value string

// YAML prints the plan in the form that ParsePlan reads.
func (p *Plan) YAML() []byte {
	b, err := yaml.MarshalWithOptions(p, yaml.IndentSequence(true))
	if err != nil {
		panic(fmt.Sprintf("faults: a plan that can't be printed: %v", err)) // it is plain data
	}
	return b
}

// Inline prints the plan as one line of YAML, for a command line; ParsePlan reads it as well.
func (p *Plan) Inline() string {
	var b strings.Builder
	b.WriteByte('{')
	if p.Profile != "" {
		fmt.Fprintf(&b, "profile: %s, ", inline(p.Profile))
	}
	if p.Seed != 0 {
		fmt.Fprintf(&b, "seed: %d, ", p.Seed)
	}
	b.WriteString("faults: [")
	for i := range p.Faults {
		if i > 0 {
			b.WriteString(", ")
		}
		p.Faults[i].inline(&b)
	}
	b.WriteString("]}")
	return b.String()
}

func (f *Fault) inline(b *strings.Builder) {
	fmt.Fprintf(b, "{id: %s, kind: %s", inline(f.ID), inline(f.Kind))
	if len(f.Target) > 0 {
		targets := make([]string, len(f.Target))
		for i, name := range f.Target {
			targets[i] = inline(name)
		}
		fmt.Fprintf(b, ", target: [%s]", strings.Join(targets, ", "))
	}
	if f.When == nil || f.From != 0 {
		fmt.Fprintf(b, ", from: %s", time.Duration(f.From))
	}
	if f.To != 0 {
		fmt.Fprintf(b, ", to: %s", time.Duration(f.To))
	}
	if f.When != nil {
		fmt.Fprintf(b, ", when: {note: %s", inline(f.When.Note))
		if f.When.Nth != 0 {
			fmt.Fprintf(b, ", nth: %d", f.When.Nth)
		}
		if f.When.After != 0 {
			fmt.Fprintf(b, ", after: %s", time.Duration(f.When.After))
		}
		b.WriteByte('}')
	}
	if f.For != 0 {
		fmt.Fprintf(b, ", for: %s", time.Duration(f.For))
	}
	if len(f.Params) > 0 {
		params := make([]string, 0, len(f.Params))
		for _, name := range slices.Sorted(maps.Keys(f.Params)) {
			params = append(params, inline(name)+": "+inline(string(f.Params[name])))
		}
		fmt.Fprintf(b, ", params: {%s}", strings.Join(params, ", "))
	}
	b.WriteByte('}')
}

// plainScalar is what needs no quotes in YAML, nor is taken for anything but its letters: null is
// the only word that is.
var plainScalar = regexp.MustCompile(`^-?[A-Za-z0-9][A-Za-z0-9_./%+-]*$`)

// inline is a text as a YAML scalar. YAML has all escapes that Go has.
func inline(text string) string {
	if plainScalar.MatchString(text) && !strings.EqualFold(text, "null") {
		return text
	}
	return strconv.QuoteToASCII(text)
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
	if err := k.checkTarget(f.Target); err != nil {
		return "target", err
	}
	if field, err := f.checkTimes(k); err != nil {
		return field, err
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

// checkTimes is check for when the fault begins and ends.
func (f *Fault) checkTimes(k *Kind) (field string, err error) {
	if f.When != nil {
		return f.checkWhen(k)
	}
	switch {
	case f.For != 0:
		return "for", fmt.Errorf("for goes with when: a fault that begins at its from ends at a to")
	case k.Instant && f.To != 0:
		return "to", fmt.Errorf("%s is over as it begins and has no to", f.Kind)
	case !k.Instant && f.To <= f.From:
		return "to", fmt.Errorf("%s needs a to after its from", f.Kind)
	}
	for _, name := range f.Target {
		if role, ok := roleOf(name); ok {
			return "target", fmt.Errorf("target role/%s goes with when: name a machine", role)
		}
	}
	return "", nil
}

func (k *Kind) checkTarget(target []string) error {
	switch {
	case (k.Machines == oneMachine || k.Machines == oneDisk) && len(target) != 1:
		return fmt.Errorf("%s acts on one machine: target: [name]", k.Name)
	case k.Machines == twoMachines && len(target) != 2:
		return fmt.Errorf("%s acts on two machines: target: [name, name]", k.Name)
	case k.Machines == twoMachines && target[0] == target[1]:
		return fmt.Errorf("%s acts on two machines, not twice on %s", k.Name, target[0])
	case k.Machines == someMachines && len(target) == 0:
		return fmt.Errorf("%s needs machines to act on: target: [name, ...]", k.Name)
	case k.Subjects && len(target) != 1:
		return fmt.Errorf("%s acts on one target: target: [name]", k.Name)
	}
	for i, name := range target {
		if slices.Contains(target[:i], name) {
			return fmt.Errorf("target %s is there twice", name)
		}
	}
	return nil
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

// Check tells whether the plan fits a topology and the kinds that have handlers. Its errors are
// *PlanError.
func (p *Plan) Check(t *Topology, handled func(kind string) bool) error {
	for i := range p.Faults {
		f := &p.Faults[i]
		wrong := func(field string, index int, format string, args ...any) error {
			at := p.source[f.ID].at(field, index)
			return &PlanError{Line: at.line, Column: at.column, Problem: fmt.Sprintf(format, args...)}
		}
		k := kinds[f.Kind]
		if k == nil {
			_, err := f.check()
			return wrong("kind", -1, "%s: %v", f.ID, err)
		}
		if k.begin == nil && !handled(f.Kind) {
			return wrong("kind", -1, "%s: this scenario has nothing that %s could act on", f.ID, f.Kind)
		}
		known := t.machineNames()
		if k.Subjects {
			known = t.Subjects[f.Kind]
		}
		for n, name := range f.Target {
			if role, ok := roleOf(name); ok && f.When != nil && !k.Subjects {
				if len(t.machinesOf(role)) == 0 {
					return wrong("target", n, "%s: there is no machine of role %q; there are the roles %s", f.ID, role, strings.Join(t.roles(), ", "))
				}
				continue
			}
			if f.When != nil && name == There {
				continue
			}
			if !slices.Contains(known, name) {
				return wrong("target", n, "%s: there is no target %q; there are %s", f.ID, name, strings.Join(known, ", "))
			}
		}
		if field, err := f.check(); err != nil { // the plan may be made by hand, not read
			return wrong(field, -1, "%s: %v", f.ID, err)
		}
	}
	return nil
}
