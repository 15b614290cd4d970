package models

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded are histories recorded from real systems by others, with their verdicts. They lie
// beside the repository, where they are there at all.
func recorded(t testing.TB) map[string]Verdict {
	t.Helper()
	root := "../../shared/data"
	files := map[string]Verdict{}
	kv, err := filepath.Glob(filepath.Join(root, "kv", "*.txt"))
	require.NoError(t, err)
	for _, file := range kv {
		files[file] = verdictInName(strings.TrimSuffix(file, ".txt"))
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
		return files
	}
	for line := range strings.Lines(string(readme)) {
		name, verdict, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "- "), ": ")
		switch {
		case !ok || !strings.HasPrefix(name, "jepsen/"):
		case verdict == "linearizable":
			files[filepath.Join(root, name)] = VerdictPass
		case verdict == "not linearizable":
			files[filepath.Join(root, name)] = VerdictFail
		}
	}
	return files
}

func verdictInName(name string) Verdict {
	if strings.HasSuffix(name, "-bad") {
		return VerdictFail
	}
	return VerdictPass
}

func readHistory(t testing.TB, model, file string) *History {
	t.Helper()
	m, err := Lookup(model)
	require.NoError(t, err)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	h, err := m.Read(f, FormatAuto)
	require.NoError(t, err, file)
	return h
}

func requireVerdict(t *testing.T, model, file string, want Verdict) {
	t.Helper()
	m, err := Lookup(model)
	require.NoError(t, err)
	for _, j := range m.Judge(readHistory(t, model, file), Bounds{}) {
		require.Equal(t, want, j.Verdict, "%s %v", file, j.Violations)
		if want == VerdictFail {
			require.Contains(t, j.Violations[0].Message, "Smallest failing window: ")
		}
	}
}

// Histories of real systems, and some of our own making in each form, get the verdict that is
// known of them. Ours are named after their model and verdict.
func TestRecordedHistories(t *testing.T) {
	own, err := filepath.Glob("testdata/recorded/*")
	require.NoError(t, err)
	require.NotEmpty(t, own)
	for _, file := range own {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		model := strings.TrimSuffix(strings.TrimSuffix(name, "-ok"), "-bad")
		requireVerdict(t, strings.TrimSuffix(model, "-independent"), file, verdictInName(name))
	}
	for file, want := range recorded(t) {
		model := "kv"
		if filepath.Ext(file) == ".log" {
			model = "cas-register"
		}
		requireVerdict(t, model, file, want)
	}
}

// The whole of what is said about a violation.
func TestSmallestWindow(t *testing.T) {
	for file, want := range map[string]string{
		"cas-register-bad.log": "no order of the operations explains the answer of #5 client 1 read() = ok 3, @9 to @10, " +
			"while all before it can be explained. It contradicts, whatever else happened:\n" +
			"  #4 client 0 read() = ok 1, @7 to @8\n" +
			"  whatever it was before: 1, 3, null\n" +
			"  Smallest failing window: @7 to @10, 2 of the object's 6 operations",
		"kv-bad.edn": "a: no order of the operations explains the answer of #5 client 0 get(a) = ok \"1\", 15ms to 16ms, " +
			"while all before it can be explained. It contradicts, whatever else happened:\n" +
			"  #4 client 0 get(a) = ok \"12\", 13ms to 14ms\n" +
			"  whatever it was before: \"1\", \"2\", \"12\", null\n" +
			"  Smallest failing window: 13ms to 16ms, 2 of the object's 5 operations",
		"counter-bad.jsonl": "#5 client 3 read() = ok 1, @6 to @7: it is told of fewer than 2 additions, " +
			"though an answer of 2 or more had come back before it was called:\n" +
			"  #4 client 3 read() = ok 2, @4 to @5\n" +
			"  Smallest failing window: @4 to @7, 2 of the object's 4 operations",
		"lock-bad.jsonl": "no order of the operations explains the answer of #5 client 2 acquire(b for 5s) = ok token 2, 6.3s to 6.4s, " +
			"while all before it can be explained. It contradicts, whatever else happened:\n" +
			"  #4 client 1 renew(a for 5s) = ok, 4s to 4.1s\n" +
			"  whatever it was before: free, held by a\n" +
			"  Smallest failing window: 4s to 6.4s, 2 of the object's 4 operations",
	} {
		model := strings.TrimSuffix(file[:strings.LastIndexByte(file, '.')], "-bad")
		m, err := Lookup(model)
		require.NoError(t, err)
		j := m.Judge(readHistory(t, model, filepath.Join("testdata/recorded", file)), Bounds{})[0]
		require.Len(t, j.Violations, 1)
		require.Equal(t, want, j.Violations[0].Message)
	}
}
