package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/scenarios"
)

func result(seed uint64, verdict scenarios.Verdict) scenarios.Result {
	r := scenarios.Result{
		Scenario: "fake", Seed: seed, Verdict: verdict, VirtualNS: int64(time.Second), Events: 10, Ops: 2,
		Faults:    map[string]int{"net.loss": 1},
		Sometimes: map[string]int{"often": 1, "never": 0},
	}
	if verdict != scenarios.Pass {
		r.Failures = []scenarios.Failure{{Oracle: "oracle", Message: fmt.Sprintf("upper is %d", seed)}}
	}
	return r
}

// collect runs the campaign and returns the seeds delivered, in order.
func collect(ctx context.Context, c *scenarios.Campaign) ([]uint64, scenarios.Summary) {
	var seeds []uint64
	c.OnResult = func(r scenarios.Result) { seeds = append(seeds, r.Seed) }
	summary := c.Run(ctx)
	return seeds, summary
}

func seeds(first, last uint64) scenarios.Seeds {
	return scenarios.Seeds{{First: first, Last: last}}
}

// wait is a run that takes d, unless it is told to stop.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Whatever each run takes, however many run at a time: the results are those of running the
// seeds one after the other, up to the first failure. In a synctest bubble time is simulated and
// a goroutine left behind fails the test.
func TestCampaignDeliversWhatOneWorkerWould(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "seeds")
		takes := rapid.SliceOfN(rapid.IntRange(0, 50), n, n).Draw(rt, "milliseconds")
		fails := rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(rt, "fails if 0")
		workers := rapid.IntRange(1, 9).Draw(rt, "workers")
		keepGoing := rapid.Bool().Draw(rt, "keep going")

		var want []uint64
		wantFailed := 0
		for i := range n {
			want = append(want, uint64(i))
			if fails[i] == 0 {
				wantFailed++
				if !keepGoing {
					break
				}
			}
		}
		synctest.Test(t, func(*testing.T) {
			c := &scenarios.Campaign{
				Seeds: seeds(0, uint64(n-1)), Workers: workers, KeepGoing: keepGoing,
				Execute: func(ctx context.Context, o scenarios.Options) scenarios.Result {
					if wait(ctx, time.Duration(takes[o.Seed])*time.Millisecond) != nil {
						return result(o.Seed, scenarios.Unknown)
					}
					if fails[o.Seed] == 0 {
						return result(o.Seed, scenarios.Fail)
					}
					return result(o.Seed, scenarios.Pass)
				},
			}
			got, summary := collect(context.Background(), c)
			require.Equal(rt, want, got)
			require.Equal(rt, wantFailed, summary.Failed)
			require.Equal(rt, len(want)-wantFailed, summary.Passed)
			require.False(rt, summary.Interrupted)
		})
	})
}

func TestCampaignReportsLowestFailure(t *testing.T) {
	// 9 fails at once, 7 takes long to fail, 8 would run for ever if it were not told to stop,
	// and 6 is needed before either may be reported.
	synctest.Test(t, func(t *testing.T) {
		c := &scenarios.Campaign{
			Seeds: seeds(6, 1000), Workers: 4,
			Execute: func(ctx context.Context, o scenarios.Options) scenarios.Result {
				switch o.Seed {
				case 6:
					_ = wait(ctx, 2*time.Second)
					return result(6, scenarios.Pass)
				case 7:
					_ = wait(ctx, time.Second)
					return result(7, scenarios.Fail)
				case 8:
					<-ctx.Done()
					return result(8, scenarios.Unknown)
				default:
					return result(o.Seed, scenarios.Fail)
				}
			},
		}
		got, summary := collect(context.Background(), c)
		require.Equal(t, []uint64{6, 7}, got)
		require.Equal(t, 1, summary.Failed)
		require.Empty(t, summary.Abandoned)
	})
}

func TestCampaignSurvivesBrokenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var results []scenarios.Result
		c := &scenarios.Campaign{
			Scenario: "fake", Seeds: seeds(1, 6), Workers: 2,
			Options: scenarios.Options{Settings: map[string]string{"clients": "3"}},
			Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
				switch o.Seed {
				case 2:
					panic(errors.New("out of cheese"))
				case 3, 4:
					runtime.Goexit()
				}
				return result(o.Seed, scenarios.Pass)
			},
			OnResult: func(r scenarios.Result) { results = append(results, r) },
		}
		summary := c.Run(context.Background())
		require.Len(t, results, 6)
		require.Equal(t, 3, summary.Passed)
		require.Equal(t, 3, summary.Unknown)

		panicked, exited := results[1], results[2]
		require.Equal(t, scenarios.Unknown, panicked.Verdict)
		require.Equal(t, "fake", panicked.Scenario)
		require.Equal(t, map[string]string{"clients": "3"}, panicked.Settings)
		require.Equal(t, "internal", panicked.Failures[0].Oracle)
		require.Contains(t, panicked.Failures[0].Message, "internal error: panic: out of cheese\n")
		require.Contains(t, panicked.Failures[0].Message, "TestCampaignSurvivesBrokenRuns", "the stack")
		require.Contains(t, exited.Failures[0].Message, "runtime.Goexit")
		require.Equal(t, exited.Failures[0].Message, results[3].Failures[0].Message,
			"nothing in the message depends on the goroutine")
	})
}

