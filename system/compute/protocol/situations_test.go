package protocol_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	situation = regexp.MustCompile(`\.(?:Sometimes|Reachable)\("(compute: [^"]+)"`)
	declared  = regexp.MustCompile(`(?m)^\t"(compute: [^"]+)",$`)
)

// The situations that are declared are those that the code asks for.
func TestSituationsAreDeclared(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var asked, listed []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, call := range situation.FindAllStringSubmatch(string(text), -1) {
			asked = append(asked, call[1])
		}
		if name == "situations.go" {
			for _, line := range declared.FindAllStringSubmatch(string(text), -1) {
				listed = append(listed, line[1])
			}
		}
	}
	slices.Sort(asked)
	require.NotEmpty(t, asked)
	require.Equal(t, slices.Compact(asked), listed)
}
