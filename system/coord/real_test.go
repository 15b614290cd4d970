package coord_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/coord/coordtest"
	"github.com/simrun-dev/simrun/system/host/real"
)

// The same suite over TCP, files and the real clock.
func TestConformanceOnRealHosts(t *testing.T) {
	coordtest.Run(t, func(t *testing.T, body func(coordtest.Env)) {
		book := real.NewBook(nil)
		dirs := map[string]string{"server": t.TempDir(), "client": t.TempDir()}
		boot := func(name string) *real.Host {
			h, err := real.New(real.Config{
				Name: name, Dir: dirs[name], Listen: "127.0.0.1:0", Peers: book,
				Logger: slog.New(slog.DiscardHandler), Timeout: time.Hour,
				OnViolation: func(v real.Violation) { panic(fmt.Sprintf("%+v", v)) },
			})
			require.NoError(t, err)
			book.Set(name, h.Addr())
			return h
		}
		serve := func(h *real.Host) {
			started := make(chan error)
			h.Go("serve", func() {
				_, _, err := coord.Serve(h, "coord", coord.StoreConfig{})
				started <- err
			})
			require.NoError(t, <-started)
		}
		server, client := boot("server"), boot("client")
		serve(server)
		ended := make(chan struct{})
		client.Go("test", func() {
			defer close(ended)
			body(coordtest.Env{
				T: t, Host: client, Open: func() coord.Client { return coord.Dial(client, "server:coord") },
				Restart: func() {
					require.NoError(t, server.Close())
					server = boot("server")
					serve(server)
				},
			})
		})
		<-ended
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
	})
}
