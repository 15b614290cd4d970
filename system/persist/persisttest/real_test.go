package persisttest_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/persisttest"
	"github.com/simrun-dev/simrun/system/rpc"
)

// machine is a host of the operating system that can be started again.
type machine struct {
	t   testing.TB
	cfg real.Config
	*real.Host
}

func newMachine(t testing.TB, name string, book *real.Book) *machine {
	m := &machine{t: t, cfg: real.Config{
		Name: name, Dir: t.TempDir(), Listen: "127.0.0.1:0", Peers: book, Timeout: time.Hour,
		Logger: slog.New(slog.DiscardHandler),
	}}
	m.boot(book)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func (m *machine) boot(book *real.Book) {
	h, err := real.New(m.cfg)
	require.NoError(m.t, err)
	m.Host = h
	m.cfg.Listen = h.Addr() // the next life is reached there as well
	book.Set(m.cfg.Name, h.Addr())
}

// run runs fn as a task.
func (m *machine) run(fn func(h host.Host) error) {
	ended, h := make(chan error, 1), m.Host
	h.Go("test", func() { ended <- fn(h) })
	require.NoError(m.t, <-ended)
}

// onMachines makes benches whose store is served by one machine, in its directory, and used by another
// through TCP.
func onMachines[S any](serve func(host.Host, string) (*rpc.Server, error), client func(host.Host, string) S) persisttest.Setup[S] {
	return func(t testing.TB, body func(persisttest.Bench[S])) {
		book := real.NewBook(nil)
		server, caller := newMachine(t, "server", book), newMachine(t, "caller", book)
		start := func() {
			server.run(func(h host.Host) error { _, err := serve(h, "store"); return err })
		}
		restart := func() {
			require.NoError(t, server.Close())
			server.boot(book)
			start()
		}
		start()
		body(persisttest.Bench[S]{
			Host:   caller.Host,
			Client: func() S { return client(caller.Host, "server:store") },
			Reopen: restart, Crash: restart,
		})
	}
}

// embedded makes benches whose store is in the caller's own process.
func embedded[S any](open func(host.Host, string) (S, error)) persisttest.Setup[S] {
	return func(t testing.TB, body func(persisttest.Bench[S])) {
		book := real.NewBook(nil)
		keeper, caller := newMachine(t, "keeper", book), newMachine(t, "caller", book)
		var store S
		start := func() {
			keeper.run(func(h host.Host) (err error) { store, err = open(h, "dir"); return err })
		}
		start()
		body(persisttest.Bench[S]{
			Host:   caller.Host,
			Client: func() S { return store },
			Reopen: func() {
				require.NoError(t, keeper.Close())
				keeper.boot(book)
				start()
			},
		})
	}
}

var (
	realConsensus = map[string]persisttest.Setup[persist.Consensus]{
		"files": embedded(func(h host.Host, dir string) (persist.Consensus, error) { return persist.OpenDiskConsensus(h, dir) }),
		"TCP":   onMachines(serveConsensus, func(h host.Host, addr string) persist.Consensus { return persist.NewConsensusClient(h, addr) }),
	}
	realBlob = map[string]persisttest.Setup[persist.Blob]{
		"files": embedded(func(h host.Host, dir string) (persist.Blob, error) { return persist.OpenDiskBlob(h, dir) }),
		"TCP":   onMachines(persist.ServeBlob, func(h host.Host, addr string) persist.Blob { return persist.NewBlobClient(h, addr) }),
	}
)

func serveConsensus(h host.Host, port string) (*rpc.Server, error) {
	_, server, err := persist.ServeConsensus(h, port)
	return server, err
}

// The stores of package persist keep their promises on the operating system as well.
func TestOnTheOperatingSystem(t *testing.T) {
	for name, setup := range realConsensus {
		t.Run("consensus/"+name, func(t *testing.T) { persisttest.RunConsensus(t, setup) })
	}
	for name, setup := range realBlob {
		t.Run("blob/"+name, func(t *testing.T) { persisttest.RunBlob(t, setup) })
	}
}

func BenchmarkOnTheOperatingSystem(b *testing.B) {
	for name, setup := range realConsensus {
		b.Run(fmt.Sprint("consensus/", name), func(b *testing.B) { persisttest.BenchmarkConsensus(b, setup) })
	}
	for name, setup := range realBlob {
		b.Run(fmt.Sprint("blob/", name), func(b *testing.B) { persisttest.BenchmarkBlob(b, setup) })
	}
}
