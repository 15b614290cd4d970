package simulation

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/simrun-dev/simrun/models"
)

// The kinds of operation.
const (
	KindTransfer = "transfer"
	KindAudit    = "audit"
)

// Input is what a transfer was called with. That of an audit is empty.
type Input struct {
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Amount int64  `json:"amount,omitempty"`
}

func (i Input) String() string {
	if i.Amount == 0 {
		return "()"
	}
	return fmt.Sprintf("(%d from %s to %s)", i.Amount, i.From, i.To)
}

// Output is what was answered: that From has too little, or the balances before the transfer.
type Output struct {
	Short    bool             `json:"short,omitempty"`
	Balances map[string]int64 `json:"balances,omitempty"`
}

func (o Output) String() string {
	if o.Short {
		return "short"
	}
	return fmt.Sprint("before it ", o.Balances)
}

const oracleSerializable = "bank/serializable"

// Model judges recorded histories of a bank with these accounts.
func Model(accounts []string) models.Model {
	input := reflect.TypeFor[Input]()
	return models.Model{
		Name: "bank",
		Doc:  "transfers between accounts and audits of all of them: strictly serializable",
		Schema: models.Schema{
			Inputs:  map[string]reflect.Type{KindTransfer: input, KindAudit: input},
			Outputs: map[string]reflect.Type{"reply": reflect.TypeFor[Output]()},
		},
		Oracles: func(h *models.History) []models.Oracle {
			return []models.Oracle{Serializable{Accounts: accounts, History: h}}
		},
	}
}

// Serializable is the oracle bank/serializable: transfers and audits behave as if they had happened
// one after the other, each between its call and its return.
type Serializable struct {
	Accounts []string
	History  *models.History
}

// Name implements models.Oracle.
func (s Serializable) Name() string { return oracleSerializable }

// searchLimit is how long Porcupine may take, in real time; it takes milliseconds.
const searchLimit = time.Minute

// Judge implements models.Oracle.
func (s Serializable) Judge() models.Judgement {
	j := models.Judgement{Oracle: s.Name(), Verdict: models.VerdictPass}
	var last *models.Op
	for _, op := range s.History.Ops() {
		if op.Outcome == models.Ok {
			j.Judged++
			last = op
		}
	}
	switch porcupine.CheckOperationsTimeout(s.model(), s.operations(models.Open), searchLimit) {
	case porcupine.Illegal:
		op := s.firstUnexplained(last)
		j.Verdict = models.VerdictFail
		j.Violations = []models.Violation{{
			Oracle: s.Name(), AtNS: op.ReturnNS, Event: op.Return,
			Message: fmt.Sprintf("no order of the transfers explains the answer to %v", op),
		}}
	case porcupine.Unknown:
		j.Verdict = models.VerdictUnknown
		j.Violations = []models.Violation{{Oracle: models.Limit, Message: fmt.Sprintf("Porcupine did not decide within %v", searchLimit)}}
	}
	if j.Judged == 0 {
		j.Verdict = models.VerdictUnknown
	}
	return j
}

// firstUnexplained is the operation with whose answer the violation was complete.
func (s Serializable) firstUnexplained(last *models.Op) *models.Op {
	var answers []*models.Op
	for _, op := range s.History.Ops() {
		if op.Outcome == models.Ok {
			answers = append(answers, op)
		}
	}
	slices.SortFunc(answers, func(a, b *models.Op) int { return int(int64(a.Return) - int64(b.Return)) })
	for _, op := range answers {
		if porcupine.CheckOperationsTimeout(s.model(), s.operations(op.Return), searchLimit) == porcupine.Illegal {
			return op
		}
	}
	return last
}

// operations are those of the history as it stood at a position. One that had not returned may
// have been carried out; one that surely did nothing is left out.
func (s Serializable) operations(until uint64) []porcupine.Operation {
	var history []porcupine.Operation
	for _, op := range s.History.Ops() {
		known := op.Outcome == models.Ok && op.Return <= until
		if op.Call > until || op.Outcome == models.Fail || !known && op.Kind == KindAudit {
			continue
		}
		o := porcupine.Operation{ClientId: op.Process, Input: op.Input, Call: int64(op.Call), Return: math.MaxInt64}
		if known {
			o.Output, o.Return = op.Output, int64(op.Return)
		}
		history = append(history, o)
	}
	return history
}

// model is the sequential bank. Its state is the balances by account, never changed in place.
func (s Serializable) model() porcupine.Model {
	first := map[string]int64{}
	for _, account := range s.Accounts {
		first[account] = opening
	}
	return porcupine.Model{
		Init:  func() any { return first },
		Equal: func(a, b any) bool { return reflect.DeepEqual(a, b) },
		Step: func(state, input, output any) (bool, any) {
			before, in := state.(map[string]int64), input.(Input)
			short := before[in.From] < in.Amount
			if output != nil {
				out := output.(Output)
				if out.Short {
					return short, before
				}
				if short {
					return false, before
				}
				for account, balance := range out.Balances {
					if before[account] != balance {
						return false, before
					}
				}
			}
			if short || in.Amount == 0 {
				return true, before
			}
			after := make(map[string]int64, len(before))
			for account, balance := range before {
				after[account] = balance
			}
			after[in.From] -= in.Amount
			after[in.To] += in.Amount
			return true, after
		},
	}
}
