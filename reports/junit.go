package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/simrun-dev/simrun/scenarios"
)

// JUnit collects the results of a campaign and writes them as JUnit XML, which most continuous
// integration systems show: one suite per scenario and one case per seed. Of campaigns of more than
// a thousand seeds the passing ones are put together, up to a thousand consecutive ones in a case,
// so that the file stays readable; a seed that failed always has a case of its own.
//
// A violation is a failure, whose type is the oracle. What could not be judged is an error.
type JUnit struct {
	cases   []junitSeed
	wall    time.Duration
	failed  int
	errors  int
	written map[string]int // how many cases say all there is to say, by signature
}

const (
	// junitCases is how many seeds have a case each even if they passed, and how many passing
	// ones make one case otherwise.
	junitCases = 1000
	// junitTexts is how many failures of the same signature are told in full.
	junitTexts = 20
)

// junitSeed is one seed; problem is nil if it passed.
type junitSeed struct {
	seed    uint64
	wallNS  int64
	problem *junitProblem
}

type junitProblem struct {
	isFailure bool
	Type      string `xml:"type,attr"`
	Message   string `xml:"message,attr"`
	Text      string `xml:",cdata"` // which leaves line ends readable
}

// What follows is valid by the schemas of Ant, the strictest there is, and of Jenkins.

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	ID         int             `xml:"id,attr"`
	Package    string          `xml:"package,attr"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Hostname   string          `xml:"hostname,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out"`
	Err        string          `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
}

// Add takes in one more result. detail is what is known of a run that did not pass.
func (j *JUnit) Add(r scenarios.Result, detail Detail) {
	j.wall += r.WallTime()
	s := junitSeed{seed: r.Seed, wallNS: r.WallNS}
	if r.Verdict != scenarios.Pass {
		s.problem = j.problem(&r, detail)
	}
	j.cases = append(j.cases, s)
}

func (j *JUnit) problem(r *scenarios.Result, detail Detail) *junitProblem {
	p := &junitProblem{isFailure: r.Verdict == scenarios.Fail, Type: string(r.Verdict)}
	signature := ""
	if len(r.Failures) > 0 {
		f := &r.Failures[0]
		p.Type, p.Message, signature = f.Oracle, headline(f.Message), f.Signature()
	}
	if p.isFailure {
		j.failed++
	} else {
		j.errors++
	}
	if j.written == nil {
		j.written = make(map[string]int)
	}
	j.written[signature]++
	if j.written[signature] > junitTexts {
		p.Text = xmlText("reproduce  " + commandOf(r, detail))
		return p
	}
	var b strings.Builder
	_ = (&Terminal{Out: &b}).Failure(*r, detail) // a Builder takes everything
	p.Text = xmlText("\n" + b.String())
	return p
}

// xmlText replaces the characters that XML cannot have, in whatever form. In attributes package
// xml does so itself, in CDATA it does not.
func xmlText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, text)
}

// commandOf is the command that runs a result again.
func commandOf(r *scenarios.Result, detail Detail) string {
	if detail.Command != "" {
		return detail.Command
	}
	return r.Repro
}

// Write writes what was added, with what the campaign came to. began is when it began, in real
// time; the zero time is left out.
func (j *JUnit) Write(w io.Writer, s scenarios.Summary, began time.Time) error {
	suite := junitSuite{Package: "simrun", Name: s.Scenario, Time: seconds(j.wall), Properties: junitProperties(s)}
	if !began.IsZero() {
		suite.Timestamp, suite.Hostname = began.UTC().Format("2006-01-02T15:04:05"), "localhost"
	}
	suite.Cases = j.testcases(s.Scenario)
	for _, seed := range s.Abandoned {
		suite.Cases = append(suite.Cases, junitCase{
			Name: fmt.Sprintf("seed %d", seed), Class: s.Scenario, Time: seconds(0),
			Error: &junitProblem{Type: "stuck", Message: "the run did not stop when told to and was given up"},
		})
	}
	suite.Tests, suite.Failures, suite.Errors = len(suite.Cases), j.failed, j.errors+len(s.Abandoned)
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// testcases are the cases of the seeds, in the order in which they were added.
func (j *JUnit) testcases(scenario string) []junitCase {
	together := len(j.cases) > junitCases
	cases := []junitCase{}
	for i := 0; i < len(j.cases); {
		first := j.cases[i]
		c := junitCase{Name: fmt.Sprintf("seed %d", first.seed), Class: scenario}
		end := i + 1
		switch {
		case first.problem != nil && first.problem.isFailure:
			c.Failure = first.problem
		case first.problem != nil:
			c.Error = first.problem
		case together:
			for end < len(j.cases) && end-i < junitCases && j.cases[end].problem == nil && j.cases[end].seed == j.cases[end-1].seed+1 {
				end++
			}
			if end > i+1 {
				c.Name = fmt.Sprintf("seeds %d-%d", first.seed, j.cases[end-1].seed)
			}
		}
		wall := int64(0)
		for _, s := range j.cases[i:end] {
			wall += s.wallNS
		}
		c.Time = seconds(time.Duration(wall))
		cases = append(cases, c)
		i = end
	}
	return cases
}

func junitProperties(s scenarios.Summary) []junitProperty {
	properties := []junitProperty{
		{"seeds", fmt.Sprint(s.Seeds())}, {"passed", fmt.Sprint(s.Passed)},
		{"failed", fmt.Sprint(s.Failed)}, {"unknown", fmt.Sprint(s.Unknown)},
		{"virtual time", virtual(s.Virtual)}, {"faults", counts(s.Faults)},
	}
	if len(s.Options.Settings) > 0 {
		properties = append(properties, junitProperty{"settings", assignments(s.Options.Settings)})
	}
	if s.Interrupted {
		properties = append(properties, junitProperty{"interrupted", "true"})
	}
	return properties
}

// seconds is a length of real time as JUnit has it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
