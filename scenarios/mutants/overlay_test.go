package mutants_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios/mutants"
)

func parse(t testing.TB, name, scenario, diff string) *mutants.Mutant {
	t.Helper()
	m, err := mutants.Parse("001-"+name+".patch", []byte(header(name, scenario)+diff))
	require.NoError(t, err)
	return m
}

// replaced returns the contents of the files that the overlay replaces, by path.
func replaced(t *testing.T, overlay string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(overlay)
	require.NoError(t, err)
	var content struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(data, &content))
	files := make(map[string]string)
	for original, replacement := range content.Replace {
		require.True(t, filepath.IsAbs(original), "the go command takes relative paths as from where it runs")
		text, err := os.ReadFile(replacement)
		require.NoError(t, err)
		files[original] = string(text)
	}
	return files
}

func TestOverlay(t *testing.T) {
	tree := newVictim(t)
	original := filepath.Join(tree, counterPath)
	want := map[string]string{original: strings.Replace(victim[counterPath], "c.n++", "c.n += 2", 1)}

	for name, position := range map[string]int{"where it was": 7, "further down": 3, "further up": 15} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, "inc-twice", "shard", incTwice(position))
			overlay, err := m.Overlay(tree, t.TempDir())
			require.NoError(t, err)
			require.Equal(t, want, replaced(t, overlay))
		})
	}
	text, err := os.ReadFile(original)
	require.NoError(t, err)
	require.Equal(t, victim[counterPath], string(text), "the tree must stay as it is")
}

func TestOverlayAddsFile(t *testing.T) {
	tree := newVictim(t)
	m := parse(t, "extra", "shard", "diff --git a/system/counter/extra.go b/system/counter/extra.go\nnew file mode 100644\n"+
		"--- /dev/null\n+++ b/system/counter/extra.go\n@@ -0,0 +1 @@\n+package counter\n")
	overlay, err := m.Overlay(tree, t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(tree, "system", "counter", "extra.go")
	require.Equal(t, map[string]string{path: "package counter\n"}, replaced(t, overlay))

	require.NoError(t, os.WriteFile(path, []byte("package counter\n"), 0o644))
	_, err = m.Overlay(tree, t.TempDir())
	require.ErrorContains(t, err, "001-extra.patch: system/counter/extra.go: the file that the patch adds exists")
}

func TestOverlayNoLongerApplies(t *testing.T) {
	tree := newVictim(t)
	for name, test := range map[string]struct {
		diff string
		hunk int
		want string
	}{
		"line changed": {
			change(7, " func (c *Counter) Inc() {", "-\tc.n = c.n + 1", "+\tc.n += 2", " }"), 1,
			"the lines it expects are not in the file",
		},
		"second hunk": {
			incTwice(7) + "@@ -12,1 +12,1 @@\n-// Dec.\n+// Decrement.\n", 2,
			"the lines it expects are not in the file",
		},
		"hunks out of order": {
			change(17, "-// Value is the count.", "+// Value.") + "@@ -6,1 +6,1 @@\n-// Inc adds one.\n+// Inc.\n", 2,
			"the lines it expects are not in the file",
		},
		"ambiguous": {
			change(9, " }", "+var x int", " "), 1,
			"the lines it expects are in the file more than once, at lines 9 14: it needs more context",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, "stale", "shard", test.diff).Overlay(tree, t.TempDir())
			var stale *mutants.PatchError
			require.ErrorAs(t, err, &stale)
			require.Equal(t, "001-stale.patch", stale.Patch)
			require.Equal(t, counterPath, stale.Target)
			require.Equal(t, test.hunk, stale.Hunk)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "adapt the patch")
		})
	}
	t.Run("file gone", func(t *testing.T) {
		require.NoError(t, os.Remove(filepath.Join(tree, counterPath)))
		_, err := parse(t, "stale", "shard", incTwice(7)).Overlay(tree, t.TempDir())
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, "001-stale.patch: system/counter/counter.go: ")
	})
}

func BenchmarkOverlay(b *testing.B) {
	tree, dir := newVictim(b), b.TempDir()
	m := parse(b, "inc-twice", "shard", incTwice(7))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Overlay(tree, dir); err != nil {
			b.Fatal(err)
		}
	}
}
