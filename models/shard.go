package models

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
)

// OracleLinearizable is the name of [Linearizable].
const OracleLinearizable = "persist/linearizable"

// DefaultMaxSteps bounds the search of one shard when [Linearizable].MaxSteps is 0. A history
// that is linearizable takes little more than one step an operation.
const DefaultMaxSteps = 1_000_000

// stepBytes bounds the memory of one shard's search. Porcupine remembers at each step which
// operations it had placed, a bit an operation, so long histories get fewer steps.
const stepBytes = 512 << 20

// Linearizable is the oracle persist/linearizable: on each shard by itself, the operations
// behave as if each had happened at one moment between its call and its return.
//
// Two checkers judge. The chain checker uses the versions that operations carry, needs no
// search, and says what contradicts what; Porcupine knows nothing but the sequential
// specification and confirms. They must agree: if they don't, one of the two is wrong, which is
// reported as a failure of its own.
//
// Shards start with upper [0], since [0], and no contents. All operations that may change a
// shard must be in the history, rivals' and faults' own included.
type Linearizable struct {
	History *History
	// MaxSteps bounds Porcupine's search of each shard, in steps of the specification; 0 means
	// DefaultMaxSteps. A search that comes to its end makes the verdict unknown. Steps are
	// counted, and not time, so that the verdict depends on the history alone.
	MaxSteps int
}

// Name is persist/linearizable.
func (l Linearizable) Name() string { return OracleLinearizable }

// Judge judges every shard.
func (l Linearizable) Judge() Judgement {
	shards, err := shardHistories(l.History)
	if err != nil {
		return judge(l.Name(), 0, nil, []Violation{{Oracle: l.Name(), Message: err.Error()}})
	}
	var found, undecided []Violation
	judged := 0
	for _, s := range shards {
		judged += s.answered
		for _, part := range []func(*shardHistory) ([]Violation, []Violation){l.judgeLog, l.judgeHolds} {
			bad, open := part(s)
			found, undecided = append(found, bad...), append(undecided, open...)
		}
	}
	return judge(l.Name(), judged, found, undecided)
}

// judgeLog judges upper and contents. Here the chain checker is exact, as long as rows tell the
// appends apart, and must agree with Porcupine.
func (l Linearizable) judgeLog(s *shardHistory) (found, undecided []Violation) {
	closed := closeByEvidence(s.log)
	found, exact := checkChain(s, closed)
	return reconcile(s, "upper and contents", found, exact, l.search(logOperations(closed)), func() Violation {
		return l.explain(s, logOps(s.log), func(prefix *shardHistory) []porcupine.Operation {
			return logOperations(closeByEvidence(prefix.log))
		})
	})
}

// judgeHolds judges the since. Here all that is known without searching are necessary
// conditions, so Porcupine may find more, never less.
func (l Linearizable) judgeHolds(s *shardHistory) (found, undecided []Violation) {
	found = append(brokenHolds(s), sinceRegressions(OracleLinearizable, s)...)
	return reconcile(s, "since", found, false, l.search(holdOperations(s.holds)), func() Violation {
		return l.explain(s, holdOps(s.holds), func(prefix *shardHistory) []porcupine.Operation {
			return holdOperations(prefix.holds)
		})
	})
}

// reconcile makes one answer of what was found without searching and of Porcupine's result.
// Exact says that nothing found means that the shard is linearizable. Explain gives a message
// where only Porcupine objects.
func reconcile(s *shardHistory, what string, found []Violation, exact bool,
	result porcupine.CheckResult, explain func() Violation,
) (_, undecided []Violation) {
	switch {
	case result == porcupine.Unknown:
		return found, []Violation{limit(s, what)}
	case result == porcupine.Ok && len(found) > 0:
		return append(found, disagreement(s, what,
			"Porcupine finds an order that explains everything, and the chain checker objects", found[0])), nil
	case result == porcupine.Illegal && len(found) == 0:
		culprit := explain()
		if exact {
			return []Violation{culprit, disagreement(s, what,
				"the chain checker has no objection, and Porcupine has", culprit)}, nil
		}
		return []Violation{culprit}, nil
	}
	return found, nil
}

