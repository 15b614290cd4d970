package scenarios

import (
	"regexp"
	"strings"
	"time"
)

// Summary is what a campaign came to: the sum of its results.
type Summary struct {
	Scenario string
	// Options are those of every run; Seed means nothing.
	Options Options
	// Passed, Failed and Unknown count the seeds by verdict.
	Passed, Failed, Unknown int
	// Groups are the failures by signature, in the order of their first seeds.
	Groups []FailureGroup
	// Faults counts the faults that took effect, by kind.
	Faults map[string]int
	// Sometimes counts by name how often a situation was reached. One with 0 was declared but
	// reached by no seed: the campaign was blind there.
	Sometimes map[string]int
	// Figures are the values of each measure, of the first seeds that have it.
	Figures map[string][]int64
	Events  uint64
	Ops     int
	// Virtual is the simulated time of all runs together, Wall the real time of the campaign.
	Virtual, Wall time.Duration
	// Interrupted says that the campaign's context was done before its seeds were.
	Interrupted bool
	// Abandoned are the seeds whose runs did not end when they were told to.
	Abandoned []uint64
}

// FailureGroup is the failures with one signature, most likely those of one bug.
type FailureGroup struct {
	// Verdict tells violations from what could not be judged.
	Verdict Verdict
	// Signature is that of all failures of the group; see [Failure.Signature].
	Signature string
	// First is the first of them, FirstSeed the seed that met it.
	First     Failure
	FirstSeed uint64
	// Seeds counts the seeds that met one.
	Seeds int

	lastSeed uint64
}

// Add takes in one more result.
func (s *Summary) Add(r *Result) {
	switch r.Verdict {
	case Pass:
		s.Passed++
	case Fail:
		s.Failed++
	default:
		s.Unknown++
	}
	for _, f := range r.Failures {
		s.addFailure(r, f)
	}
	s.Faults = addCounts(s.Faults, r.Faults)
	s.Sometimes = addCounts(s.Sometimes, r.Sometimes)
	s.addFigures(r.Figures)
	s.Events += r.Events
	s.Ops += r.Ops
	s.Virtual += r.VirtualTime()
}

// figuresKept bounds the memory of a campaign without end.
const figuresKept = 100_000

func (s *Summary) addFigures(figures map[string]int64) {
	if s.Figures == nil {
		s.Figures = map[string][]int64{}
	}
	for name, value := range figures {
		if len(s.Figures[name]) < figuresKept {
			s.Figures[name] = append(s.Figures[name], value)
		}
	}
}

func (s *Summary) addFailure(r *Result, f Failure) {
	signature := f.Signature()
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Signature == signature && g.Verdict == r.Verdict {
			if g.lastSeed != r.Seed {
				g.Seeds++
				g.lastSeed = r.Seed
			}
			return
		}
	}
	s.Groups = append(s.Groups, FailureGroup{
		Verdict: r.Verdict, Signature: signature, First: f, FirstSeed: r.Seed, Seeds: 1, lastSeed: r.Seed,
	})
}

func addCounts(sum, counts map[string]int) map[string]int {
	if sum == nil {
		sum = make(map[string]int, len(counts))
	}
	for name, n := range counts {
		sum[name] += n
	}
	return sum
}

// Seeds is the number of seeds with a result.
func (s *Summary) Seeds() int { return s.Passed + s.Failed + s.Unknown }

// SeedsPerSecond is the speed of the campaign in real time.
func (s *Summary) SeedsPerSecond() float64 { return perSecond(float64(s.Seeds()), s.Wall) }

// Speedup is how many seconds were simulated in each real second.
func (s *Summary) Speedup() float64 { return perSecond(s.Virtual.Seconds(), s.Wall) }

func perSecond(amount float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return amount / d.Seconds()
}

// variable is what differs between two appearances of one bug: numbers, alone or within words.
var variable = regexp.MustCompile(`\b0x[0-9a-fA-F]+\b|\b[0-9a-f]*[0-9][0-9a-f]{7,}\b|\d+(\.\d+)*`)

// Signature is what failures of the same bug have in common: the oracle, and the first line of
// the message without its numbers.
func (f *Failure) Signature() string {
	line, _, _ := strings.Cut(f.Message, "\n")
	return f.Oracle + ": " + variable.ReplaceAllString(line, "#")
}
