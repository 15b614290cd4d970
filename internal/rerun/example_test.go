package rerun_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

func ExampleFlags_Arguments() {
	dice := &scenarios.Scenario{Name: "dice", Settings: []scenarios.Setting{{Name: "sides", Default: "6"}}}
	f := rerun.Flags{Settings: map[string]string{"sides": "20", "duration": "15s"}, Faults: "{faults: []}"}
	fmt.Println("simrun repro dice:7", rerun.Join(f.Arguments(dice)))
	// Output: simrun repro dice:7 --set sides=20 --faults '{faults: []}'
}
