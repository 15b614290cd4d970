package protocol_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/host"
)

var background = context.Background()

// connected runs both ends of a connection, on two machines.
func connected(t testing.TB, seed uint64, controller, replica protocol.BuildInfo, serve func(*sim.World, *protocol.Conn, error), dial func(*sim.World, *protocol.Conn, error)) {
	w := sim.New(sim.Config{Seed: seed, Buggify: true, MaxTime: time.Hour})
	defer w.Close()
	served := false
	w.NewNode("replica", func(h host.Host) {
		l, err := h.Net().Listen("compute")
		require.NoError(t, err)
		raw, err := l.Accept(background)
		require.NoError(t, err)
		conn, err := protocol.Accept(background, h, raw, replica, protocol.ConnConfig{})
		serve(w, conn, err)
		served = true
	})
	w.NewNode("controller", func(h host.Host) {
		conn, err := protocol.Dial(background, h, "replica:compute", controller, protocol.ConnConfig{})
		dial(w, conn, err)
		for !served {
			h.Clock().Sleep(time.Millisecond)
		}
		w.Stop()
	})
	w.Go("test", func() { w.Sleep(time.Minute) })
	require.NoError(t, w.Run())
	require.True(t, served)
}

var v1 = protocol.BuildInfo{Version: "1"}

func TestConversation(t *testing.T) {
	long := protocol.PeekResponse{ID: "p", Error: strings.Repeat("long ", 30_000)}
	for seed := range uint64(8) { // some with tiny frames
		connected(t, seed, v1, v1, func(_ *sim.World, conn *protocol.Conn, err error) {
			require.NoError(t, err)
			for i := range 3 {
				cmd, err := conn.RecvCommand(background)
				require.NoError(t, err)
				require.Equal(t, protocol.Schedule{ID: protocol.GlobalID(i)}, cmd)
			}
			require.NoError(t, conn.SendResponse(background, long))
			conn.Close()
		}, func(w *sim.World, conn *protocol.Conn, err error) {
			require.NoError(t, err)
			w.Sleep(20 * time.Second) // longer than silence is borne
			for i := range 3 {
				require.NoError(t, conn.SendCommand(background, protocol.Schedule{ID: protocol.GlobalID(i)}))
			}
			r, err := conn.RecvResponse(background)
			require.NoError(t, err)
			require.Equal(t, long, r)
			_, err = conn.RecvResponse(background)
			require.ErrorIs(t, err, io.EOF)
			conn.Close()
		})
	}
}

func TestVersionsMustMatch(t *testing.T) {
	want := &protocol.VersionMismatch{Controller: "2", Replica: "1"}
	check := func(_ *sim.World, conn *protocol.Conn, err error) {
		require.Nil(t, conn)
		require.Equal(t, want, err)
	}
	connected(t, 1, protocol.BuildInfo{Version: "2"}, v1, check, check)
	require.ErrorContains(t, want, "deploy the same version")
}

func TestStaleEpochIsRefused(t *testing.T) {
	stale := &protocol.StaleEpoch{Epoch: protocol.Epoch{Controller: 1, Replica: 2}, Seen: protocol.Epoch{Controller: 2, Replica: 1}}
	connected(t, 1, v1, v1, func(_ *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		conn.Refuse(background, stale)
		conn.Close()
	}, func(_ *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		_, err = conn.RecvResponse(background)
		require.Equal(t, stale, err)
		conn.Close()
	})
}

func TestBrokenMessageIsLost(t *testing.T) {
	long := protocol.PeekResponse{ID: "p", Error: strings.Repeat("long ", 100_000)}
	connected(t, 1, v1, v1, func(w *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		for range 1000 {
			if conn.SendResponse(background, long) != nil {
				break
			}
		}
		conn.Close()
	}, func(w *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		_, err = conn.RecvResponse(background)
		require.NoError(t, err)
		w.ResetConns("controller", "replica")
		for err == nil {
			var r protocol.Response
			if r, err = conn.RecvResponse(background); err == nil {
				require.Equal(t, long, r, "a message comes whole or not at all")
			}
		}
		require.ErrorIs(t, err, host.ErrReset)
		conn.Close()
	})
}

func TestSilentPeerIsGivenUp(t *testing.T) {
	connected(t, 1, v1, v1, func(_ *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		conn.Close()
	}, func(w *sim.World, conn *protocol.Conn, err error) {
		require.NoError(t, err)
		_, err = conn.RecvResponse(background)
		require.ErrorIs(t, err, io.EOF)
		conn.Close()
	})
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	node := w.NewNode("replica", func(h host.Host) {
		l, err := h.Net().Listen("compute")
		require.NoError(t, err)
		raw, err := l.Accept(background)
		require.NoError(t, err)
		_, err = protocol.Accept(background, h, raw, v1, protocol.ConnConfig{})
		require.NoError(t, err)
	})
	w.Go("test", func() {
		conn, err := protocol.Dial(background, w.Host(), "replica:compute", v1, protocol.ConnConfig{})
		require.NoError(t, err)
		node.Pause()
		_, err = conn.RecvResponse(background)
		require.ErrorIs(t, err, protocol.ErrSilent)
		conn.Close()
	})
	require.NoError(t, w.Run())
}