func TestCampaignInterrupted(t *testing.T) {
	// With two workers: 1 and 2 are through, 3 hangs until it is told to stop, 4 to 6 are
	// completed behind it, and then Ctrl-C.
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(context.Background())
		c := &scenarios.Campaign{
			Seeds: seeds(1, math.MaxUint64), Workers: 2,
			Execute: func(ctx context.Context, o scenarios.Options) scenarios.Result {
				switch o.Seed {
				case 3:
					<-ctx.Done()
					return result(3, scenarios.Unknown)
				case 7:
					interrupt()
					<-ctx.Done()
					return result(7, scenarios.Unknown)
				}
				return result(o.Seed, scenarios.Pass)
			},
		}
		got, summary := collect(ctx, c)
		require.Equal(t, []uint64{1, 2, 4, 5, 6}, got)
		require.True(t, summary.Interrupted)
		require.Zero(t, summary.Unknown, "a run that was cut short is no verdict")
	})
}

func TestCampaignInterruptedAfterAllSeeds(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	c := &scenarios.Campaign{
		Seeds: seeds(1, 3), Workers: 1,
		Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
			if o.Seed == 3 {
				interrupt()
			}
			return result(o.Seed, scenarios.Pass)
		},
	}
	got, summary := collect(ctx, c)
	require.Equal(t, []uint64{1, 2, 3}, got)
	require.False(t, summary.Interrupted, "nothing was left to do")
}

func TestCampaignAbandonsRunsThatDoNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(context.Background())
		stuck := make(chan struct{})
		c := &scenarios.Campaign{
			Seeds: seeds(1, 9), Workers: 2, Grace: time.Minute,
			Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
				switch o.Seed {
				case 2:
					<-stuck
				case 5:
					interrupt()
				}
				return result(o.Seed, scenarios.Pass)
			},
		}
		got, summary := collect(ctx, c)
		require.Equal(t, []uint64{1, 3, 4, 5}, got)
		require.Equal(t, []uint64{2}, summary.Abandoned)
		close(stuck) // the abandoned run can still end
	})
}

func TestCampaignForDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &scenarios.Campaign{
			Seeds: seeds(100, math.MaxUint64), Workers: 2, For: 10*time.Second + time.Millisecond,
			Execute: func(ctx context.Context, o scenarios.Options) scenarios.Result {
				_ = wait(ctx, time.Second)
				return result(o.Seed, scenarios.Pass)
			},
		}
		got, summary := collect(context.Background(), c)
		require.Equal(t, uint64(100), got[0])
		require.Len(t, got, 22, "10 rounds of two, and the two begun before the time was up")
		require.False(t, summary.Interrupted)
		require.Equal(t, 11*time.Second, summary.Wall)
		require.InDelta(t, 2.0, summary.SeedsPerSecond(), 1e-9)
		require.InDelta(t, 2.0, summary.Speedup(), 1e-9)
	})
}

// A slow seed must not let the others pile up results without bound.
func TestCampaignBoundsReorderBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var ran atomic.Int64
		c := &scenarios.Campaign{
			Seeds: seeds(0, 9999), Workers: 2,
			Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
				if o.Seed == 0 {
					<-release
				} else {
					ran.Add(1)
				}
				return result(o.Seed, scenarios.Pass)
			},
		}
		done := make(chan []uint64)
		go func() {
			got, _ := collect(context.Background(), c)
			done <- got
		}()
		synctest.Wait()
		require.EqualValues(t, 127, ran.Load(), "64 for each worker, less the one that is stuck")
		close(release)
		require.Len(t, <-done, 10000)
	})
}

