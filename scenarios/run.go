package scenarios

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// Phase is a part of a run.
type Phase int

// The phases of a run, in order.
const (
	PhaseStart Phase = iota
	PhaseFaults
	PhaseHeal
	PhaseSettle
	PhaseFinal
)

func (p Phase) String() string {
	return [...]string{"start", "faults", "heal", "settle", "final"}[p]
}

const (
	// minStartLimit is how long every run may take to start.
	minStartLimit = 60 * time.Second
	// maxEvents bounds a run that makes no progress in virtual time.
	maxEvents = 50_000_000
	// poll is how often conditions are looked at that may come true any moment.
	poll = 20 * time.Millisecond
	// looks is how often it is looked, at least, whether a phase has come to its end within its time.
	looks = 3_000
)

// Run is one run of a scenario, from building it to judging it.
type Run struct {
	// World is the cluster. Workloads and checks run in its own process.
	World *sim.World

	scenario *Scenario
	options  Options
	settings map[string]string
	topology faults.Topology
	handlers map[string]faults.Handler
	plan     *faults.Plan
	// drawsFaults: the plan is one that a profile with faults has drawn.
	drawsFaults bool
	injector    *faults.Injector

	phase   Phase
	ready   []condition
	settled []condition
	final   []func() error
	oracles []models.Oracle
	counts  []func() (ops, succeeded int)

	recorded []Recorded
	figures  map[string]int64
}

type condition struct {
	name  string
	holds func() bool
}

// Int is a setting that is a whole number.
func (r *Run) Int(name string) int {
	n, err := strconv.Atoi(r.Setting(name))
	if err != nil {
		panic(err) // settings are checked before a run is built
	}
	return n
}

// Duration is a setting that is a duration.
func (r *Run) Duration(name string) time.Duration {
	d, err := time.ParseDuration(r.Setting(name))
	if err != nil {
		panic(err)
	}
	return d
}

// Setting is a setting's value.
func (r *Run) Setting(name string) string {
	v, ok := r.settings[name]
	if !ok {
		panic(fmt.Sprintf("scenarios: scenario %s has no setting %q", r.scenario.Name, name))
	}
	return v
}

// Phase is the present phase.
func (r *Run) Phase() Phase { return r.phase }

// Working tells whether the workload is to begin new operations.
func (r *Run) Working() bool { return r.phase <= PhaseFaults }

// Plan is the run's fault plan. It is drawn after Build.
func (r *Run) Plan() *faults.Plan { return r.plan }

// planned tells whether the plan has a fault of a kind.
func (r *Run) planned(kind string) bool {
	return slices.ContainsFunc(r.plan.Faults, func(f faults.Fault) bool { return f.Kind == kind })
}

// clockMayBeWrong tells whether the plan has a fault that makes a machine's clock wrong, or may.
func (r *Run) clockMayBeWrong(machine string) bool {
	return slices.ContainsFunc(r.plan.Faults, func(f faults.Fault) bool {
		return strings.HasPrefix(f.Kind, "clock.") && (f.When != nil || slices.Contains(f.Target, machine))
	})
}

// AddNode adds a machine that faults may act on; its role groups it with others that do the same.
func (r *Run) AddNode(name, role string, boot func(host.Host)) *sim.Node {
	r.topology.Machines = append(r.topology.Machines, faults.Machine{Name: name, Role: role})
	if boot == nil {
		return r.World.NewNode(name, nil)
	}
	return r.World.NewNode(name, func(h host.Host) { boot(r.watch(h)) })
}

// UsesDisk says that a machine keeps something on its disk, so that faults of the disk act on it.
func (r *Run) UsesDisk(name string) {
	for i := range r.topology.Machines {
		if m := &r.topology.Machines[i]; m.Name == name {
			m.Disk = true
			return
		}
	}
	panic(fmt.Sprintf("scenarios: there is no machine %q", name))
}

// Handle makes a kind of fault possible: how it is carried out, and what it may act on.
func (r *Run) Handle(kind string, subjects []string, h faults.Handler) {
	if r.handlers[kind] != nil {
		panic(fmt.Sprintf("scenarios: two handlers for %s", kind))
	}
	r.handlers[kind] = h
	r.topology.Subjects[kind] = subjects
}

