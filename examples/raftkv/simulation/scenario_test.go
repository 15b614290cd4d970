package simulation_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/examples/raftkv/simulation"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simtest"
)

// The store keeps its promises, whatever fails, and the seeds get into the situations that matter.
func TestStore(t *testing.T) {
	simtest.Run(t, simulation.Scenario(), simtest.Seeds(40), simtest.MustReach(),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

func TestFiveServersUnderChaos(t *testing.T) {
	simtest.Run(t, simulation.Scenario(), simtest.Seeds(10), simtest.Set("servers", "5"), simtest.Faults("chaos"),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

// Whatever few faults are drawn.
func TestAnyFaults(t *testing.T) {
	simtest.Check(t, simulation.Scenario(), simtest.Vary("duration", "3s"), simtest.Vary("servers", "1", "2", "3"),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

// get and put are operations at positions; a return of 0 is unknown.
func history(ops ...models.Op) *models.History {
	h := models.NewHistory()
	type end struct {
		token models.Token
		op    models.Op
	}
	var ends []end
	at := uint64(0)
	for _, op := range ops {
		for len(ends) > 0 && ends[0].op.Return < op.Call {
			h.End(ends[0].token, ends[0].op.Outcome, ends[0].op.Output, ends[0].op.Return, 0)
			ends = ends[1:]
		}
		at = op.Call
		token := h.Begin(op.Client, op.Kind, op.Input, at, 0)
		if op.Outcome == models.Ok {
			ends = append(ends, end{token, op})
		}
	}
	for _, e := range ends {
		h.End(e.token, e.op.Outcome, e.op.Output, e.op.Return, 0)
	}
	return h
}

func TestLinearizable(t *testing.T) {
	op := func(client int, kind, value, before string, call, ret uint64) models.Op {
		o := models.Op{Client: client, Kind: kind, Input: simulation.Input{Key: "k", Value: value}, Call: call, Return: ret, Outcome: models.Unknown}
		if ret > 0 {
			o.Outcome, o.Output = models.Ok, simulation.Output{Value: before, Done: true}
		}
		return o
	}
	for name, test := range map[string]struct {
		ops  []models.Op
		want models.Verdict
	}{
		"one after the other":     {[]models.Op{op(1, "put", "a", "", 1, 2), op(2, "get", "", "a", 3, 4)}, models.VerdictPass},
		"a stale read":            {[]models.Op{op(1, "put", "a", "", 1, 2), op(2, "get", "", "", 3, 4)}, models.VerdictFail},
		"an open write, seen":     {[]models.Op{op(1, "put", "a", "", 1, 0), op(2, "get", "", "a", 3, 4)}, models.VerdictPass},
		"an open write, not seen": {[]models.Op{op(1, "put", "a", "", 1, 0), op(2, "get", "", "", 3, 4)}, models.VerdictPass},
		"seen, then gone": {
			[]models.Op{op(1, "put", "a", "", 1, 0), op(2, "get", "", "a", 3, 4), op(2, "get", "", "", 5, 6)}, models.VerdictFail,
		},
		"nothing": {nil, models.VerdictUnknown},
	} {
		j := simulation.Linearizable{History: history(test.ops...)}.Judge()
		require.Equal(t, test.want, j.Verdict, name)
		if test.want == models.VerdictFail {
			last := test.ops[len(test.ops)-1]
			require.Equal(t, last.Return, j.Violations[0].Event, "the answer that cannot be explained")
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
