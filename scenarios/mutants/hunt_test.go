package mutants_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// One hunt through everything that can become of a mutant; each needs a build.
func TestHunt(t *testing.T) {
	dir := newVictim(t)
	tree, err := mutants.FindTree(context.Background(), dir)
	require.NoError(t, err)
	require.Equal(t, dir, tree.Dir)

	decNothing := change(12, " func (c *Counter) Dec() {", "-\tc.n--", " }", " ")
	var phases []string
	h := &mutants.Hunt{
		Tree: tree, Seeds: scenarios.Seeds{{First: 1, Last: 9}},
		OnPhase: func(m *mutants.Mutant, phase string) { phases = append(phases, m.Name+" "+phase) },
	}
	renamed := change(17, "-// Value is the count.", "+// Value is the number counted.")
	outcomes, err := h.Run(context.Background(), []*mutants.Mutant{
		parse(t, "dec-nothing", "counter", decNothing),
		parse(t, "harmless", "counter", renamed),
		parse(t, "no-code", "counter", change(8, "-\tc.n++", "+\tc.n +++ 1")),
		parse(t, "stale", "counter", change(8, "-\tc.m++", "+\tc.m += 2")),
		parse(t, "irreproducible", "flaky", incTwice(7)),
		parse(t, "misdirected", "wrong", renamed),
	})
	require.NoError(t, err)
	require.Len(t, outcomes, 6)

	caught := outcomes[0]
	require.Equal(t, mutants.Outcome{
		Mutant: "dec-nothing", Scenario: "counter", Status: mutants.Caught,
		Seeds: 2, Seed: 2, Oracle: "counter/exact", Message: "2, not 1", Expected: true,
		AtNS: 2000, VirtualNS: 5000, TraceHash: "0000000000000002",
		Repro: "dec-nothing: run counter --seeds 1-9 --json -",
	}, caught)

	survived := outcomes[1]
	require.Equal(t, mutants.Survived, survived.Status)
	require.EqualValues(t, 9, survived.Seeds)
	require.EqualValues(t, 1, survived.Unknown, "seed 2 of the victim is unknown, which is not caught")

	broken := outcomes[2]
	require.Equal(t, mutants.Broken, broken.Status)
	var build *mutants.BuildError
	require.ErrorAs(t, broken.Err, &build)
	require.Contains(t, broken.Error, "001-no-code.patch: does not build: ")
	require.Contains(t, broken.Error, "counter.go:8")

	stale := outcomes[3]
	require.Equal(t, mutants.Broken, stale.Status)
	var patch *mutants.PatchError
	require.ErrorAs(t, stale.Err, &patch)

	irreproducible := outcomes[4]
	require.Equal(t, mutants.NotReplayable, irreproducible.Status)
	require.Contains(t, irreproducible.Error, "when the seed was repeated")

	misdirected := outcomes[5]
	require.Equal(t, mutants.Broken, misdirected.Status)
	require.Contains(t, misdirected.Error, `no scenario "wrong"`)

	require.Equal(t, []string{"dec-nothing building", "dec-nothing hunting", "dec-nothing repeating the failure of"}, phases[:3])
}

func TestHuntInterrupted(t *testing.T) {
	dir := newVictim(t)
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(context.Background())
	h := &mutants.Hunt{
		Tree: mutants.Tree{Dir: dir}, Seeds: scenarios.Seeds{{First: 1, Last: 9}},
		OnPhase: func(*mutants.Mutant, string) { cancel(cause) },
	}
	outcomes, err := h.Run(ctx, []*mutants.Mutant{parse(t, "inc-twice", "counter", incTwice(7))})
	require.ErrorIs(t, err, cause)
	require.Empty(t, outcomes)
}

func TestFindTree(t *testing.T) {
	ctx := context.Background()
	t.Run("elsewhere", func(t *testing.T) {
		newVictim(t) // for its environment
		_, err := mutants.FindTree(ctx, t.TempDir())
		require.ErrorIs(t, err, mutants.ErrNoSource)
		require.ErrorContains(t, err, "change to a clone")
	})
	t.Run("subdirectory", func(t *testing.T) {
		dir := newVictim(t)
		tree, err := mutants.FindTree(ctx, filepath.Join(dir, "system"))
		require.NoError(t, err)
		require.Equal(t, dir, tree.Dir)
	})
	t.Run("replaced by a clone", func(t *testing.T) {
		dir, user := newVictim(t), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(user, "go.mod"), []byte("module example.com/user\n\ngo 1.24\n\n"+
			"require "+mutants.ModulePath+" v0.0.0\n\nreplace "+mutants.ModulePath+" => "+dir+"\n"), 0o644))
		tree, err := mutants.FindTree(ctx, user)
		require.NoError(t, err)
		require.Equal(t, mutants.Tree{Dir: dir, WorkDir: user}, tree)
	})
	t.Run("module cache", func(t *testing.T) {
		dir := newVictim(t)
		t.Setenv("GOMODCACHE", filepath.Dir(dir))
		_, err := mutants.FindTree(ctx, dir)
		require.ErrorIs(t, err, mutants.ErrNoSource)
		require.ErrorContains(t, err, "module cache")
	})
	t.Run("no go command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := mutants.FindTree(ctx, ".")
		require.ErrorIs(t, err, mutants.ErrNoSource)
		require.ErrorContains(t, err, "no go command in PATH")
	})
}

// A user's module that replaces simrun by a clone gets its own command built, with the bug.
func TestBuildOfAnotherModule(t *testing.T) {
	clone, user := newVictim(t), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/user\n\ngo 1.24\n\nrequire " + mutants.ModulePath + " v0.0.0\n\n" +
			"replace " + mutants.ModulePath + " => " + clone + "\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\n\t\"github.com/simrun-dev/simrun/system/counter\"\n)\n\n" +
			"func main() {\n\tvar c counter.Counter\n\tc.Inc()\n\tos.Exit(10 + c.Value())\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(user, name), []byte(content), 0o644))
	}
	t.Chdir(user)
	tree, err := mutants.FindTree(context.Background(), "")
	require.NoError(t, err)
	binary, err := tree.Build(context.Background(), parse(t, "inc-twice", "counter", incTwice(7)), "example.com/user", t.TempDir())
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, exec.Command(binary).Run(), &exit)
	require.Equal(t, 12, exit.ExitCode())
}

// A hunt goes on when what a build has left behind can't be removed, and says so.
func TestHuntWithLitter(t *testing.T) {
	real, err := exec.LookPath("go")
	require.NoError(t, err)
	tree := mutants.Tree{Dir: newVictim(t)}
	bin := t.TempDir()
	wrapper := "#!/bin/sh\n[ \"$1\" = list ] && { echo no list >&2; exit 1; }\nexec '" + real + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(wrapper), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var told []string
	h := &mutants.Hunt{
		Tree: tree, Seeds: scenarios.Seeds{{First: 1, Last: 9}},
		OnLitter: func(m *mutants.Mutant, err error) { told = append(told, m.Name+": "+err.Error()) },
	}
	outcomes, err := h.Run(context.Background(), []*mutants.Mutant{
		parse(t, "dec-nothing", "counter", change(12, " func (c *Counter) Dec() {", "-\tc.n--", " }", " ")),
	})
	require.NoError(t, err)
	require.Equal(t, mutants.Caught, outcomes[0].Status)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "dec-nothing: go list: ")
	require.Contains(t, told[0], "no list")
}
