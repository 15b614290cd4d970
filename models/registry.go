package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// registry holds what [Register] was given.
var registry struct {
	sync.Mutex
	models []Model
}

// Builtin lists the models that come with the package, sorted by name.
func Builtin() []Model {
	return []Model{
		casRegisterModel(), checkpointModel(), counterModel(), kvModel(), lockModel(), queueModel(), registerModel(), setModel(), shards(),
	}
}

// Register makes a model known by its name, to [Lookup] and with it to the command line. Call it
// before that, from an init function or from main. It panics if the name is taken, or the model
// cannot judge.
func Register(m Model) {
	switch {
	case m.Name == "" || strings.ContainsAny(m.Name, " \t\n,"):
		panic(fmt.Sprintf("models: a model is called %q; give it a name without spaces and commas", m.Name))
	case m.Oracles == nil:
		panic(fmt.Sprintf("models: model %q has no Oracles, so it could judge nothing", m.Name))
	case len(m.Schema.Inputs) == 0:
		panic(fmt.Sprintf("models: model %q has no Schema.Inputs, so no history of it could be read", m.Name))
	}
	if _, err := Lookup(m.Name); err == nil {
		panic(fmt.Sprintf("models: there is a model %q already; register yours under another name, and once only", m.Name))
	}
	registry.Lock()
	defer registry.Unlock()
	registry.models = append(registry.models, m)
}

// All lists the models there are, built in or registered, sorted by name.
func All() []Model {
	registry.Lock()
	all := slices.Concat(Builtin(), registry.models)
	registry.Unlock()
	slices.SortFunc(all, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// UnknownModelError says that there is no model of a name.
type UnknownModelError struct {
	Name  string
	Known []string
}

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("no model is called %q; there is: %s", e.Name, strings.Join(e.Known, ", "))
}

// Lookup finds a model by name. The error is an [UnknownModelError].
func Lookup(name string) (Model, error) {
	var known []string
	for _, m := range All() {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Model{}, &UnknownModelError{Name: name, Known: known}
}
