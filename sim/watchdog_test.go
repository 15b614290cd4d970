package sim_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

func TestWatchdogNamesWhatBlocksTheWorld(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	mu.Lock()
	over := false
	for name, block := range map[string]func(){
		"a bare receive":    func() { <-release },
		"a held sync.Mutex": func() { mu.Lock() },
	} {
		t.Run(name, func(t *testing.T) {
			stuck := make(chan sim.Stuck, 1)
			w := sim.New(sim.Config{
				StuckAfter: 20 * time.Millisecond,
				OnStuck: func(s sim.Stuck) {
					stuck <- s
					if name == "a bare receive" {
						close(release)
					} else {
						mu.Unlock()
					}
				},
			})
			defer w.Close()
			w.NewNode("bystander", func(h host.Host) { h.Clock().Sleep(time.Hour) })
			w.Go("culprit", func() {
				w.Sleep(time.Second)
				block()
				over = true
			})
			require.NoError(t, w.Run())
			s := <-stuck
			require.True(t, over)
			require.Contains(t, s.Place, "sim_test.TestWatchdogNamesWhatBlocksTheWorld")
			require.Contains(t, s.Place, "watchdog_test.go:")
			require.NotContains(t, s.Error(), "\n")
		})
	}
}
