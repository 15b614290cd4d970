package scenarios

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Campaign runs a scenario for many seeds, several at a time. Runs share nothing, so what it
// reports is a function of its fields and the source; only the times of [Summary] and, with For,
// the number of seeds depend on the machine.
type Campaign struct {
	// Scenario is the name put into results that Execute could not deliver.
	Scenario string
	// Execute runs one seed. It must return soon after its context is done.
	Execute func(context.Context, Options) Result
	// Options are those of every run, but for Seed.
	Options Options
	// Seeds are run in this order. With For they are cut short when the time is up.
	Seeds Seeds
	// For is the real time after which no further seed is begun; 0 is no limit. Runs that are
	// under way then are finished.
	For time.Duration
	// Workers is the number of runs under way at a time; 0 is GOMAXPROCS.
	Workers int
	// KeepGoing runs all seeds. Otherwise the campaign ends with the first failing seed in the
	// order of Seeds, whichever worker finds one first: every seed before it is run, no seed
	// after it is reported.
	KeepGoing bool
	// OnResult, if not nil, receives the results in the order of Seeds, on the goroutine that
	// called Run. Results lag behind the workers by at most a few hundred seeds.
	OnResult func(Result)
	// Grace is how long runs may take to notice that their context is done before they are
	// abandoned, which leaks their goroutines; 0 is 5 seconds.
	Grace time.Duration
}

// Run runs the campaign and returns what came of it. When ctx is done it begins no further seed,
// gives up those under way, and delivers the completed ones, so that the seeds delivered last may
// have gaps between them.
//
// A run that panics or calls runtime.Goexit is reported as [Unknown], with the stack, and does
// not disturb the others.
func (c *Campaign) Run(ctx context.Context) Summary {
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	grace := c.Grace
	if grace <= 0 {
		grace = 5 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &campaignRun{
		Campaign: c,
		ctx:      ctx,
		length:   c.Seeds.Len(),
		limit:    workers,
		window:   uint64(workers) * 64,
		stopAt:   math.MaxUint64,
		running:  make(map[uint64]context.CancelFunc),
		finished: make(map[uint64]*Result),
		jobs:     make(chan campaignJob, workers),
		done:     make(chan campaignDone, workers),
		summary:  Summary{Scenario: c.Scenario, Options: c.Options},
	}
	defer func() {
		cancel()
		close(r.jobs)
		if len(r.summary.Abandoned) == 0 {
			r.workers.Wait()
		}
	}()
	for range workers {
		r.workers.Add(1)
		go r.work()
	}
	start := time.Now()
	r.loop(grace)
	r.summary.Interrupted = r.ctx.Err() != nil && !r.complete()
	r.flush()
	r.summary.Wall = time.Since(start)
	return r.summary
}

// campaignRun is the state of [Campaign.Run]. All of it but the channels belongs to the goroutine
// that called Run. Seeds go by their index in Campaign.Seeds.
type campaignRun struct {
	*Campaign
	ctx     context.Context
	length  uint64
	limit   int    // how many runs may be under way
	window  uint64 // how far runs may be ahead of the first result not delivered: bounds memory
	next    uint64 // first index not begun
	cursor  uint64 // first index not delivered
	stopAt  uint64 // index of the first failure so far that ends the campaign
	timeUp  bool
	running map[uint64]context.CancelFunc
	// finished holds results not delivered yet; nil for a run that was given up.
	finished map[uint64]*Result
	// jobs and done have room for as many as may be under way: nobody ever waits to send, so
	// that an abandoned run can end.
	jobs    chan campaignJob
	done    chan campaignDone
	workers sync.WaitGroup
	summary Summary
}

type campaignJob struct {
	ctx         context.Context
	index, seed uint64
}

type campaignDone struct {
	index  uint64
	result *Result
}

// loop begins and collects runs until there is nothing left to wait for.
func (r *campaignRun) loop(grace time.Duration) {
	var timeUp, graceUp <-chan time.Time
	if r.For > 0 {
		timer := time.NewTimer(r.For)
		defer timer.Stop()
		timeUp = timer.C
	}
	stop := r.ctx.Done()
	for {
		for r.mayBegin() {
			r.begin()
		}
		if len(r.running) == 0 {
			return
		}
		if graceUp == nil && (r.ctx.Err() != nil || r.cursor > r.stopAt) {
			timer := time.NewTimer(grace)
			defer timer.Stop()
			graceUp = timer.C
		}
		select {
		case d := <-r.done:
			r.collect(d)
		case <-timeUp:
			r.timeUp = true
		case <-stop:
			stop = nil
		case <-graceUp:
			r.abandon()
			return
		}
	}
}

// mayBegin says whether the next seed should be begun now.
func (r *campaignRun) mayBegin() bool {
	return len(r.running) < r.limit && r.next < r.length && r.next < r.stopAt &&
		r.next-r.cursor < r.window && !r.timeUp && r.ctx.Err() == nil
}

func (r *campaignRun) begin() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.running[r.next] = cancel
	r.jobs <- campaignJob{ctx: ctx, index: r.next, seed: r.Seeds.At(r.next)}
	r.next++
}

