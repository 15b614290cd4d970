package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// Timers that are forgotten, fired or not received from, are not kept for ever.
func TestForgottenTimersAreLetGo(t *testing.T) {
	w := New(Config{})
	defer w.Close()
	w.Go("test", func() {
		h := w.Host()
		first := h.Clock().Timer(time.Second)
		for range 1000 {
			h.Clock().Timer(time.Second)
			h.Clock().After(time.Second)
		}
		last := h.Clock().Timer(2 * time.Second)
		h.Clock().Sleep(time.Minute)
		k := w.self.proc.clock.canary
		require.Len(t, k.unreceived, maxUnreceived)
		require.Len(t, k.armed, maxUnreceived)
		require.Len(t, k.list(), maxUnreceived)
		require.True(t, last.Stop(), "a late one has not expired before its value was received")
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(last.C, nil)))
		require.False(t, first.Stop(), "an early one is taken for expired")
		require.Equal(t, 0, host.TrySelect(h, host.OnTime(first.C, nil)), "though its value is there")
		require.Len(t, k.unreceived, maxUnreceived-1)
	})
	require.NoError(t, w.Run())
}
