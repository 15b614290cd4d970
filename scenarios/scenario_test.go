package scenarios

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/host"
)

// ofSeconds are the scenarios whose runs are seconds long by default.
func ofSeconds() []*Scenario {
	return slices.DeleteFunc(Builtin(), func(s *Scenario) bool { return s.Slowness > 1 })
}

func TestBuiltinScenariosPass(t *testing.T) {
	for _, s := range ofSeconds() {
		t.Run(s.Name, func(t *testing.T) {
			for seed := range uint64(10) {
				var judges []string
				res := s.Execute(context.Background(), Options{Seed: seed, Inspect: func(r *Run) {
					for _, o := range r.oracles {
						judges = append(judges, o.Name())
					}
				}})
				require.Equal(t, Pass, res.Verdict, "seed %d: %v", seed, res.Failures)
				require.ElementsMatch(t, s.Oracles, judges)
				require.NotEmpty(t, res.Faults)
				require.Greater(t, res.Ops, 10)
			}
		})
	}
}

// The law: the hash is a function of scenario, seed and settings.
func TestSameSeedSameHash(t *testing.T) {
	for _, s := range ofSeconds() {
		for _, strategy := range []string{"random", "pct", "fifo"} {
			for seed := range uint64(3) {
				opt := Options{Seed: seed, Strategy: strategy, Profile: "chaos"}
				a := s.Execute(context.Background(), opt)
				opt.Record = true
				b := s.Execute(context.Background(), opt)
				require.Equal(t, a.TraceHash, b.TraceHash, "%s seed %d %s", s.Name, seed, strategy)
				a.WallNS, b.WallNS = 0, 0
				require.Equal(t, a, b)
			}
		}
	}
}

// A plan that was generated, printed and read back is the same plan.
func TestPlanReplays(t *testing.T) {
	s := full()
	opt := Options{Seed: 3}
	generated, err := s.FaultPlan(opt)
	require.NoError(t, err)
	a := s.Execute(context.Background(), opt)
	opt.Plan, err = faults.ParsePlan(generated.YAML())
	require.NoError(t, err)
	b := s.Execute(context.Background(), opt)
	require.Equal(t, a.TraceHash, b.TraceHash)
}

func TestCheck(t *testing.T) {
	s := together()
	for want, opt := range map[string]Options{
		"setting clints: scenario collections has no such setting; it has clients, collections, command-pace, duration, pace, settle, shards, writers": {Settings: map[string]string{"clints": "1"}},
		`setting clients: "many" is not a whole number of at least 1`:                                                                                  {Settings: map[string]string{"clients": "many"}},
		`setting duration: "5" is not a duration above zero: write it like 15s`:                                                                        {Settings: map[string]string{"duration": "5"}},
		`setting clients: "999999999" is more than 10000`:                                                                                              {Settings: map[string]string{"clients": "999999999"}},
		`setting writers: "0" is not a whole number of at least 1`:                                                                                     {Settings: map[string]string{"writers": "0"}},
		`there is no strategy "best"; there are fifo, pct, random`:                                                                                     {Strategy: "best"},
		`there is no fault profile "wild"; there are [calm cdc chaos compute default flow haul persist pipeline]`:                                      {Profile: "wild"},
		`fault plan: x: there is no target "nowhere"; there are blob, consensus, client-1`:                                                             {Plan: &faults.Plan{Faults: []faults.Fault{{ID: "x", Kind: "node.crash", Target: []string{"nowhere"}, To: 1}}}},
	} {
		err := s.Check(opt)
		require.Error(t, err)
		require.Contains(t, err.Error(), want)
		res := s.Execute(context.Background(), opt)
		require.Equal(t, Unknown, res.Verdict)
	}
	require.NoError(t, s.Check(Options{}))
}

// always is an oracle with a given judgement.
type always models.Judgement

func (a always) Name() string            { return a.Oracle }
func (a always) Judge() models.Judgement { return models.Judgement(a) }

// toy is a scenario of one machine, for what the framework makes of it.
func toy(build func(*Run)) *Scenario {
	return &Scenario{Name: "toy", Profile: "calm", Build: func(r *Run) {
		r.AddNode("a", "toy", func(host.Host) {})
		r.AddNode("b", "toy", func(host.Host) {})
		build(r)
	}}
}