// brokenHolds reports answers that no state of the holds explains.
func brokenHolds(s *shardHistory) []Violation {
	var found []Violation
	for _, e := range s.holds {
		if e.broken != "" {
			found = append(found, violation(OracleLinearizable, s.shard, e.op, "%v: %s", e.op, e.broken))
		}
	}
	return found
}

func logOps(log []*logEntry) []*Op {
	var ops []*Op
	for _, e := range log {
		ops = append(ops, e.op)
	}
	return ops
}

// holdOps lists each operation once, though it may have several entries.
func holdOps(holds []*holdEntry) []*Op {
	var ops []*Op
	for _, e := range holds {
		if len(ops) == 0 || ops[len(ops)-1] != e.op {
			ops = append(ops, e.op)
		}
	}
	return ops
}

func disagreement(s *shardHistory, what, how string, objection Violation) Violation {
	return Violation{
		Oracle: OracleLinearizable, AtNS: objection.AtNS, Event: objection.Event,
		Message: fmt.Sprintf(
			"shard %s: the two checkers disagree about %s, so one of them is wrong; "+
				"keep this history. %s: %s", s.shard, what, how, objection.Message),
	}
}

func limit(s *shardHistory, what string) Violation {
	return Violation{
		Oracle: Limit,
		Message: fmt.Sprintf("shard %s: %s gave up on %s at its limit of steps; raise MaxSteps, or have "+
			"fewer clients or fewer unknown outcomes on one shard", s.shard, OracleLinearizable, what),
	}
}

func (l Linearizable) maxSteps(ops int) int {
	steps := l.MaxSteps
	if steps == 0 {
		steps = DefaultMaxSteps
	}
	// 150 bytes or so is what a step costs beside its bits.
	return min(steps, max(4*ops, stepBytes/(ops/8+150)))
}

// search asks Porcupine about one shard's log or holds.
func (l Linearizable) search(ops []porcupine.Operation) porcupine.CheckResult {
	budget := newStepBudget(l.maxSteps(len(ops)))
	result := porcupine.CheckOperationsTimeout(shardModel(budget), ops, 0)
	if budget.spent() {
		return porcupine.Unknown
	}
	return result
}

// explain finds the answer that cannot be explained, when there is no better message: that
// which returns at the end of the shortest prefix of the history that is not linearizable.
func (l Linearizable) explain(s *shardHistory, ops []*Op,
	of func(prefix *shardHistory) []porcupine.Operation,
) Violation {
	whole := &History{ops: s.all}
	var returns []*Op
	for _, op := range ops {
		if op.Return != Open {
			returns = append(returns, op)
		}
	}
	slices.SortStableFunc(returns, func(a, b *Op) int {
		if a.Return < b.Return {
			return -1
		} else if a.Return > b.Return {
			return 1
		}
		return a.ID - b.ID
	})
	first, _ := slices.BinarySearchFunc(returns, true, func(op *Op, _ bool) int {
		prefix, err := shardHistories(whole.until(op.Return))
		if err != nil || len(prefix) == 0 || l.search(of(prefix[0])) != porcupine.Illegal {
			return -1
		}
		return 1
	})
	culprit := returns[min(first, len(returns)-1)]
	return violation(OracleLinearizable, s.shard, culprit,
		"no order of the operations explains the answer of %v, while all before it can be explained; "+
			"it ran beside or after %s",
		culprit, neighbours(ops, culprit))
}

// neighboursShown bounds the context of a message.
const neighboursShown = 6

// neighbours lists the operations that were last to be called before an operation returned.
func neighbours(ops []*Op, of *Op) string {
	var near []string
	for i := len(ops) - 1; i >= 0 && len(near) < neighboursShown; i-- {
		if op := ops[i]; op != of && op.Call <= of.Return {
			near = append(near, op.String())
		}
	}
	if len(near) == 0 {
		return "nothing else"
	}
	return strings.Join(near, "; ")
}