// complete says whether every seed that was asked for has been delivered.
func (r *campaignRun) complete() bool {
	return r.cursor > r.stopAt || r.cursor == r.length || r.timeUp && r.cursor == r.next
}

// collect takes in the end of a run, and delivers what can be delivered.
func (r *campaignRun) collect(d campaignDone) {
	r.running[d.index]()
	delete(r.running, d.index)
	r.finished[d.index] = d.result
	if d.result != nil && d.result.Verdict == Fail && !r.KeepGoing && d.index < r.stopAt {
		r.stopAt = d.index
		for index, cancel := range r.running {
			if index > r.stopAt {
				cancel()
			}
		}
	}
	for r.cursor <= r.stopAt {
		result, ok := r.finished[r.cursor]
		if !ok || result == nil {
			return // what follows a gap is delivered by flush
		}
		delete(r.finished, r.cursor)
		r.deliver(result)
		r.cursor++
	}
}

// flush delivers what was completed behind a gap that an interruption left.
func (r *campaignRun) flush() {
	for _, index := range slices.Sorted(maps.Keys(r.finished)) {
		if result := r.finished[index]; result != nil && index <= r.stopAt {
			r.deliver(result)
		}
	}
}

func (r *campaignRun) deliver(result *Result) {
	r.summary.Add(result)
	if r.OnResult != nil {
		r.OnResult(*result)
	}
}

// abandon leaves the runs that did not end in time to themselves.
func (r *campaignRun) abandon() {
	for _, index := range slices.Sorted(maps.Keys(r.running)) {
		r.running[index]()
		r.summary.Abandoned = append(r.summary.Abandoned, r.Seeds.At(index))
	}
}

// work is one worker. If a run ends its goroutine, another takes over.
func (r *campaignRun) work() {
	over := false
	defer func() {
		if over {
			r.workers.Done()
		} else {
			go r.work()
		}
	}()
	for job := range r.jobs {
		r.runSeed(job)
	}
	over = true
}

// runSeed runs one seed and sends what came of it, whatever that is.
func (r *campaignRun) runSeed(job campaignJob) {
	var result *Result
	defer func() {
		if result == nil {
			cause := "runtime.Goexit was called outside of a simulated task"
			if p := recover(); p != nil {
				cause = fmt.Sprintf("panic: %v", p)
			}
			result = r.internalError(job.seed, cause, debug.Stack())
		}
		if result.Verdict == Unknown && job.ctx.Err() != nil {
			result = nil // cut short: it says nothing about the seed
		}
		r.done <- campaignDone{index: job.index, result: result}
	}()
	options := r.Options
	options.Seed = job.seed
	got := r.Execute(job.ctx, options)
	result = &got
}

// internalError is the result of a run that ended without one.
func (r *campaignRun) internalError(seed uint64, cause string, stack []byte) *Result {
	settings := maps.Clone(r.Options.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	return &Result{
		Scenario:  r.Scenario,
		Seed:      seed,
		Verdict:   Unknown,
		TraceHash: strings.Repeat("0", 16),
		Faults:    map[string]int{},
		Failures:  []Failure{{Oracle: "internal", Message: "internal error: " + cause + "\n" + cleanStack(stack)}},
		Sometimes: map[string]int{},
		Settings:  settings,
	}
}

var (
	stackHeader    = regexp.MustCompile(`(?m)^goroutine \d+.*:\n`)
	stackArguments = regexp.MustCompile(`(?m)\((0x|\{0x|\.\.\.)[^\n]*\)$`)
	stackOffset    = regexp.MustCompile(`(?m) \+0x[0-9a-f]+$`)
	stackCampaign  = regexp.MustCompile(`(?m)^.*\(\*campaignRun\)\.runSeed\(`)
)

// cleanStack takes out of a stack what differs between two runs of the same seed: goroutine
// numbers, addresses, and which worker it was.
func cleanStack(stack []byte) string {
	s := stackHeader.ReplaceAllString(string(stack), "")
	if end := stackCampaign.FindStringIndex(s); end != nil {
		s = s[:end[0]]
	}
	s = stackArguments.ReplaceAllString(s, "(...)")
	return strings.TrimSpace(stackOffset.ReplaceAllString(s, ""))
}
