package hosttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

type contextKey struct{}

var contextTests = []test{
	{"cancel", alone(func(t *testing.T, h host.Host) {
		ctx, cancel := host.WithCancel(h, background)
		require.NoError(t, ctx.Err())
		_, ok := ctx.Deadline()
		require.False(t, ok)
		cancel()
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		select {
		case <-ctx.Done():
		default:
			t.Fatal("Done is closed at once")
		}
		child, cancelChild := host.WithCancel(h, ctx)
		defer cancelChild()
		require.ErrorIs(t, child.Err(), context.Canceled, "a child of what is done is done")
	})},
	{"timeout", alone(func(t *testing.T, h host.Host) {
		before := h.Clock().Now()
		ctx, cancel := h.Clock().WithTimeout(background, 3*time.Millisecond)
		at, ok := ctx.Deadline()
		require.True(t, ok)
		require.False(t, at.Before(before.Add(3*time.Millisecond)))
		require.Equal(t, 0, host.Select(h, host.OnDone(ctx)))
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.False(t, h.Clock().Now().Before(at), "it is not early")
		cancel()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "the first reason counts")

		ctx, cancel = h.Clock().WithTimeout(background, time.Hour)
		require.NoError(t, ctx.Err())
		cancel()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		for _, past := range []time.Duration{0, -time.Hour} {
			ctx, cancel = h.Clock().WithTimeout(background, past)
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			cancel()
		}
		ctx, cancel = h.Clock().WithDeadline(background, h.Clock().Now().Add(time.Millisecond))
		defer cancel()
		require.Equal(t, 0, host.Select(h, host.OnDone(ctx)))
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	})},
	{"family", alone(func(t *testing.T, h host.Host) {
		parent, cancelParent := host.WithCancel(h, context.WithValue(background, contextKey{}, "v"))
		child, cancelChild := h.Clock().WithTimeout(parent, time.Hour)
		defer cancelChild()
		sibling, cancelSibling := host.WithCancel(h, parent)
		grandchild, cancelGrandchild := host.WithCancel(h, context.WithValue(child, contextKey{}, "w"))
		defer cancelGrandchild()
		require.Equal(t, "v", child.Value(contextKey{}))
		require.Equal(t, "w", grandchild.Value(contextKey{}))
		at, ok := grandchild.Deadline()
		require.True(t, ok)
		longer, cancelLonger := h.Clock().WithDeadline(child, at.Add(time.Hour))
		defer cancelLonger()
		bound, _ := longer.Deadline()
		require.True(t, at.Equal(bound), "a child does not outlast its parent")
		cancelSibling()
		require.ErrorIs(t, sibling.Err(), context.Canceled)
		require.NoError(t, parent.Err())
		require.NoError(t, child.Err())
		h.Go("canceller", func() {
			moment(h)
			cancelParent()
		})
		require.Equal(t, 0, host.Select(h, host.OnDone(grandchild)))
		for _, ctx := range []context.Context{parent, child, grandchild, longer} {
			require.Equal(t, 0, host.Select(h, host.OnDone(ctx))) // one is told before the other
			require.ErrorIs(t, ctx.Err(), context.Canceled)
		}
		outlived, cancelOutlived := h.Clock().WithTimeout(background, time.Millisecond)
		defer cancelOutlived()
		inherits, cancelInherits := host.WithCancel(h, outlived)
		defer cancelInherits()
		require.Equal(t, 0, host.Select(h, host.OnDone(inherits)))
		require.ErrorIs(t, inherits.Err(), context.DeadlineExceeded, "a child ends for its parent's reason")
	})},
	{"children of package context", alone(func(t *testing.T, h host.Host) {
		parent, cancel := host.WithCancel(h, background)
		child, cancelChild := context.WithCancel(parent) //simvet:ignore simcontext it is what is tested, and nobody waits for it
		defer cancelChild()
		require.NoError(t, child.Err())
		cancel()
		require.ErrorIs(t, child.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(child), context.Canceled)
	})},
	{"many wait for one", alone(func(t *testing.T, h host.Host) {
		ctx, cancel := host.WithCancel(h, background)
		done := host.NewWaitGroup(h, "waiting")
		never, full := host.NewChan[int](h, "never", 0), host.NewChan[int](h, "full", 0)
		for range 10 {
			done.Go(h, "waiting", func() {
				_, _, err := never.RecvContext(ctx)
				require.ErrorIs(t, err, context.Canceled)
			})
			done.Go(h, "selecting", func() {
				require.Equal(t, 1, host.Select(h, full.OnSend(1), host.OnDone(ctx)))
			})
		}
		moment(h)
		cancel()
		done.Wait()
		require.False(t, never.TrySend(1))
		_, _, ready := full.TryRecv()
		require.False(t, ready)
	})},
}
