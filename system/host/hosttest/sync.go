package hosttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

var syncTests = []test{
	{"mutex", alone(func(t *testing.T, h host.Host) {
		const tasks, each = 5, 50
		m, done := host.NewMutex(h, "m"), host.NewWaitGroup(h, "lockers")
		inside, count := 0, 0
		for range tasks {
			done.Go(h, "locker", func() {
				for n := range each {
					m.Lock()
					inside++
					require.Equal(t, 1, inside)
					if n%10 == 0 {
						h.Clock().Sleep(1) // it may be held while waiting
					}
					count++
					inside--
					m.Unlock()
				}
			})
		}
		done.Wait()
		require.Equal(t, tasks*each, count)
	})},
	{"try lock", alone(func(t *testing.T, h host.Host) {
		m := host.NewMutex(h, "m")
		require.True(t, m.TryLock())
		require.False(t, m.TryLock())
		locked := host.NewChan[bool](h, "locked", 1)
		h.Go("locker", func() {
			m.Lock()
			locked.Send(true)
		})
		moment(h)
		require.Zero(t, locked.Len())
		m.Unlock()
		locked.Recv()
		require.False(t, m.TryLock(), "it was handed over")
		m.Unlock()
		require.PanicsWithValue(t, "host: unlock of unlocked mutex m", m.Unlock)
		require.True(t, m.TryLock())
	})},
	{"wait group", alone(func(t *testing.T, h host.Host) {
		g, waited := host.NewWaitGroup(h, "g"), host.NewWaitGroup(h, "waited")
		g.Wait()      // for nobody
		for range 3 { // it is used again
			release, results := host.NewChan[bool](h, "release", 0), make([]int, 10)
			for i := range results {
				g.Go(h, "member", func() {
					release.Recv()
					results[i] = i
				})
			}
			for range 3 {
				waited.Go(h, "waiter", func() {
					g.Wait()
					for i, v := range results {
						require.Equal(t, i, v)
					}
				})
			}
			release.Close()
			waited.Wait()
		}
		g.Add(2)
		g.Done()
		g.Add(-1)
		g.Wait()
		require.PanicsWithValue(t, "host: negative WaitGroup count g", g.Done)
	})},
}
