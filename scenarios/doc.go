// Package scenarios holds named simulations and what runs them.
//
// A [Scenario] builds its topology and workload into a [Run], says what must come true once all
// faults are over, and hands in the oracles that judge what happened. [Scenario.Execute] runs it
// once, from a seed; a [Campaign] runs it for many seeds on all cores.
//
// # Phases
//
// Every run has the same five:
//
//	start   the machines come up; ends when all Ready conditions hold
//	faults  the workload runs while the injector carries out the fault plan, for the setting
//	        "duration" of virtual time
//	heal    all faults end and all machines are up
//	settle  the workload begins nothing new; ends when all Settled conditions hold, which must be
//	        within the setting "settle": that is liveness
//	final   the Final tasks read what is there
//
// and then the oracles judge.
//
// Faults may wait for what the scenario's machines note ([Run.AddNode]): see [faults.When]. Moments of a
// scenario's own that are worth it are named with [Run.Moment].
//
// # Verdicts
//
// A run fails when an oracle, an assertion or a panic found a violation. It passes only if every
// oracle had something to judge and judged it, at least one operation succeeded, and at least one
// fault of a plan that has any began; otherwise its verdict is unknown.
package scenarios
