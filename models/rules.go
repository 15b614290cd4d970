package models

import (
	"fmt"
	"maps"
	"slices"
)

// rules are the oracles of a model that judges observations one by one, by name.
type rules map[string]*rule

// rule is an oracle that collects what it objects to.
type rule struct {
	name   string
	judged int
	found  []Violation
}

func (o *rule) Name() string     { return o.name }
func (o *rule) Judge() Judgement { return judge(o.name, o.judged, o.found, nil) }

func newRules(names []string) rules {
	r := rules{}
	for _, name := range names {
		r[name] = &rule{name: name}
	}
	return r
}

// holds judges once by a rule: ok must be true. It returns ok.
func (r rules) holds(name string, ok bool, m Moment, format string, args ...any) bool {
	o := r[name]
	o.judged++
	if !ok && len(o.found) < violationsKept {
		o.found = append(o.found, Violation{Oracle: name, Message: fmt.Sprintf(format, args...), AtNS: m.NS, Event: m.Event})
	}
	return ok
}

// oracles are the rules, sorted by name.
func (r rules) oracles() []Oracle {
	all := make([]Oracle, 0, len(r))
	for _, name := range slices.Sorted(maps.Keys(r)) {
		all = append(all, r[name])
	}
	return all
}
