package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// blocks are the code blocks of a document that are in a language.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	var all []string
	for i, block := range strings.Split(string(text), "```"+language+"\n") {
		if i > 0 {
			block, _, _ = strings.Cut(block, "```")
			all = append(all, block)
		}
	}
	return all
}

// shell is a shell in which the commands of a document are run, one after the other.
type shell struct {
	root string // of the repository
	bin  string // first in PATH, with simrun
	dir  string // where the next command runs
}

func newShell(t *testing.T) *shell {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	s := &shell{root: root, bin: t.TempDir(), dir: root}
	// Not the test binary: what new writes is made from the tree that the command runs in.
	out, err := exec.Command("go", "build", "-o", filepath.Join(s.bin, "simrun"), ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return s
}

// run runs one line; cd is for the lines to come.
func (s *shell) run(t *testing.T, line string, want int) {
	t.Helper()
	if dir, ok := strings.CutPrefix(line, "cd "); ok {
		require.DirExists(t, dir)
		s.dir = dir
		return
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOBIN="+s.bin,
		"PWD="+s.dir, "GOFLAGS=", "GOPROXY=off", "GITHUB_STEP_SUMMARY=")
	out, _ := cmd.CombinedOutput()
	require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s\n%s", line, out)
}

// Getting started, from the first command to the last. The clone is this one, and what is made
// beside it is made elsewhere.
func TestGettingStarted(t *testing.T) {
	s := newShell(t)
	here := strings.NewReplacer("cd simrun", "cd "+s.root, "../counter", filepath.Join(t.TempDir(), "counter"))
	ran := 0
	for _, block := range blocks(t, filepath.Join(s.root, "docs", "getting-started.md"), "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "git clone ") {
				continue
			}
			want := 0
			if strings.HasSuffix(line, "# fails") {
				want = 1
			}
			s.run(t, here.Replace(line), want)
			ran++
		}
	}
	require.Greater(t, ran, 14)
}

// The commands of the document on continuous integration, in the repository.
func TestCIDocument(t *testing.T) {
	s := newShell(t)
	files := strings.NewReplacer("--seeds 1-200", "--seeds 1-10", "results.jsonl", filepath.Join(s.bin, "results.jsonl"),
		"small.jsonl", filepath.Join(s.bin, "small.jsonl"), "junit.xml", filepath.Join(s.bin, "junit.xml"), "report.html", filepath.Join(s.bin, "report.html"),
		"history.jsonl", filepath.Join(s.bin, "history.jsonl"), "testdata/seeds", filepath.Join(s.bin, "seeds"))
	document := filepath.Join(s.root, "docs", "ci.md")
	ran := 0
	for _, block := range blocks(t, document, "sh") {
		for line := range strings.Lines(block) {
			line, remark, _ := strings.Cut(strings.TrimSpace(line), "# ")
			want := 0
			if strings.HasPrefix(remark, "fails") {
				want = 1
			}
			s.run(t, files.Replace(line), want)
			ran++
		}
	}
	require.Greater(t, ran, 11)
	for _, name := range []string{"results.jsonl", "small.jsonl", "junit.xml", "report.html", "history.jsonl"} {
		require.FileExists(t, filepath.Join(s.bin, name))
	}

	yamls := blocks(t, document, "yaml")
	require.Len(t, yamls, 2)
	checkWorkflow(t, s.root, yamls[0])
	var jobs map[string]struct {
		Script []string `yaml:"script"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(yamls[1]), &jobs))
	require.Len(t, jobs, 2)
	short := strings.NewReplacer("./simrun", filepath.Join(s.bin, "simrun-of-ci"), "-o simrun", "-o "+filepath.Join(s.bin, "simrun-of-ci"),
		"--seeds 1-200", "--seeds 1-3", "$((first + 99999))", "$((first + 2))")
	for _, name := range []string{"simulate", "simulate-at-night"} {
		lines := append([]string{"set -e", "CI_PIPELINE_IID=17"}, jobs[name].Script...)
		s.run(t, files.Replace(short.Replace(strings.Join(lines, "\n"))), 0)
	}
}

// checkWorkflow checks that a workflow gives the action what it takes.
func checkWorkflow(t *testing.T, root, text string) {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string            `yaml:"uses"`
				With map[string]string `yaml:"with"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &workflow))
	a := readAction(t, root)
	used := 0
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if strings.HasPrefix(step.Uses, "simrun-dev/simrun@") {
				used++
				for name := range step.With {
					require.Contains(t, a.Inputs, name)
				}
			}
		}
	}
	require.Equal(t, 1, used)
}
