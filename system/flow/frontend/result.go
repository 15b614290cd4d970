package frontend

import (
	"strings"
	"unicode/utf8"

	"github.com/simrun-dev/simrun/system/dataflow"
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
	cells := [][]string{r.Columns}
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

// cell is a value without quotes, with line breaks as one sees them in source text.
func cell(d dataflow.Datum) string {
	s := d.String()
	switch d.Kind() {
	case dataflow.KindString:
		s = d.Text()
	case dataflow.KindTimestamp:
		s = strings.Trim(s, "'")
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(s)
}
