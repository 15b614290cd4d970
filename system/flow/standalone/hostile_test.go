package standalone_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/standalone"
	"github.com/simrun-dev/simrun/system/persist"
)

// hostile are the scripts of testdata/hostile.sql, each on a line.
func hostile(t require.TestingT) []string {
	text, err := os.ReadFile("testdata/hostile.sql")
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestHostileScripts: whatever a script says, it is carried out, or refused with the place of what is wrong,
// and the server goes on as if it had not been there.
func TestHostileScripts(t *testing.T) {
	refused := 0
	for _, text := range hostile(t) {
		if !survives(t, text) {
			refused++
		}
	}
	require.Greater(t, refused, 50)
}

func FuzzExecute(f *testing.F) {
	for _, text := range hostile(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { survives(t, text) })
}

// survives executes a text on a server of its own, and tells whether it was carried out.
func survives(t *testing.T, text string) bool {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	var err error
	w.Go("script", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		s, startErr := standalone.Start(h, client, flow.Config{})
		require.NoError(t, startErr)
		var results []frontend.Result
		results, err = s.Execute(context.Background(), text)
		for _, r := range results {
			require.NotContains(t, r.String(), "\x1b", text)
		}
		require.Equal(t, "inserted 1 row", execute(t, s, "CREATE TABLE `after wards` (a BIGINT); INSERT INTO `after wards` VALUES (1)"))
	})
	require.NoError(t, w.Run(), text)
	require.Empty(t, w.Failures(), text)
	if err == nil {
		return true
	}
	at, ok := planner.Position(err)
	require.True(t, ok, "%s: %v", text, err)
	require.LessOrEqual(t, at.Offset, len(text), text)
	require.NotContains(t, err.Error(), "\n", text)
	return false
}
