package simulation

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/examples/raftkv"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim/simtest"
)

// The store keeps its promises, whatever fails, and the seeds get into the situations that matter.
func TestStore(t *testing.T) {
	simtest.Run(t, Scenario(), simtest.Seeds(40), simtest.MustReach(),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

func TestFiveServersUnderChaos(t *testing.T) {
	simtest.Run(t, Scenario(), simtest.Seeds(10), simtest.Set("servers", "5"), simtest.Faults("chaos"),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

// Whatever few faults are drawn.
func TestAnyFaults(t *testing.T) {
	simtest.Check(t, Scenario(), simtest.Vary("duration", "3s"), simtest.Vary("servers", "1", "2", "3"),
		simtest.Command("go run ./examples/raftkv/raftkvsim"))
}

// What the store answers becomes what the model judges.
func TestAnswersAreJudged(t *testing.T) {
	get, put := raftkv.Command{Op: "get", Key: "k"}, raftkv.Command{Op: "put", Key: "k", Value: "a"}
	swap := raftkv.Command{Op: "cas", Key: "k", Old: "a", Value: "b"}
	type call struct {
		cmd    raftkv.Command
		result raftkv.Result
		err    error
	}
	done := func(value string) raftkv.Result { return raftkv.Result{Value: value, Done: true} }
	for name, test := range map[string]struct {
		calls []call
		want  models.Verdict
	}{
		"nothing is empty":        {[]call{{get, done(""), nil}}, models.VerdictPass},
		"a put is read":           {[]call{{put, done(""), nil}, {get, done("a"), nil}}, models.VerdictPass},
		"a stale read":            {[]call{{put, done(""), nil}, {get, done(""), nil}}, models.VerdictFail},
		"an open put, seen":       {[]call{{put, raftkv.Result{}, raftkv.ErrGaveUp}, {get, done("a"), nil}}, models.VerdictPass},
		"an open put, not seen":   {[]call{{put, raftkv.Result{}, raftkv.ErrGaveUp}, {get, done(""), nil}}, models.VerdictPass},
		"swapped":                 {[]call{{put, done(""), nil}, {swap, done("a"), nil}, {get, done("b"), nil}}, models.VerdictPass},
		"refused":                 {[]call{{swap, raftkv.Result{}, nil}, {get, done(""), nil}}, models.VerdictPass},
		"refused without a cause": {[]call{{put, done(""), nil}, {swap, raftkv.Result{}, nil}}, models.VerdictFail},
	} {
		h := models.NewHistory()
		for i, c := range test.calls {
			token := h.Begin(i, c.cmd.Op, input(c.cmd), uint64(2*i+1), 0)
			outcome, output := answer(c.cmd, c.result, c.err)
			h.End(token, outcome, output, uint64(2*i+2), 0)
		}
		require.Equal(t, test.want, models.KV(h).Judge().Verdict, name)
	}
}

// BenchmarkSeed is one seed of the scenario.
func BenchmarkSeed(b *testing.B) {
	s, seed := Scenario(), uint64(0)
	for b.Loop() {
		seed++
		if r := s.Execute(context.Background(), scenarios.Options{Seed: seed}); r.Verdict != scenarios.Pass {
			b.Fatal(r.Failures)
		}
	}
}
