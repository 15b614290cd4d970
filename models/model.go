package models

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Model is what a recorded history from any system, real or simulated, can be judged by.
type Model struct {
	// Name is how the command line calls it.
	Name string
	// Doc is one line on what it judges.
	Doc string
	// Schema reads and writes histories of the model.
	Schema Schema
	// Oracles are what judges a history.
	Oracles func(h *History) []Oracle
}

// ShardSchema is the JSON form of histories of shards.
func ShardSchema() Schema {
	return Schema{
		Inputs: map[string]reflect.Type{
			KindCompareAndAppend:         reflect.TypeFor[CompareAndAppend](),
			KindFetchUpper:               reflect.TypeFor[FetchUpper](),
			KindSnapshot:                 reflect.TypeFor[Snapshot](),
			KindOpenReader:               reflect.TypeFor[OpenReader](),
			KindDowngradeSince:           reflect.TypeFor[DowngradeSince](),
			KindOpenCritical:             reflect.TypeFor[OpenCritical](),
			KindCompareAndDowngradeSince: reflect.TypeFor[CompareAndDowngradeSince](),
			KindListen:                   reflect.TypeFor[Listen](),
		},
		Outputs: map[string]reflect.Type{
			"upper_mismatch":  reflect.TypeFor[UpperMismatch](),
			"invalid_usage":   reflect.TypeFor[InvalidUsage](),
			"upper":           reflect.TypeFor[Upper](),
			"contents":        reflect.TypeFor[Contents](),
			"since_error":     reflect.TypeFor[SinceError](),
			"lease_expired":   reflect.TypeFor[LeaseExpired](),
			"since":           reflect.TypeFor[Since](),
			"hold":            reflect.TypeFor[Hold](),
			"opaque_mismatch": reflect.TypeFor[OpaqueMismatch](),
			"listen_batch":    reflect.TypeFor[ListenBatch](),
		},
	}
}

// Builtin lists the models, sorted by name.
func Builtin() []Model {
	all := []Model{{
		Name:   "shard",
		Doc:    "durable shards: linearizable appends, uppers, snapshots and sinces, definite contents, listeners",
		Schema: ShardSchema(),
		Oracles: func(h *History) []Oracle {
			oracles := []Oracle{Linearizable{History: h}, Definite{History: h}}
			if slices.ContainsFunc(h.Ops(), func(op *Op) bool { return op.Kind == KindListen }) {
				oracles = append(oracles, Listens{History: h})
			}
			return oracles
		},
	}}
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
	for _, m := range Builtin() {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	return Model{}, &UnknownModelError{Name: name, Known: known}
}
