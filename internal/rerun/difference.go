package rerun

import (
	"encoding/json"
	"fmt"

	"github.com/simrun-dev/simrun/scenarios"
)

// DifferingField compares two runs of the same seed by everything that the seed decides. It
// returns the name of the first field in which they differ, as in JSON, and its two values; ""
// if there is none.
func DifferingField(a, b scenarios.Result) (field, inA, inB string) {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"trace_hash", a.TraceHash, b.TraceHash},
		{"events", a.Events, b.Events},
		{"verdict", a.Verdict, b.Verdict},
		{"failures", a.Failures, b.Failures},
		{"virtual_ns", a.VirtualNS, b.VirtualNS},
		{"ops", a.Ops, b.Ops},
		{"faults", a.Faults, b.Faults},
		{"sometimes", a.Sometimes, b.Sometimes},
		{"figures", a.Figures, b.Figures},
		{"settings", a.Settings, b.Settings},
	} {
		// As JSON, since one of them may come from a file: there, nil and empty are the same.
		inA, inB := text(f.a), text(f.b)
		if inA != inB {
			return f.name, inA, inB
		}
	}
	return "", "", ""
}

// text is a value as JSON; nil and empty maps and lists are the same.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rerun: a result that is not JSON: %v", err)) // it is plain data
	}
	switch s := string(data); s {
	case "null", "[]", "{}":
		return "none"
	default:
		return s
	}
}

// NotDeterministic says in what two runs of a seed differ; "" if in nothing.
func NotDeterministic(before, again scenarios.Result) string {
	field, a, b := DifferingField(before, again)
	if field == "" {
		return ""
	}
	return fmt.Sprintf("not deterministic: %s was %s, and %s when the seed was run again", field, a, b)
}
