package mutants_test

import (
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

const patch = `Mutant: mismatch-ignored
Scenario: shard
Bug: The writer takes an upper mismatch for success,
  so that the update is lost.
Expect: persist/linearizable

diff --git a/system/persist/write.go b/system/persist/write.go
--- a/system/persist/write.go
+++ b/system/persist/write.go
@@ -10,3 +10,3 @@
 	if mismatch != nil {
-		return mismatch
+		return nil
 	}
`

func Example() {
	m, err := mutants.Parse("001-mismatch-ignored.patch", []byte(patch))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", m.Name, m.Bug)
	fmt.Println("simrun", strings.Join(m.Arguments(scenarios.Seeds{{First: 1, Last: 200}}), " "))
	// Output:
	// mismatch-ignored: The writer takes an upper mismatch for success, so that the update is lost.
	// simrun run shard --seeds 1-200 --json -
}
