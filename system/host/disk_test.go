package host_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

func TestCheckName(t *testing.T) {
	longest := strings.Repeat("x", host.MaxElement)
	for _, name := range []string{"a", "a/b", ".a", "a.", "...", "a b", "Ä", longest, longest + "/" + longest, "a\\b", "-"} {
		require.NoError(t, host.CheckName("open", name))
	}
	for _, name := range []string{"", ".", "..", "/", "/a", "a/", "a//b", "./a", "a/.", "a/../b", "../a", "a\x00", "\xff", longest + "x", "a/" + longest + "x"} {
		err := host.CheckName("open", name)
		require.ErrorIs(t, err, fs.ErrInvalid, "%q", name)
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		require.Equal(t, fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}, *path)
	}
}
