package sql

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable is a text with its control characters as one sees them in source text, for messages and tables:
// names and values may hold anything, a line break or what a terminal obeys.
func Printable(text string) string {
	if strings.IndexFunc(text, unicode.IsControl) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