func TestVerdicts(t *testing.T) {
	ops := func(n, ok int) func(*Run) {
		return func(r *Run) { r.Count(func() (int, int) { return n, ok }) }
	}
	judged := func(v models.Verdict, n int, violations ...models.Violation) func(*Run) {
		return func(r *Run) {
			r.Judge(always{Oracle: "toy/oracle", Verdict: v, Judged: n, Violations: violations})
		}
	}
	problem := models.Violation{Oracle: "toy/oracle", Message: "problem", AtNS: 7, Event: 3}
	for name, test := range map[string]struct {
		build   []func(*Run)
		options Options
		want    Verdict
		message string
	}{
		"pass":                                      {[]func(*Run){ops(3, 1), judged(models.VerdictPass, 1)}, Options{}, Pass, ""},
		"no operation succeeded":                    {[]func(*Run){ops(3, 0), judged(models.VerdictPass, 1)}, Options{}, Unknown, "vacuous: no operation succeeded"},
		"an oracle with nothing to judge":           {[]func(*Run){ops(3, 1), judged(models.VerdictPass, 0)}, Options{}, Unknown, "vacuous: oracle toy/oracle had nothing to judge"},
		"an oracle that can't tell":                 {[]func(*Run){ops(3, 1), judged(models.VerdictUnknown, 1, problem)}, Options{}, Unknown, "toy/oracle: problem"},
		"a violation":                               {[]func(*Run){ops(3, 1), judged(models.VerdictFail, 1, problem)}, Options{}, Fail, "toy/oracle: problem"},
		"an oracle that objects without a word":     {[]func(*Run){ops(3, 1), judged(models.VerdictFail, 1)}, Options{}, Fail, "toy/oracle: the oracle objects, and does not say to what"},
		"an oracle that can't tell, without a word": {[]func(*Run){ops(3, 1), judged(models.VerdictUnknown, 1)}, Options{}, Unknown, `toy/oracle: the oracle could not tell (verdict "unknown")`},
		"an oracle without a verdict":               {[]func(*Run){ops(3, 1), judged("", 1)}, Options{}, Unknown, `toy/oracle: the oracle could not tell (verdict "")`},
		"an oracle that contradicts itself":         {[]func(*Run){ops(3, 1), judged(models.VerdictPass, 1, problem)}, Options{}, Unknown, "toy/oracle: the oracle contradicts itself"},
		"a named oracle that is not there":          {[]func(*Run){ops(3, 1), func(r *Run) { r.scenario.Oracles = []string{"toy/missing"} }}, Options{}, Unknown, "vacuous: the scenario names oracle toy/missing, and its Build does not add it with Run.Judge"},
		"a violation outweighs the rest":            {[]func(*Run){ops(3, 0), judged(models.VerdictUnknown, 0), judged(models.VerdictFail, 1, problem)}, Options{}, Fail, "toy/oracle: problem"},
		"no fault began": {[]func(*Run){ops(3, 1), func(r *Run) {
			r.Handle("persist.upper_mismatch", []string{"s"}, func(*faults.Fault) (func(), bool) { return nil, false })
		}}, Options{Plan: &faults.Plan{Faults: []faults.Fault{{ID: "x", Kind: "persist.upper_mismatch", Target: []string{"s"}}}}}, Unknown, "vacuous: none of the 1 faults of the plan began"},
		"never ready":   {[]func(*Run){func(r *Run) { r.Ready("the moon", func() bool { return false }) }}, Options{}, Fail, "liveness: the moon has not come true within 1m0s of virtual time (phase start)"},
		"never settled": {[]func(*Run){func(r *Run) { r.Settled("peace", func() bool { return false }) }}, Options{Settings: map[string]string{"settle": "2s"}}, Fail, "liveness: peace has not come true within 2s of virtual time (phase settle)"},
		"unreadable":    {[]func(*Run){func(r *Run) { r.Final(func() error { return fmt.Errorf("gone") }) }}, Options{}, Fail, "liveness: the final reads failed on a healed system: gone"},
		"panic":         {[]func(*Run){func(r *Run) { r.AddNode("p", "toy", func(host.Host) { panic("boom") }) }}, Options{}, Fail, "panic: task p/main panicked: boom"},
		"deadlock": {[]func(*Run){func(r *Run) {
			r.Final(func() error { host.NewChan[int](r.World.Host(), "never", 0).Recv(); return nil })
		}}, Options{}, Fail, "deadlock: deadlock at 15s: no task can go on; simrun/director waits to receive never since 15s"},
		"no end": {[]func(*Run){func(r *Run) {
			r.Final(func() error {
				for {
					r.World.Sleep(time.Second)
				}
			})
		}}, Options{}, Unknown, "limit: sim: the run reached its limit: 1h2m15s of virtual time"},
	} {
		t.Run(name, func(t *testing.T) {
			res := toy(func(r *Run) {
				for _, b := range test.build {
					b(r)
				}
			}).Execute(context.Background(), test.options)
			require.Equal(t, test.want, res.Verdict, "%v", res.Failures)
			if test.message == "" {
				require.Empty(t, res.Failures)
				return
			}
			require.NotEmpty(t, res.Failures)
			require.Contains(t, res.Failures[0].Oracle+": "+res.Failures[0].Message, test.message)
		})
	}
}

