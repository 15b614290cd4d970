package simulation

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/simrun-dev/simrun/models"
)

// Input is what a command was called with. Value is of puts and swaps, Old of swaps.
type Input struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Old   string `json:"old,omitempty"`
}

func (i Input) String() string {
	switch {
	case i.Value == "":
		return fmt.Sprintf("(%s)", i.Key)
	case i.Old == "":
		return fmt.Sprintf("(%s, %s)", i.Key, i.Value)
	}
	return fmt.Sprintf("(%s, %s for %s)", i.Key, i.Value, i.Old)
}

// Output is the value before the command, and whether it did what it was to.
type Output struct {
	Value string `json:"value"`
	Done  bool   `json:"done"`
}

func (o Output) String() string {
	if !o.Done {
		return fmt.Sprintf("refused, it has %q", o.Value)
	}
	return fmt.Sprintf("%q before it", o.Value)
}

const oracleLinearizable = "raftkv/linearizable"

// Model judges recorded histories of the store.
func Model() models.Model {
	input := reflect.TypeFor[Input]()
	return models.Model{
		Name: "raftkv",
		Doc:  "a key-value store: linearizable get, put and cas",
		Schema: models.Schema{
			Inputs:  map[string]reflect.Type{"get": input, "put": input, "cas": input},
			Outputs: map[string]reflect.Type{"result": reflect.TypeFor[Output]()},
		},
		Oracles: func(h *models.History) []models.Oracle { return []models.Oracle{Linearizable{h}} },
	}
}

// Linearizable is the oracle raftkv/linearizable: the commands on each key behave as if they had
// happened one after the other.
type Linearizable struct{ History *models.History }

// Name implements models.Oracle.
func (l Linearizable) Name() string { return oracleLinearizable }

// Judge implements models.Oracle.
func (l Linearizable) Judge() models.Judgement {
	j := models.Judgement{Oracle: l.Name(), Verdict: models.VerdictPass}
	byKey := map[string][]*models.Op{}
	var keys []string
	for _, op := range l.History.Ops() {
		key := op.Input.(Input).Key
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], op)
		if op.Outcome == models.Ok {
			j.Judged++
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if v, bad := judgeKey(key, byKey[key]); bad {
			j.Verdict, j.Violations = models.VerdictFail, append(j.Violations, v)
		}
	}
	if j.Judged == 0 {
		j.Verdict = models.VerdictUnknown
	}
	return j
}

// judgeKey asks Porcupine about one key. The violation is that of the shortest history that has
// one: it was complete with the answer to the operation it names.
func judgeKey(key string, ops []*models.Op) (v models.Violation, bad bool) {
	if linearizable(ops, models.Open) {
		return v, false
	}
	var answers []*models.Op
	for _, op := range ops {
		if op.Outcome == models.Ok {
			answers = append(answers, op)
		}
	}
	slices.SortFunc(answers, func(a, b *models.Op) int { return int(int64(a.Return) - int64(b.Return)) })
	first, _ := slices.BinarySearchFunc(answers, true, func(op *models.Op, _ bool) int {
		if linearizable(ops, op.Return) {
			return -1
		}
		return 0
	})
	op := answers[min(first, len(answers)-1)]
	return models.Violation{
		Oracle: oracleLinearizable, AtNS: op.ReturnNS, Event: op.Return,
		Message: fmt.Sprintf("%s: no order of the commands explains the answer to %v", key, op),
	}, true
}

// linearizable tells whether the operations are, as they stood at a position: those that had not
// returned may have taken effect or not.
func linearizable(ops []*models.Op, until uint64) bool {
	var history []porcupine.Operation
	for _, op := range ops {
		known := op.Outcome == models.Ok && op.Return <= until
		if op.Call > until || !known && op.Kind == "get" {
			continue // it has no effect that anybody could have seen
		}
		o := porcupine.Operation{ClientId: op.Process, Input: step{op.Kind, op.Input.(Input)}, Call: int64(op.Call), Return: math.MaxInt64}
		if known {
			o.Output, o.Return = op.Output, int64(op.Return)
		}
		history = append(history, o)
	}
	return porcupine.CheckOperations(register, history)
}

// step is a command as the specification sees it.
type step struct {
	kind string
	Input
}

// register is one key. An operation without an output is one of which it is not known whether it
// took effect.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		before, in := state.(string), input.(step)
		after, done := before, true
		switch {
		case in.kind == "put", in.kind == "cas" && before == in.Old:
			after = in.Value
		case in.kind == "cas":
			done = false
		}
		if output == nil {
			return true, after
		}
		return output.(Output) == Output{before, done}, after
	},
}
