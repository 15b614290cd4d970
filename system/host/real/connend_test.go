package real

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

// A connection that both ends have closed takes nothing any more, nor does one that was cut.
func TestConnectionsAreForgotten(t *testing.T) {
	book := NewBook(nil)
	start := func(name string) *Host {
		h, err := New(Config{Name: name, Dir: t.TempDir(), Listen: "127.0.0.1:0", Peers: book, Logger: slog.New(slog.DiscardHandler), Timeout: time.Hour})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		book.Set(name, h.Addr())
		return h
	}
	a, b := start("a"), start("b")
	ctx := context.Background()
	l, err := b.Net().Listen("port")
	require.NoError(t, err)
	for n := range 20 {
		c, err := a.Net().Dial(ctx, "b:port")
		require.NoError(t, err)
		d, err := l.Accept(ctx)
		require.NoError(t, err)
		if n%2 == 0 {
			c, d = d, c
		}
		if n%5 == 0 {
			c.(*conn).abort(host.ErrReset)
			_, err = d.Recv(ctx)
			require.ErrorIs(t, err, host.ErrReset)
			continue
		}
		require.NoError(t, c.Close())
		if n%3 == 0 {
			_, err = d.Recv(ctx)
			require.Equal(t, io.EOF, err)
		}
		require.NoError(t, d.Close())
	}
	for _, h := range []*Host{a, b} {
		left := func() int {
			h.net.mu.Lock()
			defer h.net.mu.Unlock()
			return len(h.net.conns) + len(h.net.opening)
		}
		for range 10_000 {
			if left() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		require.Zero(t, left())
	}
}
