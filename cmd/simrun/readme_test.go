package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shorter are the parts of the README's commands that take long, and what stands for them here.
var shorter = strings.NewReplacer(
	"--seeds 1-1000", "--seeds 1-5",
	"--seeds 1-200", "--seeds 1-10",
	"--seeds 1-10", "--seeds 1-2",
	"--for 10m", "--for 1s",
	"--faults chaos", "--seeds 1-3 --faults chaos",
	"--output small.jsonl", "--for 20s --output small.jsonl",
	"--dir kept", "--dir kept-runs",
	"repro kept", "repro kept-runs",
	"coverage --seeds 1-50", "coverage shard --seeds 1-2",
	"shard --seeds 1-200 --faults default,chaos --require-all", "shard --seeds 1-2 --faults default,chaos",
	"--campaigns 10", "--only stale-upper --campaigns 2 --seeds 1-40",
)

// statuses are the exit statuses of the commands that are to find something.
var statuses = map[string]int{
	"--mutant": 1, "repro results.jsonl   #": 1, "repro small.jsonl": 1, "diff ": 1, "check --model": 1,
}

// Every command that the README shows for simrun does what it shows, in its order.
func TestReadmeCommands(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "simrun")))
	var pairs []string
	for _, name := range []string{"results.jsonl", "small.jsonl", "plan.yaml", "report.html", "junit.xml", "docs/coverage.md", "hunts.jsonl", "docs/mutants.md", "kept-runs"} {
		pairs = append(pairs, name, filepath.Join(bin, filepath.Base(name)))
	}
	files := strings.NewReplacer(pairs...)
	ran := 0
	for i, block := range strings.Split(string(readme), "```sh\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "simrun ") {
				continue
			}
			ran++
			cmd := exec.Command("sh", "-c", files.Replace(shorter.Replace(line)))
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			want := 0
			for part, status := range statuses {
				if strings.Contains(line, part) {
					want = status
				}
			}
			require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s\n%s", line, out)
		}
	}
	require.Greater(t, ran, 18)
}
