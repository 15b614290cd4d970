package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
)

// traceOutput is where the events of a run go.
type traceOutput struct {
	text io.Writer // for people
	out  io.Writer // for events; nil: nowhere
	file *os.File  // to be closed; nil: none
	err  error     // of writing
}

// openTrace opens the file of --trace. If events go to standard output, text goes to standard
// error.
func (c *Command) openTrace(name string) (*traceOutput, error) {
	switch name {
	case "":
		return &traceOutput{text: c.Stdout}, nil
	case "-":
		return &traceOutput{text: c.Stderr, out: c.Stdout}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, usagef("--trace: %w", err)
	}
	return &traceOutput{text: c.Stdout, out: file, file: file}, nil
}

// each is what takes the events, nil if nothing does.
func (t *traceOutput) each() func(sim.Event) {
	if t.out == nil {
		return nil
	}
	return func(event sim.Event) {
		if t.err == nil {
			_, t.err = fmt.Fprintln(t.out, traceLine(&event))
		}
	}
}

func (t *traceOutput) close() error {
	if t.file != nil {
		t.err = errors.Join(t.err, t.file.Close())
	}
	if t.err != nil {
		return fmt.Errorf("cannot write the trace: %w", t.err)
	}
	return nil
}

// traceLine is an event as a line of text. The hash makes it differ wherever the traces of two
// runs have parted, even where the words are the same.
func traceLine(event *sim.Event) string {
	return fmt.Sprintf("%016x %s", event.Hash, strings.ReplaceAll(event.String(), "\n", `\n`))
}

// traceLines runs a seed with its trace recorded, and passes it on line by line.
func traceLines(ctx context.Context, s *scenarios.Scenario, opt scenarios.Options, each func(line string)) {
	rerun.Record(ctx, s, opt, func(r *scenarios.Run) {
		for _, event := range r.World.Trace() {
			each(traceLine(&event))
		}
	})
}
