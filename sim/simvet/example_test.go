package simvet_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/simrun-dev/simrun/sim/simvet"
)

// A test that calls Check keeps code simulable.
func ExampleCheck() {
	findings, err := simvet.Check(context.Background(), simvet.Options{Dir: "testdata"}, "./simchan/fix", "./simtime/fix")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings {
		fmt.Printf("%s:%d: %s\n", filepath.Base(f.Position.Filename), f.Position.Line, f.Check)
	}
	fmt.Println(findings[0].Message)
	// Output:
	// fix.go:10: simchan
	// fix.go:14: simtime
	// fix.go:18: simtime
	// fix.go:19: simtime
	// fix.go:20: simtime
	// fix.go:21: simtime
	// fix.go:22: simtime
	// fix.go:23: simtime
	// a bare receive from a context's Done blocks the only thread that the simulation has: use host.Select with host.OnDone
}
