package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/joshdk/go-junit"
	"github.com/stretchr/testify/require"
)

// action is what the test needs of action.yml.
type action struct {
	Inputs map[string]struct {
		Description string `yaml:"description"`
		Required    bool   `yaml:"required"`
		Default     string `yaml:"default"`
	} `yaml:"inputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []struct {
			Shell string            `yaml:"shell"`
			Dir   string            `yaml:"working-directory"`
			Env   map[string]string `yaml:"env"`
			Run   string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

func readAction(t *testing.T, root string) action {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	require.NoError(t, err)
	var a action
	require.NoError(t, yaml.Unmarshal(text, &a))
	return a
}

var inputReference = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

// The action does what it says: its script is run as GitHub runs it.
func TestAction(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	a := readAction(t, root)
	require.Equal(t, "composite", a.Runs.Using)
	require.Len(t, a.Runs.Steps, 1)
	step := a.Runs.Steps[0]
	require.Equal(t, "bash", step.Shell)
	require.NotContains(t, step.Run, "${{", "inputs are not code")

	run := func(inputs map[string]string) (output string, reports string, status int) {
		reports = t.TempDir()
		inputs["reports"], inputs["working-directory"] = reports, root
		value := func(reference string) string {
			name := inputReference.FindStringSubmatch(reference)
			require.NotNil(t, name, reference)
			input, ok := a.Inputs[name[1]]
			require.True(t, ok, reference)
			if v, ok := inputs[name[1]]; ok {
				return v
			}
			require.False(t, input.Required, reference)
			return input.Default
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir = value(step.Dir)
		cmd.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY="+filepath.Join(reports, "summary.md"))
		for name, reference := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+value(reference))
		}
		out, _ := cmd.CombinedOutput()
		return string(out), reports, cmd.ProcessState.ExitCode()
	}

	out, reports, status := run(map[string]string{"scenario": "shard", "seeds": "1-3", "arguments": "--faults chaos --strategy pct"})
	require.Equal(t, 0, status, out)
	suites, err := junit.IngestFile(filepath.Join(reports, "junit.xml"))
	require.NoError(t, err)
	require.Equal(t, 3, suites[0].Totals.Passed)
	for _, name := range []string{"results.jsonl", "report.html", "summary.md"} {
		content, err := os.ReadFile(filepath.Join(reports, name))
		require.NoError(t, err)
		require.Contains(t, string(content), "shard", name)
	}

	out, _, status = run(map[string]string{"scenario": "shard; touch pwned"})
	require.Equal(t, 2, status, "an exit status is not made 1")
	require.Contains(t, out, `there is no scenario "shard; touch pwned"`)
	require.NoFileExists(t, filepath.Join(root, "pwned"))
}