func TestRunThatLeavesItsGoroutine(t *testing.T) {
	require.PanicsWithValue(t, "a task called runtime.Goexit, as testing's FailNow does", func() {
		toy(func(r *Run) { r.Final(func() error { runtime.Goexit(); return nil }) }).Execute(context.Background(), Options{})
	})
}

func TestBuildThatPanics(t *testing.T) {
	for want, s := range map[string]*Scenario{
		"scenario toy: its Build panicked: boom (at github.com/simrun-dev/simrun/scenarios.TestBuildThatPanics.func1 scenario_test.go:": toy(func(*Run) { panic("boom") }),
		`scenario toy: its Build panicked: scenarios: scenario toy has no setting "x" (at `:                                             toy(func(r *Run) { r.Int("x") }),
		"scenario toy: its Build panicked: it is nil (at ":                                                                              {Name: "toy"},
	} {
		var broken *BuildError
		require.ErrorAs(t, s.Check(Options{}), &broken)
		require.Contains(t, broken.Error(), want)
		require.Equal(t, Unknown, s.Execute(context.Background(), Options{}).Verdict)
	}
}

func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res := full().Execute(ctx, Options{Seed: 1})
	require.Equal(t, Unknown, res.Verdict)
	require.Equal(t, "interrupted", res.Failures[0].Oracle)
}

// Each fate of a call comes about, and what the caller is told fits it.
func TestPersistIndeterminateActs(t *testing.T) {
	plan, err := faults.ParsePlan([]byte("faults:\n  - {kind: persist.indeterminate, target: [client-1], from: 0s, to: 15s, params: {share: 40%}}\n"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for seed := range uint64(20) {
		res := shard().Execute(context.Background(), Options{Seed: seed, Plan: plan})
		require.Equal(t, Pass, res.Verdict, "seed %d: %v", seed, res.Failures)
		for name, n := range res.Sometimes {
			seen[name] = seen[name] || n > 0
		}
	}
	require.True(t, seen["persist: a retried append had gone in"])
	require.True(t, seen["persist: a retried append had not gone in"])
}

func BenchmarkScenario(b *testing.B) {
	for _, s := range ofSeconds() {
		b.Run(s.Name, func(b *testing.B) {
			var virtual time.Duration
			for i := range b.N {
				res := s.Execute(context.Background(), Options{Seed: uint64(i)})
				virtual += res.VirtualTime()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
			b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "sim-s/s")
		})
	}
}

func ExampleScenario_Execute() {
	for _, s := range Builtin() {
		if s.Name != "shard" {
			continue
		}
		res := s.Execute(context.Background(), Options{Seed: 1, Settings: map[string]string{"clients": "2"}})
		fmt.Println(res.Scenario, res.Seed, res.Verdict)
	}
	// Output: shard 1 pass
}
