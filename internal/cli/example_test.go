package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/scenarios"
)

func ExampleCommand() {
	dice := &scenarios.Scenario{
		Name: "dice", Doc: "one throw", Profile: "calm",
		Build: func(r *scenarios.Run) {
			r.Count(func() (ops, succeeded int) { return 1, 1 })
			r.World.Go("throw", func() {
				if n := r.World.NewStream("dice").N(6); n == 5 {
					r.World.Fail("dice/low", "threw a %d", n+1)
				}
			})
		},
	}
	c := &cli.Command{
		Name: "dicesim", Scenarios: []*scenarios.Scenario{dice},
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stdout,
	}
	fmt.Println("status", c.Run(context.Background(), []string{"run", "dyce"}))
	// Output:
	// dicesim: there is no scenario "dyce"; did you mean dice? There are: dice
	// status 2
}
