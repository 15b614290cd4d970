package persisttest_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/persisttest"
)

// inWorld calls body, as a task of a simulated world, with a bench of a store in memory that is taken
// to outlive its process, changed by wrap.
func inWorld[S any](open func(host.Host) S, wrap func(host.Host, S) S) persisttest.Setup[S] {
	return func(t testing.TB, body func(persisttest.Bench[S])) {
		w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour, MaxEvents: 5_000_000})
		defer w.Close()
		w.Go("test", func() {
			defer w.Stop()
			h := w.Host()
			store := wrap(h, open(h))
			restart := func() {
				if d, ok := any(store).(interface{ restart() }); ok {
					d.restart()
				}
			}
			body(persisttest.Bench[S]{
				Host:   h,
				Client: func() S { return store },
				Reopen: restart, Crash: restart,
			})
		})
		require.NoError(t, w.Run())
	}
}

func memConsensus(h host.Host) persist.Consensus { return persist.NewMemConsensus(h) }
func memBlob(h host.Host) persist.Blob           { return persist.NewMemBlob(h) }

func consensusSetup(wrap func(host.Host, persist.Consensus) persist.Consensus) persisttest.Setup[persist.Consensus] {
	return inWorld(memConsensus, wrap)
}

func blobSetup(wrap func(host.Host, persist.Blob) persist.Blob) persisttest.Setup[persist.Blob] {
	return inWorld(memBlob, wrap)
}

const mutantVariable = "PERSISTTEST_MUTANT"

// TestConsensus runs the suite: on a store as it is, or in a process that TestMutants has started, on
// one that is broken.
func TestConsensus(t *testing.T) {
	wrap := func(_ host.Host, c persist.Consensus) persist.Consensus { return c }
	if m, ok := consensusMutants[os.Getenv(mutantVariable)]; ok {
		wrap = m.wrap
	}
	persisttest.RunConsensus(t, consensusSetup(wrap))
}

// TestBlob is TestConsensus for the other store.
func TestBlob(t *testing.T) {
	wrap := func(_ host.Host, b persist.Blob) persist.Blob { return b }
	if m, ok := blobMutants[os.Getenv(mutantVariable)]; ok {
		wrap = m.wrap
	}
	persisttest.RunBlob(t, blobSetup(wrap))
}

// Each broken store fails the suite, in the tests that are about what is broken.
func TestMutants(t *testing.T) {
	for name, m := range consensusMutants {
		t.Run(name, func(t *testing.T) { requireCaught(t, "TestConsensus", name, m.caughtBy) })
	}
	for name, m := range blobMutants {
		t.Run(name, func(t *testing.T) { requireCaught(t, "TestBlob", name, m.caughtBy) })
	}
}

func requireCaught(t *testing.T, suite, mutant, by string) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^"+suite+"$/"+by)
	cmd.Env = append(os.Environ(), mutantVariable+"="+mutant)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the suite passes")
	require.Contains(t, string(out), "--- FAIL: "+suite+"/")
}

func BenchmarkMemConsensus(b *testing.B) {
	persisttest.BenchmarkConsensus(b, consensusSetup(func(_ host.Host, c persist.Consensus) persist.Consensus { return c }))
}

func BenchmarkMemBlob(b *testing.B) {
	persisttest.BenchmarkBlob(b, blobSetup(func(_ host.Host, v persist.Blob) persist.Blob { return v }))
}