// Visualize writes Porcupine's picture of the search as one HTML page: every shard's log and
// holds as a history of their own, with the longest orders found.
func (l Linearizable) Visualize(w io.Writer) error {
	shards, err := shardHistories(l.History)
	if err != nil {
		return err
	}
	var ops []porcupine.Operation
	steps := 0
	for _, s := range shards {
		ops = append(ops, logOperations(closeByEvidence(s.log))...)
		ops = append(ops, holdOperations(s.holds)...)
		steps += l.maxSteps(len(s.all))
	}
	model := shardModel(newStepBudget(steps))
	_, info := porcupine.CheckOperationsVerbose(model, ops, 0)
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("visualize shard histories: %w", err)
	}
	return nil
}

// stepBudget makes a search end. Once it is spent no step succeeds any more, and Porcupine
// backs out of whatever it has placed and gives up in linear time; its answer is then void.
type stepBudget struct{ left atomic.Int64 }

func newStepBudget(steps int) *stepBudget {
	b := &stepBudget{}
	b.left.Store(int64(steps))
	return b
}

func (b *stepBudget) take() bool  { return b.left.Add(-1) >= 0 }
func (b *stepBudget) spent() bool { return b.left.Load() < 0 }

// shardModel is the Porcupine model of shards. Inputs are entries; outputs are in them, since
// what an operation is reduced to depends on how it ended. The state is nil, then that of the
// object the entries belong to.
func shardModel(budget *stepBudget) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return partitionBy(history, func(op porcupine.Operation) object { return op.Metadata.(object) })
		},
		Init: func() any { return nil },
		Step: func(state, input, _ any) (bool, any) {
			switch e := input.(type) {
			case *logEntry:
				s, ok := state.(*logState)
				if !ok {
					s = newLogState()
				}
				ok, next := logStep(s, e)
				return ok && budget.take(), next
			case *holdEntry:
				s, ok := state.(*holdState)
				if !ok {
					s = &holdState{}
				}
				ok, next := holdStep(s, e)
				return ok && budget.take(), next
			}
			panic(fmt.Sprintf("models: shard model asked about a %T", input))
		},
		Equal: func(a, b any) bool {
			switch a := a.(type) {
			case *logState:
				b, ok := b.(*logState)
				return ok && a.equal(b)
			case *holdState:
				b, ok := b.(*holdState)
				return ok && a.equal(b)
			}
			return a == b
		},
		Hash: func(state any) uint64 {
			switch s := state.(type) {
			case *logState:
				return s.hash()
			case *holdState:
				return s.hash()
			}
			return 0
		},
		DescribeOperation: func(input, _ any) string {
			switch e := input.(type) {
			case *logEntry:
				return describeEntry(e.op)
			case *holdEntry:
				return describeEntry(e.op)
			}
			return ""
		},
		DescribeState: func(state any) string { return fmt.Sprint(state) },
	}
}

// describeEntry is what a box of the picture says; the end of the history has no operation.
func describeEntry(op *Op) string {
	if op == nil {
		return "end"
	}
	return op.String()
}

// object is one independent object of one shard.
type object struct {
	shard string
	holds bool
}

// endPosition is after every return, and before the open operations' ends.
const endPosition = maxPosition

func logOperations(log []*logEntry) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, e := range arrange(log) {
		ops = append(ops, operation(e.op, e, false, e.call, e.ret))
	}
	if len(ops) == 0 {
		return nil
	}
	end := operation(log[0].op, &logEntry{kind: logEnd}, false, endPosition, endPosition)
	end.ClientId = 0
	return append(ops, end)
}

func holdOperations(holds []*holdEntry) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, e := range holds {
		ops = append(ops, operation(e.op, e, true, e.call, e.ret))
	}
	if len(ops) == 0 {
		return nil
	}
	end := operation(holds[0].op, &holdEntry{kind: holdEnd}, true, endPosition, endPosition)
	end.ClientId = 0
	return append(ops, end)
}

func operation(op *Op, entry any, holds bool, call, ret uint64) porcupine.Operation {
	shard, _, _ := shardOf(op)
	return porcupine.Operation{
		ClientId: op.Process, Input: entry, Metadata: object{shard, holds},
		Call: toPorcupineTime(call), Return: toPorcupineTime(ret),
	}
}
