package reports_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/simrun-dev/simrun/reports"
	"github.com/simrun-dev/simrun/scenarios"
)

// What failed in a file written by `simrun run --json`, and how to see it again.
func ExampleReadResults() {
	file := strings.NewReader(`{"scenario":"shard","seed":16,"verdict":"pass","trace_hash":"00000000000000aa"}
{"scenario":"shard","seed":17,"verdict":"fail","trace_hash":"00000000000000bb","failures":[{"oracle":"panic","message":"nil map"}],"repro":"simrun repro shard:17"}
`)
	for r, err := range reports.ReadResults(file) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if r.Verdict == scenarios.Fail {
			fmt.Printf("%s: %s\n", r.Failures[0].Message, r.Repro)
		}
	}
	// Output: nil map: simrun repro shard:17
}

func ExampleTerminal() {
	t := &reports.Terminal{Out: os.Stdout}
	r := scenarios.Result{
		Scenario: "shard", Seed: 17, Verdict: scenarios.Fail, TraceHash: "0123456789abcdef", Events: 4712,
		VirtualNS: 12_400_000_000, Ops: 210,
		Failures: []scenarios.Failure{{Oracle: "persist/linearizable", Message: "shard s2: lost update", AtNS: 12_345_000_000, Event: 4711}},
		Faults:   map[string]int{"net.loss": 12},
		Repro:    "simrun repro shard:17",
	}
	if err := t.Failure(r, reports.Detail{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// FAIL shard seed 17
	//   persist/linearizable: shard s2: lost update
	//     at virtual 12.345s (event 4711)
	//   fired      net.loss 12
	//   run        12.400s of virtual time, 4712 events, 210 operations, trace hash 0123456789abcdef
	//   reproduce  simrun repro shard:17
}
