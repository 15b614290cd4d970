package sql

import (
	"errors"
	"strings"
)

// The two kinds of [Error].
var (
	// ErrSyntax: the text is not SQL.
	ErrSyntax = errors.New("syntax error")

	// ErrUnsupported: the text may be good SQL, but has a construct that this dialect, or the
	// planner, does not support.
	ErrUnsupported = errors.New("not supported")
)

// Error says what is wrong with a text, and where.
type Error struct {
	// Kind is ErrSyntax or ErrUnsupported; errors.Is sees it.
	Kind error
	At   Pos
	// Detail says what was expected and what was found, if Kind is ErrSyntax, and names the
	// construct if it is ErrUnsupported.
	Detail string
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Kind == ErrUnsupported {
		return "sql: " + Printable(e.Detail) + " is not supported at " + e.At.String()
	}
	return "sql: syntax error at " + e.At.String() + ": " + Printable(e.Detail)
}

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// caretWidth is how many characters of a line Caret shows at most.
const caretWidth = 76

// Caret returns the line of the text that the error is about and, on a second line, a caret
// below the place. Of a long line it shows the part around it. The text must be the one that
// was parsed.
func (e *Error) Caret(text string) string {
	start := min(max(e.At.Offset, 0), len(text))
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := len(text)
	if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
		to = start + n
	}
	before, after := []rune(text[from:start]), []rune(strings.TrimRight(text[start:to], "\r"))

	head, tail := "", ""
	if len(before)+len(after) > caretWidth {
		if cut := len(before) - max(caretWidth/2, caretWidth-len(after)); cut > 0 {
			before, head = before[cut:], "..."
		}
		if keep := caretWidth - len(before); len(after) > keep {
			after, tail = after[:keep], "..."
		}
	}
	// A tab is as wide below as above.
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, head+string(before))
	return head + string(before) + string(after) + tail + "\n" + pad + "^"
}
