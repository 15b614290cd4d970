package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Terminal prints for people. Its methods return the error of writing to Out.
type Terminal struct {
	Out io.Writer
	// Color marks what matters with ANSI colours.
	Color bool

	printed bool
}

// colour is an ANSI select graphic rendition parameter.
type colour int

const (
	bold   colour = 1
	red    colour = 31
	green  colour = 32
	yellow colour = 33
)

func (t *Terminal) paint(c colour, text string) string {
	if !t.Color {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", int(c), text)
}

// block writes a block in one go, so that it stays whole, with an empty line before it unless
// it is the first thing printed.
func (t *Terminal) block(b *strings.Builder) error {
	text := b.String()
	if t.printed {
		text = "\n" + text
	}
	return t.write(text)
}

// line writes one line.
func (t *Terminal) line(format string, args ...any) error {
	return t.write(fmt.Sprintf(format, args...) + "\n")
}

func (t *Terminal) write(text string) error {
	t.printed = true
	_, err := io.WriteString(t.Out, text)
	return err
}

// indented is the text with each line moved to the right.
func indented(prefix, text string) string {
	text = strings.TrimRight(text, "\n")
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) + "\n"
}

// headlineLength is how many characters of a message a table shows.
const headlineLength = 120

// headline is the first line of a message, cut to fit into a table.
func headline(message string) string {
	line, _, more := strings.Cut(message, "\n")
	if runes := []rune(line); len(runes) > headlineLength {
		line, more = string(runes[:headlineLength]), true
	}
	if more {
		line += " ..."
	}
	return line
}

// counts is "a 1, b 2", by name.
func counts(m map[string]int) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// assignments is "a=1 b=2", by name.
func assignments(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, name+"="+m[name])
	}
	return strings.Join(parts, " ")
}

// virtual is a point or length of virtual time, to the millisecond.
func virtual(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return d.Round(time.Millisecond).String()
}

// wall is a length of real time.
func wall(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// plural is "1 seed", "2 seeds".
func plural[N int | uint64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
