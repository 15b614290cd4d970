package scenarios

import "time"

// Verdict is what a run came to.
type Verdict string

const (
	// Pass: every oracle judged, and none objected.
	Pass Verdict = "pass"
	// Fail: an oracle, an assertion or a panic found a violation.
	Fail Verdict = "fail"
	// Unknown: something could not be judged: a checker ran out of time, an oracle had nothing
	// to judge, no operation succeeded, no fault of the plan fired, the run hit a limit.
	Unknown Verdict = "unknown"
)

// Failure is one violation, or with verdict Unknown one thing that could not be judged.
type Failure struct {
	// Oracle names what objected: "persist/linearizable", "panic", "deadlock", "always/<name>",
	// or "vacuous" and "limit" for what could not be judged.
	Oracle string `json:"oracle"`
	// Message says what is wrong. It is a function of scenario, seed and settings, like the
	// trace hash.
	Message string `json:"message"`
	// AtNS is the virtual time of the violation, in ns since the start of the run.
	AtNS int64 `json:"at_ns"`
	// Event is the number of the trace event at which it was found.
	Event uint64 `json:"event"`
}

// Result is one run of a scenario: one line of --json. Everything but WallNS is a function of
// scenario, seed, settings and source.
type Result struct {
	Scenario  string            `json:"scenario"`
	Seed      uint64            `json:"seed"`
	Verdict   Verdict           `json:"verdict"`
	TraceHash string            `json:"trace_hash"` // 16 hex digits
	Events    uint64            `json:"events"`
	VirtualNS int64             `json:"virtual_ns"`
	WallNS    int64             `json:"wall_ns"`
	Ops       int               `json:"ops"`
	Faults    map[string]int    `json:"faults"`
	Failures  []Failure         `json:"failures"`
	Sometimes map[string]int    `json:"sometimes"`
	Settings  map[string]string `json:"settings"`
	Repro     string            `json:"repro"`
	// Figures are measures of the run in virtual time, such as how long it took to recover; their names
	// end in their unit.
	Figures map[string]int64 `json:"figures,omitempty"`
}

// VirtualTime is the simulated time the run took.
func (r *Result) VirtualTime() time.Duration { return time.Duration(r.VirtualNS) }

// WallTime is the real time the run took.
func (r *Result) WallTime() time.Duration { return time.Duration(r.WallNS) }
