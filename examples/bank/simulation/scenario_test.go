package simulation_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/examples/bank/simulation"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simtest"
)

const command = "go run ./examples/bank/banksim"

// The bank keeps its promises, whatever fails, and the seeds get into the situations that matter.
func TestBank(t *testing.T) {
	simtest.Run(t, simulation.Scenario(), simtest.Seeds(100), simtest.Command(command), simtest.MustReach(
		"bank: an account is locked", "bank: a branch in doubt learns of a commit",
		"bank: a coordinator takes up what another life decided"))
}

func TestChaos(t *testing.T) {
	simtest.Run(t, simulation.Scenario(), simtest.Seeds(10), simtest.Set("duration", "8s"), simtest.Faults("chaos"), simtest.Command(command))
}

// Whatever few faults are drawn.
func TestAnyFaults(t *testing.T) {
	simtest.Check(t, simulation.Scenario(), simtest.Vary("duration", "5s"), simtest.Vary("branches", "2", "3"), simtest.Command(command))
}

func TestSerializable(t *testing.T) {
	accounts := []string{"a", "b"}
	type call struct {
		kind    string
		in      simulation.Input
		outcome models.Outcome
		out     simulation.Output
	}
	pay := simulation.Input{From: "a", To: "b", Amount: 60}
	balances := func(a, b int64) simulation.Output {
		return simulation.Output{Balances: map[string]int64{"a": a, "b": b}}
	}
	short := simulation.Output{Short: true}
	for name, test := range map[string]struct {
		calls []call
		want  models.Verdict
	}{
		"a transfer and an audit": {[]call{
			{simulation.KindTransfer, pay, models.Ok, balances(100, 100)},
			{simulation.KindAudit, simulation.Input{}, models.Ok, balances(40, 160)},
		}, models.VerdictPass},
		"half of a transfer": {[]call{
			{simulation.KindTransfer, pay, models.Ok, balances(100, 100)},
			{simulation.KindAudit, simulation.Input{}, models.Ok, balances(40, 100)},
		}, models.VerdictFail},
		"too little": {[]call{
			{simulation.KindTransfer, pay, models.Ok, balances(100, 100)},
			{simulation.KindTransfer, pay, models.Ok, short},
		}, models.VerdictPass},
		"more than there is": {[]call{
			{simulation.KindTransfer, pay, models.Ok, balances(100, 100)},
			{simulation.KindTransfer, pay, models.Ok, balances(40, 160)},
		}, models.VerdictFail},
		"refused with enough": {[]call{{simulation.KindTransfer, pay, models.Ok, short}}, models.VerdictFail},
		"unknown, carried out": {[]call{
			{simulation.KindTransfer, pay, models.Unknown, simulation.Output{}},
			{simulation.KindAudit, simulation.Input{}, models.Ok, balances(40, 160)},
		}, models.VerdictPass},
		"unknown, not carried out": {[]call{
			{simulation.KindTransfer, pay, models.Unknown, simulation.Output{}},
			{simulation.KindAudit, simulation.Input{}, models.Ok, balances(100, 100)},
		}, models.VerdictPass},
		"refused, carried out all the same": {[]call{
			{simulation.KindTransfer, pay, models.Fail, simulation.Output{}},
			{simulation.KindAudit, simulation.Input{}, models.Ok, balances(40, 160)},
		}, models.VerdictFail},
		"nothing": {nil, models.VerdictUnknown},
	} {
		h, at := models.NewHistory(), uint64(0)
		for i, c := range test.calls {
			token := h.Begin(i, c.kind, c.in, at+1, 0)
			var out any
			if c.outcome == models.Ok {
				out = c.out
			}
			at += 2
			h.End(token, c.outcome, out, at, 0)
		}
		j := simulation.Serializable(accounts, h).Judge()
		require.Equal(t, test.want, j.Verdict, name)
		if test.want == models.VerdictFail {
			require.Equal(t, at, j.Violations[0].Event, "%s: the answer that cannot be explained", name)
		}
	}
}

// BenchmarkSeed is one seed of the scenario.
func BenchmarkSeed(b *testing.B) {
	s, seed := simulation.Scenario(), uint64(0)
	for b.Loop() {
		seed++
		if r := s.Execute(context.Background(), scenarios.Options{Seed: seed}); r.Verdict != scenarios.Pass {
			b.Fatal(r.Failures)
		}
	}
}
