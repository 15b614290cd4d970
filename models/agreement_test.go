package models

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainState and plainModel are the log's specification once more, with none of what makes the
// oracle fast: contents as a list of updates, unknown outcomes as nondeterminism, nothing
// closed by evidence. It is what the oracle is measured against on histories small enough for
// it.
type plainState struct {
	upper   Frontier
	updates string
}

func plainModel(all map[string][]Update) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{plainState{}} },
		Step: func(state, input, _ any) []any {
			s, op := state.(plainState), input.(*Op)
			stay := []any{s}
			switch in := op.Input.(type) {
			case CompareAndAppend:
				applied := plainState{in.New, s.updates + fmt.Sprintf("#%d ", op.ID)}
				possible := s.upper == in.Expected && in.Misuse() == ""
				switch out := op.Output.(type) {
				case UpperMismatch:
					if s.upper == out.Current && out.Current != in.Expected {
						return stay
					}
					return nil
				case InvalidUsage:
					return stay
				}
				switch {
				case op.Outcome == Fail:
					return stay
				case op.Outcome == Unknown && possible:
					return []any{s, applied}
				case op.Outcome == Unknown:
					return stay
				case possible:
					return []any{applied}
				}
				return nil
			case FetchUpper:
				if op.Outcome != Ok || op.Output.(Upper).Upper == s.upper {
					return stay
				}
				return nil
			case Snapshot:
				if op.Outcome != Ok {
					return stay
				}
				if !s.upper.Beyond(in.AsOf) {
					return nil
				}
				if compareRows(ContentsAt(all[s.updates], in.AsOf), op.Output.(Contents).Rows).empty() {
					return stay
				}
				return nil
			}
			return stay
		},
	}
	// Contents are looked up by the list of the appends that led to them.
	step := model.Step
	model.Step = func(state, input, output any) []any {
		next := step(state, input, output)
		before := state.(plainState)
		for _, n := range next {
			after := n.(plainState)
			if _, ok := all[after.updates]; !ok {
				updates := append([]Update(nil), all[before.updates]...)
				all[after.updates] = append(updates, input.(*Op).Input.(CompareAndAppend).Updates...)
			}
		}
		return next
	}
	return model.ToModel()
}

// plainVerdict judges a history of one shard's log by the plain model.
func plainVerdict(h *History) porcupine.CheckResult {
	var ops []porcupine.Operation
	for _, op := range h.ops {
		ops = append(ops, porcupine.Operation{
			ClientId: op.Process, Input: op, Call: toPorcupineTime(op.Call), Return: toPorcupineTime(op.Return),
		})
	}
	return porcupine.CheckOperationsTimeout(plainModel(map[string][]Update{"": nil}), ops, 0)
}

// verdicts are what the parts of the oracle say of a history of one shard's log.
type verdicts struct {
	open   porcupine.CheckResult // Porcupine on the log as recorded
	closed porcupine.CheckResult // Porcupine on the log closed by evidence
	chain  []Violation
	exact  bool
}

func judgeParts(t require.TestingT, h *History) verdicts {
	shards, err := shardHistories(h)
	require.NoError(t, err)
	v := verdicts{open: porcupine.Ok, closed: porcupine.Ok, exact: true}
	l := Linearizable{History: h}
	for _, s := range shards {
		closed := closeByEvidence(s.log)
		v.open = l.search(logOperations(s.log))
		v.closed = l.search(logOperations(closed))
		v.chain, v.exact = checkChain(s, closed)
	}
	return v
}

func legal(found []Violation) porcupine.CheckResult {
	if len(found) > 0 {
		return porcupine.Illegal
	}
	return porcupine.Ok
}

// requireAgreement holds every part of the oracle against the plain model.
func requireAgreement(t require.TestingT, h *History) porcupine.CheckResult {
	want := plainVerdict(h)
	v := judgeParts(t, h)
	require.Equal(t, want, v.open, "Porcupine on the open log")
	require.Equal(t, want, v.closed, "Porcupine on the closed log")
	if v.exact {
		require.Equal(t, want, legal(v.chain), "chain checker: %v", v.chain)
	} else if len(v.chain) > 0 {
		require.Equal(t, want, porcupine.Illegal, "chain checker: %v", v.chain)
	}
	return want
}

func TestSmallHistoriesAgreeWithPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := rapidChooser(t)
		m := mixture{
			shards: 1, clients: 2 + choose(3), ops: 2 + choose(11),
			unknown: []int{0, 20, 60}[choose(3)], tagged: !choose.chance(3),
		}
		h := generate(m, choose)
		require.Equal(t, porcupine.Ok, requireAgreement(t, h), "valid by construction")
		for range choose(3) {
			h = mutate(h, choose)
		}
		requireAgreement(t, h)
	})
}

// TestSeededHistoriesAgreeWithPlainModel covers far more histories than rapid does in the same
// time, and makes sure that they are of all sorts.
func TestSeededHistoriesAgreeWithPlainModel(t *testing.T) {
	seeds := uint64(6000)
	if testing.Short() {
		seeds = 1000
	}
	var good, bad, inexact, unknown int
	for seed := range seeds {
		choose := seededChooser(seed)
		m := mixture{
			shards: 1, clients: 2 + choose(3), ops: 4 + choose(12),
			unknown: []int{0, 20, 60}[choose(3)], tagged: !choose.chance(3),
		}
		h := generate(m, choose)
		require.Equal(t, porcupine.Ok, requireAgreement(t, h), "seed %d: valid by construction", seed)
		h = mutate(h, choose)
		if requireAgreement(t, h) == porcupine.Ok {
			good++
		} else {
			bad++
		}
		if !judgeParts(t, h).exact {
			inexact++
		}
		unknown += h.Count(KindCompareAndAppend, Unknown)
	}
	require.Greater(t, good, int(seeds)/10)
	require.Greater(t, bad, int(seeds)/10)
	require.Greater(t, inexact, 0)
	require.Greater(t, unknown, int(seeds))
}

func TestLargeHistoriesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		choose := seededChooser(seed)
		h := generate(mixture{shards: 1, clients: 3 + choose(6), ops: 150, unknown: 5 + choose(20), tagged: true}, choose)
		v := judgeParts(t, h)
		require.True(t, v.exact)
		require.Empty(t, v.chain)
		require.Equal(t, porcupine.Ok, v.closed)

		v = judgeParts(t, mutate(h, choose))
		require.Equal(t, v.closed, legal(v.chain), "chain checker: %v", v.chain)
	})
}

func TestValidHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		choose := seededChooser(seed)
		h := generate(mixture{shards: 2, clients: 3 + choose(5), ops: 80, unknown: 10, tagged: true, holds: true}, choose)
		for _, o := range []Oracle{Linearizable{History: h}, Definite{History: h, StrictSince: true}} {
			j := o.Judge()
			require.Equal(t, VerdictPass, j.Verdict, "%v", j.Violations)
			require.Positive(t, j.Judged)
		}
	})
}
