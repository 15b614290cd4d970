package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/models"
)

// checkFlags are the flags of check.
type checkFlags struct {
	model   string
	format  models.Format
	html    string
	steps   int
	timeout time.Duration
}

func (c *Command) checkCommand() *cobra.Command {
	flags := checkFlags{format: models.FormatAuto}
	cmd := &cobra.Command{
		Use:   "check --model MODEL FILE...",
		Short: "Judge histories recorded from any system",
		Long: `Judges recorded histories by a model, each file by itself; - is standard input. Prints a
verdict for each and, for a violation, the smallest failing window: the first answer
that no order of the operations explains, and what it contradicts.

Reads Jepsen's log lines, EDN as Jepsen stores it, and JSON Lines, an operation each.
An operation that never completed has an unknown outcome: it may have happened at any
time after its call, or never. Times are those of the history; @12 is line 12, or the
position, where it has none.

Models, with their operations and the answers these may have:
` + modelList() + `
` + exitHelp,
		Example: c.example(`check --model cas-register jepsen.log
check --model kv history.edn --html history.html
check --model queue - < history.jsonl`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.model == "list" && len(args) == 0 {
				fmt.Fprint(c.Stdout, modelList())
				return nil
			}
			model, err := findModel(flags.model)
			if err != nil {
				return err
			}
			if err := checkArguments(args); err != nil {
				return err
			}
			if err := checkPicture(model, flags.html, args); err != nil {
				return err
			}
			return c.check(cmd.Context(), model, &flags, args)
		},
	}
	flag := func(name, typ, usage string, parse func(text string) error) {
		cmd.Flags().Var(&parsedFlag{typ: typ, parse: parse}, name, usage)
	}
	flag("model", "MODEL", "what to judge by; list lists the models", func(text string) error {
		flags.model = text
		return nil
	})
	flag("format", "FORMAT", "auto, jepsen, edn or jsonl (default: auto, by content)", func(text string) error {
		if !slices.Contains(models.Formats(), models.Format(text)) {
			return fmt.Errorf("there is no format %q%s", text, suggestion(text, formatNames()))
		}
		flags.format = models.Format(text)
		return nil
	})
	flag("html", "FILE", "draw the history to this file, the first one that is not linearizable if there are several", func(text string) error {
		if text == "-" {
			return errors.New("- is not possible: give a file, which a browser can open")
		}
		flags.html = text
		return nil
	})
	flag("steps", "N", "end the search for each object after this many steps, with verdict unknown (default: "+
		strconv.Itoa(models.DefaultSearchSteps)+"; of shards: "+strconv.Itoa(models.DefaultMaxSteps)+")", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of steps: give a whole number from 1 on", text)
		}
		flags.steps = n
		return nil
	})
	flag("timeout", "D", "end the search after this time, with verdict unknown: 30s, 5m (default: none)", func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not a time to search: give something like 30s", text)
		}
		flags.timeout = d
		return nil
	})
	return cmd
}

// modelList lists the models with their operations and answers, as help shows them.
func modelList() string {
	var b strings.Builder
	for _, m := range models.All() {
		fmt.Fprintf(&b, "  %s: %s\n", m.Name, m.Doc)
		for _, part := range []struct {
			title string
			items []string
		}{{"operations", m.Schema.Operations()}, {"answers", m.Schema.Answers()}} {
			if len(part.items) > 0 {
				fmt.Fprintf(&b, "      %-10s  %s\n", part.title, strings.Join(part.items, ", "))
			}
		}
	}
	return b.String()
}

func formatNames() []string {
	var names []string
	for _, f := range models.Formats() {
		names = append(names, string(f))
	}
	return names
}

func findModel(name string) (models.Model, error) {
	var names []string
	for _, m := range models.All() {
		names = append(names, m.Name)
	}
	if name == "" {
		return models.Model{}, usagef("check: --model says what to judge by: one of %s", strings.Join(names, ", "))
	}
	m, err := models.Lookup(name)
	if err != nil {
		return m, usagef("check: there is no model %q%s", name, suggestion(name, names))
	}
	return m, nil
}

func checkArguments(args []string) error {
	if len(args) == 0 {
		return usagef("check: which history? Give files, or - for standard input")
	}
	stdin := 0
	for _, arg := range args {
		if arg == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return usagef("check: standard input can be read once only: give - once")
	}
	return nil
}

// checkPicture returns an error if there can be no picture in that file.
func checkPicture(m models.Model, path string, histories []string) error {
	switch {
	case path == "":
		return nil
	case slices.Contains(histories, path):
		return usagef("--html: %s is the history that is to be judged: give another file", path)
	case picturer(m, models.NewHistory()) == nil:
		return usagef("--html: model %s draws no pictures", m.Name)
	}
	return creatable("--html", path)
}

// picturer is the oracle of a model that draws; nil if none does.
func picturer(m models.Model, h *models.History) models.Visualizer {
	for _, o := range m.Oracles(h) {
		if v, ok := o.(models.Visualizer); ok {
			return v
		}
	}
	return nil
}

// check judges the files one after the other and returns how the command ends.
func (c *Command) check(ctx context.Context, m models.Model, flags *checkFlags, files []string) error {
	run := &checkRun{Command: c, model: m, flags: flags}
	worst := exitPass
	for i, file := range files {
		verdict, err := run.file(ctx, file)
		if err != nil {
			return err
		}
		worst = graver(worst, checkStatus(verdict))
		if ctx.Err() != nil {
			fmt.Fprintf(c.Stdout, "interrupted: %d of %d files judged\n", i, len(files))
			if worst != exitViolation {
				worst = interruptStatus(context.Cause(ctx))
			}
			break
		}
	}
	if err := run.draw(); err != nil {
		return err
	}
	return status(worst)
}

