package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/standalone"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/sql"
)

// scriptBytes is how long a script may be.
const scriptBytes = 16 << 20

func (c *Command) sqlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sql FILE",
		Short: "Run a script of SQL: tables, and flows that keep queries up to date",
		Long: `Runs the statements of a script, one after the other, on one node in this process, and
prints what each answers; - is standard input. Nothing is kept afterwards. Time is
simulated: it starts at 2000-01-01 and goes on only while something is waited for.

A flow writes what its query says of its source into its sink, and keeps it so:

  CREATE TABLE requests (host STRING, ms BIGINT, ts TIMESTAMP TIME INDEX) WITH (append_mode = true);
  CREATE FLOW slowest SINK TO worst EXPIRE AFTER '1 hour' AS
    SELECT host, date_bin('1 minute', ts) AS minute, max(ms) AS ms, count(*) AS n
    FROM requests WHERE host <> 'test' GROUP BY host, minute;
  INSERT INTO requests VALUES ('a', 12, now()), ('a', 30, now()), ('b', 7, now());
  FLUSH FLOW slowest;
  SELECT * FROM worst;

Statements: CREATE TABLE, CREATE [OR REPLACE] FLOW [IF NOT EXISTS], DROP TABLE, DROP FLOW, INSERT,
DELETE, FLUSH FLOW, SELECT from one table, SHOW TABLES, SHOW FLOWS, EXPLAIN.

` + exitHelp,
		Example: c.example(`sql script.sql
sql - < script.sql`),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("sql: takes one script, not %d: give a file, or - for standard input", len(args))
			}
			text, err := c.readScript(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.runScript(cmd.Context(), args[0], text)
		},
	}
}

func (c *Command) readScript(ctx context.Context, name string) (string, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(io.LimitReader(awaitedReader{ctx, c.Stdin}, scriptBytes+1))
	} else {
		data, err = readStart(name, scriptBytes+1)
	}
	var status statusError
	switch {
	case errors.As(err, &status):
		return "", err
	case err != nil:
		return "", usagef("sql: %w", err)
	case len(data) > scriptBytes:
		return "", usagef("sql: %s is longer than %d bytes: run it in parts", name, scriptBytes)
	}
	return string(data), nil
}

// runScript runs the script in a world of one node.
func (c *Command) runScript(ctx context.Context, name, text string) error {
	statements, err := sql.Parse(text)
	if err != nil {
		return scriptError(name, text, err)
	}
	w := sim.New(sim.Config{Context: ctx})
	defer w.Close()
	var failed error
	w.Go("script", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		server, err := standalone.Start(h, client, flow.Config{})
		if err != nil {
			failed = err
			return
		}
		for _, s := range statements {
			result, err := server.ExecuteStatement(context.Background(), s)
			if err != nil {
				failed = scriptError(name, text, err)
				return
			}
			fmt.Fprintf(c.Stdout, "> %s\n%s\n\n", excerpt(s.String(), statementShown), result)
		}
	})
	err = w.Run()
	switch {
	case errors.Is(err, sim.ErrInterrupted):
		return status(interruptStatus(context.Cause(ctx)))
	case err != nil:
		return err
	}
	return failed
}

// scriptError is what is wrong with a script, and the rest of the line that it is about.
func scriptError(name, text string, err error) error {
	at, ok := planner.Position(err)
	if !ok {
		return usagef("sql: %s: %w", name, err)
	}
	var wrong *sql.Error
	reason := ""
	var invalid *planner.InvalidQuery
	if errors.As(err, &invalid) {
		reason = invalid.Reason
	} else if errors.As(err, &wrong) {
		reason = strings.TrimPrefix(wrong.Error(), "sql: ")
	}
	line, _, _ := strings.Cut(text[min(at.Offset, len(text)):], "\n")
	if line = excerpt(strings.TrimSpace(line), lineShown); line == "" {
		line = "the end of the script"
	}
	reason = strings.Replace(reason, " at "+at.String(), "", 1) // it stands before it
	return usagef("sql: %s:%s: %s, at: %s", name, at, reason, line)
}

// How many characters of a statement, and of a line that is wrong, are shown.
const (
	statementShown = 1000
	lineShown      = 80
)

// excerpt is the beginning of a text in one line, which a terminal can show.
func excerpt(text string, most int) string {
	shown := []rune(strings.ToValidUTF8(text[:min(len(text), 4*most)], "\uFFFD"))
	cut := len(shown) > most || len(text) > 4*most
	shown = shown[:min(len(shown), most)]
	for i, r := range shown {
		if unicode.IsSpace(r) {
			shown[i] = ' '
		} else if !unicode.IsPrint(r) {
			shown[i] = '\uFFFD'
		}
	}
	if cut {
		return string(shown) + " ..."
	}
	return string(shown)
}
