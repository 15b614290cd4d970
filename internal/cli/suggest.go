package cli

import (
	"fmt"
	"slices"
	"strings"
)

// suggestedAll is how many names a message has: among more nobody finds the one that was meant.
const suggestedAll = 30

// suggestion completes an error about a name that does not exist: what was meant, perhaps, and
// what there is.
func suggestion(name string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	if len(known) == 0 {
		return "; there are none"
	}
	if best := closest(name, known); best != "" {
		if len(known) > suggestedAll {
			return fmt.Sprintf("; did you mean %s?", best)
		}
		return fmt.Sprintf("; did you mean %s? There are: %s", best, strings.Join(known, ", "))
	}
	if len(known) > suggestedAll {
		return fmt.Sprintf(", and none of the %d that there are is called like that", len(known))
	}
	return "; there are: " + strings.Join(known, ", ")
}

// closest returns the known name that is the fewest typing mistakes away, or "" if none is close.
func closest(name string, known []string) string {
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range known {
		d := edits(strings.ToLower(name), strings.ToLower(k))
		if strings.HasPrefix(k, name) && len(name) >= 2 {
			d = 1
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits is how many letters must be put in, left out, replaced or swapped with their neighbour to
// make b of a (optimal string alignment distance).
func edits(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := above[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(row[j]+1, above[j+1]+1, replaced)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
