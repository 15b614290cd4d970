package models

import (
	"reflect"
	"slices"
)

// Model is what a recorded history from any system, real or simulated, can be judged by. It says
// how histories are read, and makes the oracles that judge them: history in, verdict out.
//
// A model of your own is a [Spec] with a [Schema]; see the example of [Register].
type Model struct {
	// Name is how the command line calls it.
	Name string
	// Doc is one line on what it judges.
	Doc string
	// Schema reads and writes histories of the model.
	Schema Schema
	// Check reports what an operation was wrongly recorded with, such as an answer of a type that
	// its kind does not have: reading a history then fails, with the line. Nil: nothing is checked
	// that the schema does not say.
	Check func(op *Op) error
	// Jepsen makes an operation of an entry of a Jepsen history. Nil: the model reads none.
	Jepsen func(e Entry) (kind string, input, output any, err error)
	// Oracles are what judges a history.
	Oracles func(h *History) []Oracle
}

// Judge judges a history by all oracles of the model, within bounds where an oracle has any.
func (m Model) Judge(h *History, b Bounds) []Judgement {
	var all []Judgement
	for _, o := range m.Oracles(h) {
		if bounded, ok := o.(Bounded); ok {
			o = bounded.Bound(b)
		}
		all = append(all, o.Judge())
	}
	return all
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

// shards is the model of durable shards.
func shards() Model {
	return Model{
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
	}
}
