package simulation

import (
	"fmt"
	"reflect"
	"slices"

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
		Oracles: func(h *models.History) []models.Oracle { return []models.Oracle{Serializable(accounts, h)} },
	}
}

// Serializable is the oracle bank/serializable: transfers and audits behave as if they had happened
// one after the other, each between its call and its return. The whole bank is one object.
func Serializable(accounts []string, h *models.History) models.Oracle {
	return models.Sequential[balances]{History: h, Spec: models.Spec[balances]{
		Oracle: oracleSerializable,
		Init:   opened(len(accounts)),
		Step:   func(b balances, op *models.Op) (balances, bool) { return b.step(accounts, op) },
		ReadOnly: func(op *models.Op) bool {
			out, _ := op.Output.(Output)
			return op.Kind == KindAudit || out.Short
		},
		Alike: func(op *models.Op) any { return op.Input },
		Check: func(op *models.Op) error {
			in := op.Input.(Input)
			if in.Amount > 0 && !(slices.Contains(accounts, in.From) && slices.Contains(accounts, in.To)) {
				return fmt.Errorf("operation #%d moves money from %q to %q; there are the accounts %q", op.ID, in.From, in.To, accounts)
			}
			return nil
		},
	}}
}

// balances is the state of the bank: what is in each account, those that there are not being empty.
type balances [mostBranches * perBranch]int64

func opened(accounts int) (b balances) {
	for i := range accounts {
		b[i] = opening
	}
	return b
}

// step is the sequential bank. A transfer of unknown outcome, if it is carried out, is so only with
// enough in the account.
func (b balances) step(accounts []string, op *models.Op) (next balances, legal bool) {
	in := op.Input.(Input)
	short := in.Amount > 0 && b[slices.Index(accounts, in.From)] < in.Amount
	out, told := op.Output.(Output)
	if told && out.Short {
		return b, short
	}
	for i, account := range accounts {
		if balance, shown := out.Balances[account]; shown && balance != b[i] {
			return b, false
		}
	}
	switch {
	case short:
		return b, !told
	case in.Amount > 0:
		b[slices.Index(accounts, in.From)] -= in.Amount
		b[slices.Index(accounts, in.To)] += in.Amount
	}
	return b, true
}
