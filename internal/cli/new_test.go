package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inNew runs a command in a new module.
func inNew(t *testing.T, dir string, command ...string) (output string, status int) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return string(out), cmd.ProcessState.ExitCode()
}

// What new writes builds and passes; with the bug that its README suggests it fails, and the
// commands it prints show the failure again.
func TestNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Ticket-Office")
	got := call(t, "new", dir)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "Ticket-Office\n  go test ./...\n")
	out, status := inNew(t, dir, "gofmt", "-l", ".")
	require.Equal(t, 0, status)
	require.Empty(t, out)
	out, status = inNew(t, dir, "go", "vet", "./...")
	require.Equal(t, 0, status, out)
	out, status = inNew(t, dir, "go", "test", "./...")
	require.Equal(t, 0, status, out)
	out, status = inNew(t, dir, "go", "run", "./cmd/ticketofficesim", "run", "ticketoffice", "--seeds", "1-20")
	require.Equal(t, 0, status, out)

	server := filepath.Join(dir, "server.go")
	text, err := os.ReadFile(server)
	require.NoError(t, err)
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "// durable before it is told\n") {
			kept = append(kept, line)
		}
	}
	require.Len(t, kept, strings.Count(string(text), "\n")-1)
	require.NoError(t, os.WriteFile(server, []byte(strings.Join(kept, "")), 0o644))
	out, status = inNew(t, dir, "go", "test", "./...")
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "ticketoffice/increasing: ")
	reproduce := strings.TrimSpace(between(out, "reproduce", "\n"))
	require.Contains(t, reproduce, "go test example.com/ticketoffice/simulation -run '^TestTicketoffice$' -seed ")
	out, status = inNew(t, dir, "sh", "-c", reproduce)
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "ticketoffice/increasing: ")
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func TestNewModulePath(t *testing.T) {
	dir := t.TempDir()
	got := call(t, "new", dir+"/a/b", "--module", "zoo.example/x")
	require.Equal(t, 0, got.status, got.stderr)
	mod, err := os.ReadFile(dir + "/a/b/go.mod")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(mod), "module zoo.example/x\n"))
	require.Contains(t, string(mod), "\nreplace github.com/simrun-dev/simrun => ../")

	// Outside of a clone there is nothing to replace simrun with.
	t.Chdir(dir)
	got = call(t, "new", "c")
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "  cd c\n  go mod tidy\n  go test ./...\n")
	mod, err = os.ReadFile(dir + "/c/go.mod")
	require.NoError(t, err)
	require.Contains(t, string(mod), "// replace github.com/simrun-dev/simrun => ../simrun\n")
	require.NotContains(t, string(mod), "\nreplace")
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o644))
	for problem, args := range map[string][]string{
		"new: " + dir + " is not empty: give a directory that is, or that is not there yet": {dir},
		"new: takes one directory, not 0":             nil,
		"new: takes one directory, not 2":             {"a", "b"},
		"not a directory":                             {file},
		`and "123" cannot be`:                         {dir + "/123"},
		`and "func" cannot be`:                        {dir + "/func"},
		`--module: "a b" is not the path of a module`: {dir + "/x", "--module", "a b"},
	} {
		got := call(t, append([]string{"new"}, args...)...)
		require.Equal(t, 2, got.status, problem)
		require.Contains(t, got.stderr, problem)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing was written")
}
