package hosttest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var clockTests = []test{
	{"now", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		start := c.Now()
		c.Sleep(2 * time.Millisecond)
		require.GreaterOrEqual(t, c.Since(start), 2*time.Millisecond, "Sleep is not early")
		require.LessOrEqual(t, c.Until(start), -2*time.Millisecond)
		require.False(t, c.Now().Before(start.Add(2*time.Millisecond)))
		c.Sleep(0)
		c.Sleep(-time.Hour)
		last := c.Now()
		for range 1000 {
			now := c.Now()
			require.False(t, now.Before(last), "time does not go back")
			last = now
		}
	})},
	{"sleepers", alone(func(t *testing.T, h host.Host) {
		done := host.NewWaitGroup(h, "sleepers")
		for i := range 20 {
			done.Go(h, "sleeper", func() {
				start := h.Clock().Now()
				h.Clock().Sleep(time.Duration(i) * 100 * time.Microsecond)
				require.GreaterOrEqual(t, h.Clock().Since(start), time.Duration(i)*100*time.Microsecond)
			})
		}
		done.Wait()
	})},
	{"timer", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		timer := c.Timer(time.Hour)
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		require.False(t, timer.Reset(time.Hour))
		require.True(t, timer.Reset(time.Millisecond), "it was running")
		require.Equal(t, 0, host.Select(h, host.OnTime(timer.C, nil)))
		require.False(t, timer.Stop(), "it has fired")
		require.False(t, timer.Reset(time.Millisecond))
		require.Equal(t, 0, host.Select(h, host.OnTime(timer.C, nil)))
		for _, d := range []time.Duration{0, -time.Hour} {
			require.Equal(t, 0, host.Select(h, host.OnTime(c.Timer(d).C, nil)), "due at once")
		}
	})},
	{"for ever", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		c.Sleep(time.Millisecond)
		timer, reset := c.Timer(math.MaxInt64), c.Timer(time.Hour)
		reset.Reset(math.MaxInt64)
		ctx, cancel := c.WithTimeout(background, math.MaxInt64)
		defer cancel()
		h.Go("sleeper", func() {
			c.Sleep(math.MaxInt64)
			t.Error("it was over")
		})
		moment(h)
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(timer.C, nil), host.OnTime(reset.C, nil), host.OnDone(ctx)))
		require.True(t, timer.Stop())
		require.True(t, reset.Reset(0))
		require.Equal(t, 0, host.Select(h, host.OnTime(reset.C, nil)))
	})},
	{"earlier, from another task", alone(func(t *testing.T, h host.Host) {
		timer := h.Clock().Timer(time.Hour)
		h.Go("resetter", func() {
			moment(h)
			timer.Reset(time.Millisecond)
		})
		require.Equal(t, 0, host.Select(h, host.OnTime(timer.C, nil)))
	})},
	{"after func", alone(func(t *testing.T, h host.Host) {
		c, ran := h.Clock(), host.NewChan[int](h, "ran", host.Unbounded)
		start := c.Now()
		timer := c.AfterFunc(2*time.Millisecond, func() {
			require.GreaterOrEqual(t, c.Since(start), 2*time.Millisecond)
			c.Sleep(time.Millisecond) // it is a task: it may wait
			ran.Send(1)
		})
		ran.Recv()
		require.False(t, timer.Stop())
		require.False(t, timer.Reset(time.Millisecond))
		ran.Recv()
		require.False(t, timer.Reset(time.Hour))
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		moment(h)
		require.Zero(t, ran.Len())
	})},
	{"ticker", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		require.Panics(t, func() { c.Ticker(0) })
		start := c.Now()
		ticker := c.Ticker(3 * time.Millisecond)
		require.Equal(t, 0, host.Select(h, host.OnTime(ticker.C, nil)))
		require.GreaterOrEqual(t, c.Since(start), 3*time.Millisecond)
		ticker.Reset(time.Hour)
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(ticker.C, nil)))
		ticker.Reset(time.Millisecond)
		for range 3 {
			require.Equal(t, 0, host.Select(h, host.OnTime(ticker.C, nil)))
		}
		ticker.Stop()
		require.Equal(t, 0, host.Select(h, host.OnTime(c.Tick(time.Millisecond), nil)))
	})},
}
