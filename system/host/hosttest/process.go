package hosttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var processTests = []test{
	{"names", func(t *testing.T, c Cluster) {
		names := map[string]bool{}
		for i := range Machines {
			name := c.Host(i).Name()
			require.NotEmpty(t, name)
			require.NotContains(t, name, ":")
			names[name] = true
			c.Start(i, "task", func(h host.Host) { require.Equal(t, name, h.Name()) })()
		}
		require.Len(t, names, Machines)
	}},
	{"tasks", alone(func(t *testing.T, h host.Host) {
		ran := host.NewChan[int](h, "ran", host.Unbounded)
		var split func(n int)
		split = func(n int) {
			if n == 0 {
				ran.Send(1)
				return
			}
			h.Go("half", func() { split(n - 1) })
			h.Go("half", func() { split(n - 1) })
		}
		split(7)
		for range 128 {
			ran.Recv()
		}
		moment(h)
		require.Zero(t, ran.Len())
	})},
	{"lives", func(t *testing.T, c Cluster) {
		lives := map[uint64]bool{}
		drawn := map[uint64]bool{}
		for life := range 3 {
			h := c.Host(0)
			c.Start(0, "task", func(h host.Host) {
				n := h.Incarnation()
				require.NotZero(t, n)
				require.False(t, lives[n], "each life has a number of its own")
				for before := range lives {
					require.Greater(t, n, before)
				}
				lives[n] = true
				v := h.Rand().Uint64()
				require.False(t, drawn[v], "each life draws its own numbers")
				drawn[v] = true
			})()
			if life == 2 {
				break
			}
			c.Restart(0)
			require.NotEqual(t, h.Incarnation(), c.Host(0).Incarnation())
			h.Go("of the dead", func() { t.Error("a process that has ended runs nothing") })
			h.Logf("nothing")
			h.Note("key", "value")
		}
		require.Equal(t, c.Host(0).Name(), c.Host(0).Name())
	}},
	{"ends with its tasks", func(t *testing.T, c Cluster) {
		never := c.Start(0, "waits for ever", func(h host.Host) {
			host.NewChan[int](h, "never", 0).Recv()
			t.Error("it went on")
		})
		selects := c.Start(0, "selects for ever", func(h host.Host) {
			defer func() { require.Nil(t, recover(), "it is not a panic that ends it") }()
			n := host.NewChan[int](h, "never", 0)
			host.Select(h, n.OnRecv(nil, nil), n.OnSend(1), host.OnTime(h.Clock().After(1<<62), nil))
			t.Error("it went on")
		})
		locks := c.Start(0, "locks for ever", func(h host.Host) {
			m := host.NewMutex(h, "m")
			m.Lock()
			defer m.Unlock()
			m.Lock()
			t.Error("it went on")
		})
		sleeps := c.Start(0, "sleeps for ever", func(h host.Host) {
			h.Clock().Sleep(1 << 62)
			t.Error("it went on")
		})
		c.Start(0, "other", func(h host.Host) { moment(h) })()
		c.Restart(0)
		for _, wait := range []func(){never, selects, locks, sleeps} {
			wait()
		}
	}},
	{"randomness", alone(func(t *testing.T, h host.Host) {
		const tasks, each = 4, 500
		drawn, done := host.NewChan[uint64](h, "drawn", host.Unbounded), host.NewWaitGroup(h, "tasks")
		for range tasks {
			done.Go(h, "task", func() {
				r := h.Rand()
				for range each {
					drawn.Send(r.Uint64())
					require.Less(t, r.IntN(10), 10)
				}
			})
		}
		done.Wait()
		seen, bits := map[uint64]bool{}, 0
		for drawn.Len() > 0 {
			v, _ := drawn.Recv()
			require.False(t, seen[v])
			seen[v] = true
			bits += int(v & 1)
		}
		require.Len(t, seen, tasks*each)
		require.InDelta(t, tasks*each/2, bits, 500)
	})},
	{"checks and notes", alone(func(t *testing.T, h host.Host) {
		h.Always("hosttest: one is one", true, "never shown")
		h.Sometimes("hosttest: rare", false)
		h.Sometimes("hosttest: common", true)
		h.Reachable("hosttest: here")
		require.Contains(t, []bool{true, false}, h.Buggify("hosttest: site"))
		h.Logf("a line with %d", 1)
		h.Note("hosttest.key", "value")
	})},
}