func (r *Run) handled() []string {
	names := make([]string, 0, len(r.handlers))
	for name := range r.handlers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Ready adds a condition that ends the start phase.
func (r *Run) Ready(name string, holds func() bool) {
	r.ready = append(r.ready, condition{name, holds})
}

// Settled adds a condition that must come true in the settle phase. Its name completes "... has not
// come true".
func (r *Run) Settled(name string, holds func() bool) {
	r.settled = append(r.settled, condition{name, holds})
}

// Final adds a task of the final phase. They run one after another, in the order in which they were
// added; an error is a failure of liveness.
func (r *Run) Final(fn func() error) { r.final = append(r.final, fn) }

// Judge adds an oracle, one of those that Scenario.Oracles names. It is asked after every run that
// was not interrupted, also after one that ended early: what was recorded until then must hold.
func (r *Run) Judge(o models.Oracle) { r.oracles = append(r.oracles, o) }

// Count adds a source of how many operations were begun, and how many of those begun while Working
// succeeded. A run without any that did proves nothing, so that its verdict is unknown: a scenario
// that counts nothing never passes.
func (r *Run) Count(fn func() (ops, succeeded int)) { r.counts = append(r.counts, fn) }

// Figure makes a measure of the run known, under a name that ends in its unit: "recovery_max_ms". It
// replaces an earlier value.
func (r *Run) Figure(name string, value int64) {
	if r.figures == nil {
		r.figures = map[string]int64{}
	}
	r.figures[name] = value
}

// direct is the task that takes a run through its phases.
func (r *Run) direct() {
	w := r.World
	if !r.await(r.ready, r.startLimit()) {
		return
	}
	r.enter(PhaseFaults)
	r.injector.Start()
	w.Sleep(r.Duration("duration"))

	r.enter(PhaseHeal)
	r.injector.Heal()
	for _, n := range w.Nodes() {
		n.Resume()
		n.Restart()
	}

	r.enter(PhaseSettle)
	if !r.await(r.settled, r.Duration("settle")) {
		return
	}

	r.enter(PhaseFinal)
	for _, fn := range r.final {
		if err := fn(); err != nil {
			w.Fail("liveness", "the final reads failed on a healed system: %v", err)
			return
		}
	}
	w.Stop()
}

// startLimit is how long a run may take to start. What takes long to settle takes long to start.
func (r *Run) startLimit() time.Duration { return max(minStartLimit, r.Duration("settle")) }

// finalLimit bounds the final phase, whose tasks have bounds of their own.
func (r *Run) finalLimit() time.Duration { return max(time.Hour, 10*r.Duration("settle")) }

func (r *Run) enter(p Phase) {
	r.phase = p
	r.World.Fault("phase " + p.String())
}

// await waits until all conditions hold at once, and reports the first of those that did not in
// time.
func (r *Run) await(conditions []condition, limit time.Duration) bool {
	w := r.World
	deadline := w.Now() + limit
	for {
		missing := slices.IndexFunc(conditions, func(c condition) bool { return !c.holds() })
		if missing < 0 {
			return true
		}
		if w.Now() >= deadline {
			w.Fail("liveness", "%s has not come true within %v of virtual time (phase %v)", conditions[missing].name, limit, r.phase)
			return false
		}
		w.Sleep(max(poll, limit/looks))
	}
}

// Execute runs the scenario once. It returns early, with verdict Unknown, when ctx is done, or when
// a task blocks the world; the run is then left behind. What is wrong with the options is an
// Unknown of oracle "options"; see [Scenario.Check].
func (s *Scenario) Execute(ctx context.Context, opt Options) Result {
	began := wallClock()
	res := Result{
		Scenario: s.Name, Seed: opt.Seed, Verdict: Unknown, TraceHash: fmt.Sprintf("%016x", 0),
		Faults: map[string]int{}, Sometimes: map[string]int{}, Failures: []Failure{},
		Settings: s.settings(opt.Settings),
	}
	// The world runs on a goroutine of its own, so that a task that blocks it blocks nobody else.
	stuck := make(chan sim.Stuck, 1)
	done := make(chan finished, 1)
	go func() {
		f := finished{panicked: "a task called runtime.Goexit, as testing's FailNow does"}
		defer func() {
			if p := recover(); p != nil {
				f.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
			done <- f
		}()
		f = finished{result: s.execute(ctx, opt, res, func(s sim.Stuck) { stuck <- s })}
	}()
	select {
	case f := <-done:
		if f.panicked != "" {
			panic(f.panicked)
		}
		res = f.result
	case s := <-stuck:
		res.Failures = append(res.Failures, Failure{Oracle: "stuck", Message: s.Error()})
	}
	res.WallNS = int64(wallClock().Sub(began))
	return res
}

type finished struct {
	result   Result
	panicked string
}

func (s *Scenario) execute(ctx context.Context, opt Options, res Result, onStuck func(sim.Stuck)) Result {
	r, err := s.prepare(ctx, opt, onStuck)
	if err != nil {
		res.Failures = append(res.Failures, Failure{Oracle: "options", Message: err.Error()})
		return res
	}
	w := r.World
	defer w.Close()
	w.Go("director", r.direct)
	err = w.Run()
	res.TraceHash = fmt.Sprintf("%016x", w.Hash())
	res.Events = w.Events()
	res.VirtualNS = int64(w.Now())
	res.Faults = r.injector.Fired()
	res.Sometimes = withDeclared(w.Sometimes())
	res.Figures = r.figures
	succeeded := 0
	for _, count := range r.counts {
		ops, ok := count()
		res.Ops += ops
		succeeded += ok
	}
	r.conclude(&res, err, succeeded)
	if opt.Inspect != nil {
		opt.Inspect(r)
	}
	return res
}

// conclude works out the verdict.
func (r *Run) conclude(res *Result, err error, succeeded int) {
	w := r.World
	here := func(oracle, format string, args ...any) Failure {
		return Failure{oracle, fmt.Sprintf(format, args...), int64(w.Now()), w.Events()}
	}
	var violations, undecided []Failure
	for _, f := range w.Failures() {
		violations = append(violations, Failure{f.Oracle, f.Message, int64(f.At), f.Event})
	}
	var deadlock *sim.Deadlock
	switch {
	case errors.Is(err, sim.ErrInterrupted):
		res.Failures = []Failure{here("interrupted", "the run was interrupted at %v of virtual time", w.Now())}
		return
	case errors.As(err, &deadlock):
		violations = append(violations, here("deadlock", "%v", err))
	case err != nil && len(violations) == 0:
		undecided = append(undecided, here("limit", "%v", err))
	}
	judged := map[string]bool{}
	for _, o := range r.oracles {
		j := o.Judge()
		judged[o.Name()] = true
		found := make([]Failure, len(j.Violations))
		for i, v := range j.Violations {
			found[i] = Failure{v.Oracle, v.Message, v.AtNS, v.Event}
		}
		switch {
		case j.Verdict == models.VerdictFail && len(found) == 0:
			violations = append(violations, here(o.Name(), "the oracle objects, and does not say to what"))
		case j.Verdict == models.VerdictFail:
			violations = append(violations, found...)
		case j.Verdict == models.VerdictPass && len(found) > 0:
			undecided = append(undecided, here(o.Name(), "the oracle contradicts itself: it passes the run with %d violations, the first: %s", len(found), found[0].Message))
		case j.Judged == 0:
			undecided = append(append(undecided, found...), here("vacuous", "oracle %s had nothing to judge", o.Name()))
		case j.Verdict != models.VerdictPass:
			undecided = append(append(undecided, found...), here(o.Name(), "the oracle could not tell (verdict %q)", j.Verdict))
		}
	}
	for _, name := range r.scenario.Oracles {
		if !judged[name] {
			undecided = append(undecided, here("vacuous", "the scenario names oracle %s, and its Build does not add it with Run.Judge", name))
		}
	}
	if succeeded == 0 {
		undecided = append(undecided, here("vacuous", "no operation succeeded while the workload ran, of those that Run.Count counts"))
	}
	if len(r.plan.Faults) > 0 && len(res.Faults) == 0 {
		undecided = append(undecided, here("vacuous", "none of the %d faults of the plan began", len(r.plan.Faults)))
	}
	if len(r.plan.Faults) == 0 && r.drawsFaults {
		undecided = append(undecided, here("vacuous", "the fault profile found nothing in the scenario that it could act on; calm is the profile without faults"))
	}
	switch {
	case len(violations) > 0:
		res.Verdict, res.Failures = Fail, violations
	case len(undecided) > 0:
		res.Verdict, res.Failures = Unknown, undecided
	default:
		res.Verdict = Pass
	}
}

// wallClock is the real time, for Result.WallNS only: it is not part of the simulation.
func wallClock() time.Time { return time.Now() }
