package boltstore_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/boltstore"
	"github.com/simrun-dev/simrun/system/persist/persisttest"
	"github.com/simrun-dev/simrun/system/rpc"
)

func newHost(t testing.TB, name string, book *real.Book) *real.Host {
	h, err := real.New(real.Config{
		Name: name, Dir: t.TempDir(), Listen: "127.0.0.1:0", Peers: book, Timeout: time.Hour,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	book.Set(name, h.Addr())
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func openStore(t testing.TB, path string) *boltstore.Store {
	s, err := boltstore.Open(path, boltstore.Options{})
	require.NoError(t, err)
	return s
}

// embedded makes benches whose store is in the caller's own process. Closing it does not wait for a good
// moment: callers that are under way are answered, later ones refused.
func embedded(t testing.TB, body func(persisttest.Bench[persist.Consensus])) {
	path := filepath.Join(t.TempDir(), "consensus.db")
	s := openStore(t, path)
	body(persisttest.Bench[persist.Consensus]{
		Host:   newHost(t, "caller", real.NewBook(nil)),
		Client: func() persist.Consensus { return s },
		Reopen: func() {
			require.NoError(t, s.Close())
			s = openStore(t, path)
		},
	})
	require.NoError(t, s.Close())
}

// served makes benches whose store is served by another machine through TCP.
func served(t testing.TB, body func(persisttest.Bench[persist.Consensus])) {
	path := filepath.Join(t.TempDir(), "consensus.db")
	book := real.NewBook(nil)
	server, caller := newHost(t, "server", book), newHost(t, "caller", book)
	s := openStore(t, path)
	service := rpc.NewService()
	persist.HandleConsensus(service, s)
	started := make(chan error, 1)
	server.Go("serve", func() {
		_, err := rpc.Serve(server, "consensus", service, rpc.ServerOptions{})
		started <- err
	})
	require.NoError(t, <-started)
	body(persisttest.Bench[persist.Consensus]{
		Host: caller,
		Client: func() persist.Consensus {
			return persist.NewConsensusClient(caller, host.JoinAddr("server", "consensus"))
		},
	})
	require.NoError(t, server.Close()) // before the store that its tasks use
	require.NoError(t, s.Close())
}

func TestConformance(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { persisttest.RunConsensus(t, embedded) })
	t.Run("served", func(t *testing.T) { persisttest.RunConsensus(t, served) })
}

func BenchmarkConsensus(b *testing.B) { persisttest.BenchmarkConsensus(b, embedded) }
