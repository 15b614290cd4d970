package standalone_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/standalone"
	"github.com/simrun-dev/simrun/system/persist"
)

// inWorld runs body with a server in a world of its own.
func inWorld(t testing.TB, seed uint64, cfg flow.Config, body func(w *sim.World, s *standalone.Server)) {
	w := sim.New(sim.Config{Seed: seed, MaxTime: 10 * time.Minute})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		s, err := standalone.Start(h, client, cfg)
		require.NoError(t, err)
		body(w, s)
	})
	require.NoError(t, w.Run())
	require.Empty(t, w.Failures())
}

// execute executes statements that have to succeed, and returns the last one's result.
func execute(t testing.TB, s *standalone.Server, text string) string {
	results, err := s.Execute(context.Background(), text)
	require.NoError(t, err, text)
	require.NotEmpty(t, results)
	return results[len(results)-1].String()
}