func TestSummary(t *testing.T) {
	c := &scenarios.Campaign{
		Scenario: "fake", Seeds: seeds(1, 20), KeepGoing: true, Workers: 3,
		Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
			switch {
			case o.Seed%5 == 0:
				r := result(o.Seed, scenarios.Fail)
				r.Failures = append(r.Failures, r.Failures[0]) // counts as one seed
				return r
			case o.Seed == 7:
				r := result(o.Seed, scenarios.Unknown)
				r.Failures[0].Oracle = "vacuous"
				return r
			}
			return result(o.Seed, scenarios.Pass)
		},
	}
	s := c.Run(context.Background())
	require.Equal(t, []int{15, 4, 1, 20}, []int{s.Passed, s.Failed, s.Unknown, s.Seeds()})
	require.Equal(t, map[string]int{"net.loss": 20}, s.Faults)
	require.Equal(t, map[string]int{"often": 20, "never": 0}, s.Sometimes)
	require.Equal(t, 20*time.Second, s.Virtual)
	require.Equal(t, uint64(200), s.Events)
	require.Equal(t, 40, s.Ops)

	require.Len(t, s.Groups, 2)
	g := s.Groups[0]
	require.Equal(t, scenarios.Fail, g.Verdict)
	require.Equal(t, "oracle: upper is #", g.Signature)
	require.Equal(t, "upper is 5", g.First.Message)
	require.Equal(t, uint64(5), g.FirstSeed)
	require.Equal(t, 4, g.Seeds)
	require.Equal(t, scenarios.Unknown, s.Groups[1].Verdict)
	require.Equal(t, "vacuous: upper is #", s.Groups[1].Signature)
}

func TestSignature(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"shard s3: upper 12 at 1.5s", "shard s11: upper 9 at 12.25s"},
		{"hash 3f2a9c0012345678 differs", "hash 00112233aabbccdd differs"},
		{"pointer 0xc0001", "pointer 0xFF"},
		{"lost row\nhistory 1", "lost row\nhistory of something else"},
	} {
		a, b := scenarios.Failure{Oracle: "o", Message: test.a}, scenarios.Failure{Oracle: "o", Message: test.b}
		require.Equal(t, a.Signature(), b.Signature())
	}
	a, b := scenarios.Failure{Oracle: "o", Message: "lost"}, scenarios.Failure{Oracle: "p", Message: "lost"}
	require.NotEqual(t, a.Signature(), b.Signature())
	a, b = scenarios.Failure{Oracle: "o", Message: "lost 1"}, scenarios.Failure{Oracle: "o", Message: "found 1"}
	require.NotEqual(t, a.Signature(), b.Signature())
}

func TestSeeds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		small := rapid.Uint64Range(0, 30)
		var list scenarios.Seeds
		var want []uint64
		for range rapid.IntRange(0, 4).Draw(rt, "ranges") {
			r := scenarios.SeedRange{First: small.Draw(rt, "first"), Last: small.Draw(rt, "last")}
			list = append(list, r)
			for s := r.First; ; {
				want = append(want, s)
				if s == r.Last {
					break
				}
				if s < r.Last {
					s++
				} else {
					s--
				}
			}
		}
		at := func(s scenarios.Seeds) (all []uint64) {
			for i := range s.Len() {
				all = append(all, s.At(i))
			}
			return all
		}
		require.Equal(rt, want, at(list))
		slices.Reverse(want)
		require.Equal(rt, want, at(list.Reversed()))
	})
	all := seeds(0, math.MaxUint64)
	require.Equal(t, uint64(math.MaxUint64), all.Len())
	require.Equal(t, uint64(math.MaxUint64-1), all.At(math.MaxUint64-1))
	require.Equal(t, uint64(math.MaxUint64), append(all, all...).Len())
	require.Equal(t, "1-50,77", scenarios.Seeds{{First: 1, Last: 50}, {First: 77, Last: 77}}.String())
}

func ExampleCampaign() {
	c := &scenarios.Campaign{
		Scenario: "dice",
		Seeds:    scenarios.Seeds{{First: 1, Last: 1000}},
		Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
			r := scenarios.Result{Scenario: "dice", Seed: o.Seed, Verdict: scenarios.Pass}
			if o.Seed == 42 {
				r.Verdict = scenarios.Fail
				r.Failures = []scenarios.Failure{{Oracle: "always/fair", Message: "rolled a 7"}}
			}
			return r
		},
		OnResult: func(r scenarios.Result) {
			if r.Verdict == scenarios.Fail {
				fmt.Printf("seed %d: %s\n", r.Seed, r.Failures[0].Message)
			}
		},
	}
	summary := c.Run(context.Background())
	fmt.Println(summary.Passed, "passed,", summary.Failed, "failed")
	// Output:
	// seed 42: rolled a 7
	// 41 passed, 1 failed
}

// BenchmarkCampaign is what a campaign costs on top of its runs, per seed.
func BenchmarkCampaign(b *testing.B) {
	c := &scenarios.Campaign{
		Seeds: seeds(1, uint64(b.N)),
		Execute: func(_ context.Context, o scenarios.Options) scenarios.Result {
			return scenarios.Result{Seed: o.Seed, Verdict: scenarios.Pass}
		},
	}
	b.ReportAllocs()
	summary := c.Run(context.Background())
	if summary.Passed != b.N {
		b.Fatalf("%d of %d seeds passed", summary.Passed, b.N)
	}
}
