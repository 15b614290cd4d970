package coord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/coord/coordtest"
)

func TestConformanceInMemory(t *testing.T) {
	coordtest.Run(t, func(t *testing.T, body func(coordtest.Env)) {
		inWorld(t, 4, func(w *sim.World) {
			s := coord.NewMemory(w.Host(), coord.StoreConfig{})
			body(coordtest.Env{T: t, Host: w.Host(), Open: func() coord.Client { return s }})
			require.NoError(t, s.Close())
		})
	})
}

func TestConformanceOnDisk(t *testing.T) {
	coordtest.Run(t, func(t *testing.T, body func(coordtest.Env)) {
		inWorld(t, 4, func(w *sim.World) {
			s, err := coord.Open(w.Host(), "", coord.StoreConfig{RewriteAt: 200})
			require.NoError(t, err)
			body(coordtest.Env{T: t, Host: w.Host(), Open: func() coord.Client { return s }})
			require.NoError(t, s.Close())
		})
	})
}

func TestConformanceServed(t *testing.T) {
	for _, cfg := range []coord.StoreConfig{{}, {RewriteAt: 300}} {
		coordtest.Run(t, func(t *testing.T, body func(coordtest.Env)) {
			inWorld(t, 4, func(w *sim.World) {
				n, open := served(w, cfg)
				body(coordtest.Env{
					T: t, Host: w.Host(), Open: func() coord.Client { return open(w.Host()) },
					Restart: func() {
						if w.NewStream("test", "restart").N(2) == 0 {
							n.PowerOff()
						} else {
							n.Crash()
						}
						w.Sleep(time.Millisecond)
						n.Restart()
					},
				})
			})
		})
	}
}
