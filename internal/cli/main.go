package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// Main runs the command line of this process over the scenarios, and returns the exit status.
//
// The first SIGINT or SIGTERM ends what is under way in good order; the second ends the process.
//
// The mutants are the patch files of patches; nil stands for those that come with simrun.
//
// Called by go vet as its tool, it is that.
func Main(list []*scenarios.Scenario, patches fs.FS) int {
	if isVetTool(os.Args[1:]) {
		vetTool()
	}
	c := &Command{
		Name: "simrun", Scenarios: list,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Mutants: mutants.Builtin,
	}
	if patches != nil {
		c.Mutants = func() ([]*mutants.Mutant, error) { return mutants.Load(patches) }
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.Contains(info.Path, "/") {
		// Not os.Args[0]: what is recorded must not depend on where the binary lies.
		c.Name, c.Package = path.Base(info.Path), info.Path
	}
	if c.Invocation = os.Getenv(invocationVariable); c.Invocation == "" || plantedMutant == "" {
		c.Invocation = invocation(os.Args[0], c.Name, c.Package)
	}
	if os.Getenv("GOGC") == "" {
		// Runs leave much garbage and little that lives (a few megabytes a worker): with room to let
		// it lie, campaigns are a quarter faster.
		debug.SetGCPercent(800)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		fmt.Fprintf(os.Stderr, "\n%s: %v: stopping; once more to end at once\n", c.Name, s)
		cancel(&Interrupted{Signal: s})
		s = <-signals
		c.temporaries.removeAll()
		endBy(s)
	}()
	return c.Run(ctx, os.Args[1:])
}

// endBy ends the process as the signal would have if it were not caught.
func endBy(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // it gets there before that
	}
	os.Exit(interruptStatus(&Interrupted{Signal: s}))
}

// invocation is how the program can be called again from where it was called: by its name if it
// was found in PATH, by go run if that had built it, by its path otherwise.
func invocation(arg0, name, pkg string) string {
	switch {
	case !strings.ContainsRune(arg0, filepath.Separator):
		return name
	case strings.Contains(filepath.ToSlash(arg0), "/go-build") && pkg != "":
		return "go run " + pkg
	}
	return rerun.Quote(arg0)
}
