package rerun

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever a person's shell does with a printed command, it must do with the argument itself.
func TestQuote(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune(`ab='"\ $*;&|~#!-`+"`\n\tü")), 0, 9, -1)
		args := rapid.SliceOfN(letters, 1, 3).Draw(rt, "arguments")
		back, err := Split(Join(args))
		require.NoError(rt, err)
		require.Equal(rt, args, back)
	})
	args := []string{"plain", "", "it's", `back\slash`, `$HOME "and" *`, "two\nlines", "~", "#no", "--set", "a=b;c"}
	out, err := exec.Command(shell, "-c", `for a in `+Join(args)+`; do printf '%s\0' "$a"; done`).Output()
	require.NoError(t, err)
	require.Equal(t, args, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
}

func TestUnquote(t *testing.T) {
	words, err := Split(`simrun  repro shard:1 --set 'a=b c' it\'s ''`)
	require.NoError(t, err)
	require.Equal(t, []string{"simrun", "repro", "shard:1", "--set", "a=b c", "it's", ""}, words)
	for _, line := range []string{"'open", `end\`} {
		_, err := Split(line)
		require.Error(t, err, line)
	}
}
