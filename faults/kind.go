package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// Kind is an entry of the catalogue of faults.
type Kind struct {
	Name string
	// Doc says what happens.
	Doc string
	// Cause says what does this to real systems.
	Cause string
	// Params are the parameters, with their defaults.
	Params []Param
	// Instant faults have no end: they are over as they begin.
	Instant bool

	// Unbounded faults can destroy the only copy of something. No profile draws them unless it
	// names them: what a system promises then is another matter.
	Unbounded bool

	// Machines is how many machines the fault names as its target: none, one, one that uses its
	// disk, two, or several (a partition's side).
	Machines targetCount
	// Subjects: the fault's targets are the scenario's own, such as shards. A kind without a
	// built-in begin is carried out by the scenario's handler.
	Subjects bool

	draw  func(s *sim.Stream, f *Fault, t *Topology)
	begin func(w *sim.World, f *Fault, t *Topology) (end func(), done bool)
}

type targetCount int

const (
	noMachine targetCount = iota
	oneMachine
	oneDisk // one machine that uses its disk
	twoMachines
	someMachines
)

// Param is a parameter of a kind.
type Param struct {
	Name    string
	Default string
	Doc     string
	check   func(string) error
}

func (f *Fault) param(name string) string {
	if v, ok := f.Params[name]; ok {
		return string(v)
	}
	for _, p := range kinds[f.Kind].Params {
		if p.Name == name {
			return p.Default
		}
	}
	panic(fmt.Sprintf("faults: kind %s has no parameter %q", f.Kind, name))
}

// sooner has a fault that was drawn begin in a quarter of the time after which it was to begin, and end when it was to.
func (f *Fault) sooner() { f.From /= 4 }

// longer has a fault that was drawn last longer.
func (f *Fault) longer(by time.Duration) {
	if f.When != nil {
		f.For += Time(by)
	} else {
		f.To += Time(by)
	}
}

// Duration is a parameter that is a duration. The parameter is one of the kind's.
func (f *Fault) Duration(name string) time.Duration {
	d, err := time.ParseDuration(f.param(name))
	if err != nil {
		panic(err) // plans are checked before they are carried out
	}
	return d
}

// PerMillion is a parameter that is a percentage, in parts per million.
func (f *Fault) PerMillion(name string) int {
	n, err := parsePercent(f.param(name))
	if err != nil {
		panic(err)
	}
	return n
}

// Text is a parameter that is a word.
func (f *Fault) Text(name string) string { return f.param(name) }

// parsePercent reads "12.5%" as parts per million, in integers.
func parsePercent(v string) (int, error) {
	bad := fmt.Errorf("%q is not a percentage: write it like 2.5%%", v)
	num, ok := strings.CutSuffix(v, "%")
	if !ok || num == "" {
		return 0, bad
	}
	whole, frac, _ := strings.Cut(num, ".")
	if len(frac) > 4 {
		return 0, fmt.Errorf("%q has more than 4 decimals", v)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 4-len(frac)), 10, 31)
	if err != nil {
		return 0, bad
	}
	if n > 1_000_000 {
		return 0, fmt.Errorf("%q is more than 100%%", v)
	}
	return int(n), nil
}

func percent(perMillion int) string {
	s := fmt.Sprintf("%d.%04d", perMillion/10_000, perMillion%10_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "%"
}

func percentParam(name, value, doc string) Param {
	return Param{name, value, doc, func(v string) error { _, err := parsePercent(v); return err }}
}

func durationParam(name, value, doc string) Param {
	return Param{name, value, doc, func(v string) error {
		if d, err := parseDuration(v); err != nil || d <= 0 {
			return cmp.Or(err, fmt.Errorf("%q is not a duration above 0", v))
		}
		return nil
	}}
}

// shiftParam is a duration that may be negative, but not nothing.
func shiftParam(name, value, doc string) Param {
	return Param{name, value, doc, func(v string) error {
		if d, err := parseDuration(v); err != nil || d == 0 {
			return cmp.Or(err, fmt.Errorf("%q shifts nothing: give a duration above or below 0", v))
		}
		return nil
	}}
}

func parseDuration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write it like 1.5s or 20ms", v)
	}
	return d, nil
}

func intParam(name, value, doc string, lo, hi int) Param {
	return Param{name, value, doc, func(v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < lo || n > hi {
			return fmt.Errorf("%q is not a whole number from %d to %d", v, lo, hi)
		}
		return nil
	}}
}

// Int is a parameter that is a whole number.
func (f *Fault) Int(name string) int {
	n, err := strconv.Atoi(f.param(name))
	if err != nil {
		panic(err)
	}
	return n
}

func wordParam(name, value, doc string, words ...string) Param {
	return Param{name, value, doc + ": " + strings.Join(words, ", "), func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(words, ", "))
		}
		return nil
	}}
}

var kinds = map[string]*Kind{}

// In init, since what the entries do refers back to the catalogue.
func init() {
	for _, group := range [][]*Kind{netKinds(), nodeKinds(), clockKinds(), diskKinds(), persistKinds(), cdcKinds(), computeKinds(), flowKinds()} {
		for _, k := range group {
			kinds[k.Name] = k
		}
	}
}

// Kinds returns the catalogue, sorted by name.
func Kinds() []*Kind {
	all := make([]*Kind, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}
