package bank_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var situation = regexp.MustCompile(`\.(?:Sometimes|Reachable)\("(bank: [^"]+)"`)

// The situations that are declared are those that the code asks for.
func TestSituationsAreDeclared(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var asked, declared []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, call := range situation.FindAllStringSubmatch(string(text), -1) {
			asked = append(asked, call[1])
		}
	}
	for _, name := range host.Declared() {
		if strings.HasPrefix(name, "bank: ") {
			declared = append(declared, name)
		}
	}
	slices.Sort(asked)
	require.NotEmpty(t, asked)
	require.Equal(t, slices.Compact(asked), declared)
}
