package frontend

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/sql"
)

// Result is the answer to a statement: rows, or how many were changed.
type Result struct {
	_ struct{} `cbor:",toarray"`
	// Columns are the names of the columns of Rows; nil for statements that have no rows.
	Columns []string
	Rows    []dataflow.Row
	// Affected is how many rows were changed.
	Affected int
	// Text says what was done, or explains a plan.
	Text string
}

// String prints the result: rows as a table, columns side by side.
func (r Result) String() string {
	if r.Columns == nil {
		return strings.TrimRight(r.Text, "\n")
	}
	names := make([]string, len(r.Columns))
	for i, name := range r.Columns {
		names[i] = sql.Printable(name)
	}
	cells := [][]string{names}
	for _, row := range r.Rows {
		data, err := row.Unpack()
		if err != nil {
			cells = append(cells, []string{row.String()})
			continue
		}
		line := make([]string, len(data))
		for i, d := range data {
			line[i] = cell(d)
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(r.Columns))
	for _, line := range cells {
		for i, c := range line {
			if i < len(widths) {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
	}
	lines := make([]string, len(cells))
	for n, line := range cells {
		var b strings.Builder
		for i, c := range line {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(c)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)))
			}
		}
		lines[n] = b.String()
	}
	return strings.Join(lines, "\n")
}

// cell is a value without quotes.
func cell(d dataflow.Datum) string {
	if d.IsNull() {
		return d.String()
	}
	switch d.Kind() {
	case dataflow.KindString:
		return sql.Printable(d.Text())
	case dataflow.KindTimestamp:
		return strings.Trim(d.String(), "'")
	case dataflow.KindInterval:
		return interval(d.Int())
	}
	return d.String()
}

// interval is a time in milliseconds in days and hours: "1 day 02:03:04.005".
func interval(ms int64) string {
	sign, rest := "", uint64(ms)
	if ms < 0 {
		sign, rest = "-", -rest
	}
	days, rest := rest/86_400_000, rest%86_400_000
	text := fmt.Sprintf("%02d:%02d:%02d", rest/3_600_000, rest/60_000%60, rest/1000%60)
	if rest%1000 > 0 {
		text += fmt.Sprintf(".%03d", rest%1000)
	}
	switch {
	case days == 0:
		return sign + text
	case rest == 0:
		return sign + plural(days, "day")
	}
	return sign + plural(days, "day") + " " + text
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// counted is a number of rows in words.
func counted(rows int) string { return plural(uint64(rows), "row") }