// graver is the status that counts of two: a violation, then what could not be judged.
func graver(a, b int) int {
	if a == exitViolation || b == exitViolation {
		return exitViolation
	}
	return max(a, b)
}

func checkStatus(v models.Verdict) int {
	switch v {
	case models.VerdictPass:
		return exitPass
	case models.VerdictFail:
		return exitViolation
	}
	return exitUnknown
}

// checkRun is one call of `simrun check`.
type checkRun struct {
	*Command
	model models.Model
	flags *checkFlags
	// drawn is the history that the picture will show, shown its file; drawnFails says that it
	// is not linearizable, and stays.
	drawn      *models.History
	drawnFile  string
	drawnFails bool
}

// file judges one file and prints what came of it.
func (r *checkRun) file(ctx context.Context, file string) (models.Verdict, error) {
	name := file
	if file == "-" {
		name = "standard input"
	}
	h, err := r.read(ctx, file, name)
	if err != nil {
		if ctx.Err() != nil {
			return models.VerdictUnknown, nil
		}
		return "", err
	}
	begun := time.Now()
	judged, finished := r.judge(ctx, h)
	verdict := models.VerdictPass
	for _, j := range judged {
		verdict = models.Worst(verdict, j.Verdict)
	}
	if !finished && verdict == models.VerdictPass {
		verdict = models.VerdictUnknown
	}
	took := time.Since(begun).Round(time.Millisecond)
	known := 0
	for _, op := range h.Ops() {
		if op.Outcome != models.Unknown {
			known++
		}
	}
	noun := "operations"
	if h.Len() == 1 {
		noun = "operation"
	}
	fmt.Fprintf(r.Stdout, "%s: %s: %d %s, %d with a known outcome, judged by %s in %v\n",
		name, verdictWords[verdict], h.Len(), noun, known, r.model.Name, took)
	for _, j := range judged {
		for _, v := range j.Violations {
			fmt.Fprintf(r.Stdout, "  %s: %s\n", v.Oracle, strings.ReplaceAll(v.Message, "\n", "\n  "))
		}
	}
	if !finished {
		fmt.Fprintf(r.Stdout, "  stopped: %d of the model's %d oracles had judged\n", len(judged), len(r.model.Oracles(h)))
	}
	if r.drawn == nil || verdict == models.VerdictFail && !r.drawnFails {
		r.drawn, r.drawnFile, r.drawnFails = h, name, verdict == models.VerdictFail
	}
	return verdict, nil
}

var verdictWords = map[models.Verdict]string{
	models.VerdictPass:    "ok",
	models.VerdictFail:    "VIOLATION",
	models.VerdictUnknown: "UNKNOWN",
}

func (r *checkRun) read(ctx context.Context, file, name string) (*models.History, error) {
	in := r.Stdin
	if file != "-" {
		if isDirectory(file) {
			return nil, usagef("check: %s is a directory: give a file with a history", file)
		}
		f, err := os.Open(file)
		if errors.Is(err, os.ErrNotExist) {
			return nil, usagef("check: there is no file %s", file)
		}
		if err != nil {
			return nil, usagef("check: %w", err)
		}
		defer f.Close()
		in = f
	}
	h, err := r.model.Read(&stoppable{ctx, in}, r.flags.format)
	var bad *models.FormatError
	switch {
	case err == nil:
		return h, nil
	case errors.As(err, &bad):
		return nil, usagef("check: %s:%d: %w; correct the line, or say with --format how the file is to be read",
			name, bad.Line, bad.Err)
	case errors.Is(err, models.ErrEmpty):
		return nil, usagef("check: %s: there is no operation in it: give a history that model %s reads (check --model list)", name, r.model.Name)
	}
	return nil, usagef("check: %s: %w", name, err)
}

// stoppable ends reading when its context does.
type stoppable struct {
	ctx context.Context
	in  io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.in.Read(p)
}

// grace is how long an oracle that was told to stop has to say what it knows.
const grace = 2 * time.Second

// judge judges a history within the time there is. What has been judged when that is up stands;
// an oracle that does not stop when it is told to is left behind.
func (r *checkRun) judge(ctx context.Context, h *models.History) (judged []models.Judgement, finished bool) {
	if r.flags.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.flags.timeout)
		defer cancel()
	}
	oracles := r.model.Oracles(h)
	answers := make(chan models.Judgement, len(oracles))
	go func() {
		defer close(answers)
		for _, o := range oracles {
			bounded, ok := o.(models.Bounded)
			switch {
			case ok: // it stops by itself, and says so
				o = bounded.Bound(models.Bounds{Steps: r.flags.steps, Done: ctx.Done()})
			case ctx.Err() != nil:
				return
			}
			answers <- o.Judge()
		}
	}()
	var late <-chan time.Time
	stop := ctx.Done()
	for {
		select {
		case j, more := <-answers:
			if !more {
				return judged, len(judged) == len(oracles)
			}
			judged = append(judged, j)
		case <-stop:
			stop, late = nil, time.After(grace)
		case <-late:
			return judged, false
		}
	}
}

// draw writes the picture of --html.
func (r *checkRun) draw() error {
	if r.flags.html == "" || r.drawn == nil {
		return nil
	}
	picture := picturer(r.model, r.drawn)
	if picture == nil {
		return usagef("--html: model %s draws no picture of %s", r.model.Name, r.drawnFile)
	}
	file, err := openAside("--html", r.flags.html)
	if err != nil {
		return err
	}
	if err := picture.Visualize(file); err != nil {
		return fmt.Errorf("cannot draw %s: %w", r.drawnFile, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("cannot draw %s: %w", r.drawnFile, err)
	}
	fmt.Fprintf(r.Stdout, "drawn: %s, in %s\n", r.drawnFile, r.flags.html)
	return nil
}
