package hosttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var timeCaseTests = []test{
	{"timer", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		never := host.NewChan[int](h, "never", 0)
		timer := c.Timer(2 * time.Millisecond)
		start := c.Now()
		var at time.Time
		require.Equal(t, 1, host.Select(h, never.OnRecv(nil, nil), host.OnTime(timer.C, &at)))
		require.False(t, at.Before(start), "it brings the time")
		require.False(t, c.Now().Before(at))
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(timer.C, nil)), "it fires once")
		require.Equal(t, 0, host.Select(h, host.OnTime(c.After(time.Millisecond), nil), host.OnTime(nil, nil)))
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(nil, nil)))
	})},
	{"of several the earliest", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		late, later := c.Timer(time.Hour), c.Timer(2*time.Hour)
		defer late.Stop()
		defer later.Stop()
		for range 10 {
			require.Equal(t, 1, host.Select(h, host.OnTime(late.C, nil), host.OnTime(c.After(time.Millisecond), nil), host.OnTime(later.C, nil)))
		}
	})},
	{"fired before", alone(func(t *testing.T, h host.Host) {
		timer := h.Clock().Timer(time.Millisecond)
		h.Clock().Sleep(10 * time.Millisecond)
		require.Equal(t, 0, host.TrySelect(h, host.OnTime(timer.C, nil)))
		timer.Reset(time.Millisecond)
		h.Clock().Sleep(10 * time.Millisecond)
		require.Equal(t, 0, host.Select(h, host.OnTime(timer.C, nil)))
	})},
	{"ticker", alone(func(t *testing.T, h host.Host) {
		ticker := h.Clock().Ticker(time.Millisecond)
		var last time.Time
		for range 10 {
			var at time.Time
			require.Equal(t, 0, host.Select(h, host.OnTime(ticker.C, &at)))
			require.True(t, at.After(last))
			last = at
		}
		ticker.Stop()
		moment(h)
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(ticker.C, nil)), "none comes after Stop")
		ticker.Reset(time.Millisecond)
		require.Equal(t, 0, host.Select(h, host.OnTime(ticker.C, nil)))
		ticker.Stop()
	})},
	{"a slow receiver misses ticks but one", alone(func(t *testing.T, h host.Host) {
		const period = 20 * time.Millisecond
		ticker := h.Clock().Ticker(period)
		defer ticker.Stop()
		h.Clock().Sleep(10*period + period/2)
		start, waiting := h.Clock().Now(), 0
		for host.TrySelect(h, host.OnTime(ticker.C, nil)) == 0 {
			waiting++
		}
		require.GreaterOrEqual(t, waiting, 1)
		require.LessOrEqual(t, waiting, 2+int(h.Clock().Since(start)/period), "of ten, and of those that came since")
	})},
	{"beside other cases", alone(func(t *testing.T, h host.Host) {
		work, done := host.NewChan[int](h, "work", 0), host.NewWaitGroup(h, "worker")
		ctx, cancel := host.WithCancel(h, background)
		done.Go(h, "worker", func() {
			for n := 0; host.Select(h, work.OnSend(n), host.OnDone(ctx)) == 0; n++ {
				h.Clock().Sleep(time.Duration(h.Rand().IntN(100)) * time.Microsecond)
			}
		})
		ticker, timer := h.Clock().Ticker(time.Millisecond), h.Clock().Timer(3*time.Millisecond)
		defer ticker.Stop()
		chosen := [4]int{}
		for n := 0; chosen[0] == 0 || chosen[1] < 10 || chosen[3] < 10; {
			var v int
			i := host.Select(h, host.OnTime(timer.C, nil), host.OnTime(ticker.C, nil), host.OnTime(h.Clock().After(50*time.Microsecond), nil), work.OnRecv(&v, nil))
			chosen[i]++
			if i == 3 {
				require.Equal(t, n, v, "no value is lost to a timer")
				n++
			}
		}
		require.Equal(t, 1, chosen[0])
		cancel()
		done.Wait()
	})},
	// A timer and a message that come at about the same time are both received, whichever comes
	// first.
	{"none is lost", alone(func(t *testing.T, h host.Host) {
		messages, begin := host.NewChan[int](h, "messages", 0), host.NewChan[time.Duration](h, "begin", 0)
		h.Go("sender", func() {
			for n := 0; ; n++ {
				after, ok := begin.Recv()
				if !ok {
					return
				}
				h.Clock().Sleep(after)
				messages.Send(n)
			}
		})
		timer := h.Clock().Timer(time.Hour)
		for n := range 300 {
			begin.Send(time.Duration(h.Rand().IntN(200)) * time.Microsecond)
			timer.Reset(time.Duration(h.Rand().IntN(200)) * time.Microsecond)
			ticks, got := 0, 0
			for ticks == 0 || got == 0 {
				var v int
				if host.Select(h, messages.OnRecv(&v, nil), host.OnTime(timer.C, nil)) == 0 {
					require.Equal(t, n, v)
					got++
				} else {
					ticks++
				}
			}
			require.Equal(t, []int{1, 1}, []int{ticks, got})
			require.False(t, timer.Stop())
		}
		begin.Close()
	})},
	// What has fired, and was not received, is gone when the timer is stopped or set anew, as it is
	// with package time since Go 1.23.
	{"stop and reset drop what was not received", alone(func(t *testing.T, h host.Host) {
		c := h.Clock()
		timer := c.Timer(time.Millisecond)
		c.Sleep(10 * time.Millisecond)
		require.True(t, timer.Reset(time.Hour), "not received is not expired")
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(timer.C, nil)))
		timer.Reset(time.Millisecond)
		c.Sleep(10 * time.Millisecond)
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(timer.C, nil)))
		timer.Reset(time.Millisecond)
		require.Equal(t, 0, host.Select(h, host.OnTime(timer.C, nil)))
		require.False(t, timer.Reset(time.Hour), "received is expired")
		require.True(t, timer.Stop())

		ticker := c.Ticker(time.Millisecond)
		c.Sleep(10 * time.Millisecond)
		ticker.Reset(time.Hour)
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(ticker.C, nil)))
		ticker.Reset(time.Millisecond)
		c.Sleep(10 * time.Millisecond)
		ticker.Stop()
		require.Equal(t, -1, host.TrySelect(h, host.OnTime(ticker.C, nil)))
	})},
	{"several tasks share a ticker", alone(func(t *testing.T, h host.Host) {
		ticker := h.Clock().Ticker(time.Millisecond)
		defer ticker.Stop()
		ticks, done := host.NewChan[time.Time](h, "ticks", host.Unbounded), host.NewWaitGroup(h, "receivers")
		ctx, cancel := host.WithCancel(h, background)
		for range 3 {
			done.Go(h, "receiver", func() {
				var at time.Time
				for host.Select(h, host.OnTime(ticker.C, &at), host.OnDone(ctx)) == 0 {
					ticks.Send(at)
				}
			})
		}
		eventually(t, h, "ticks come", func() bool { return ticks.Len() >= 20 })
		cancel()
		done.Wait()
		seen := map[time.Time]bool{}
		for ticks.Len() > 0 {
			at, _ := ticks.Recv()
			require.False(t, seen[at], "each tick goes to one task")
			seen[at] = true
		}
	})},
}
