package cli

import (
	"io"
	"os"

	"github.com/spf13/pflag"
)

// jsonFlag is --json: where to write JSON Lines.
type jsonFlag struct{ path string }

func (f *jsonFlag) add(flags *pflag.FlagSet, what string) {
	flags.Var(&parsedFlag{typ: "FILE", parse: func(text string) error { f.path = text; return nil }},
		"json", "write "+what+" to this file, one JSON object a line, as soon as each is there; - for standard output")
}

// outputs are where a command writes: text for people to one place, JSON to another.
type outputs struct {
	text  io.Writer
	json  io.Writer // nil: none
	close func() error
}

// open creates the file of --json. If JSON goes to standard output, text goes to standard error.
func (c *Command) open(f *jsonFlag) (*outputs, error) {
	switch f.path {
	case "":
		return &outputs{text: c.Stdout, close: func() error { return nil }}, nil
	case "-":
		return &outputs{text: c.Stderr, json: c.Stdout, close: func() error { return nil }}, nil
	}
	if err := creatable("--json", f.path); err != nil {
		return nil, err
	}
	// Not a temporary file to be renamed: what was written must be there after a crash.
	file, err := os.Create(f.path)
	if err != nil {
		return nil, usagef("--json: %w", err)
	}
	return &outputs{text: c.Stdout, json: file, close: file.Close}, nil
}
