package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

const (
	methodDouble rpc.Method[int, int]         = "test/double"
	methodSleep  rpc.Method[int, int]         = "test/sleep" // ms
	methodFail   rpc.Method[string, struct{}] = "test/fail"
	methodCount  rpc.Method[struct{}, int]    = "test/count"
	methodNone   rpc.Method[int, int]         = "test/none"
)

var errTeapot = &rpc.Error{Code: "test/teapot", Message: "I'm a teapot"}

// server is the process of a node that serves the methods above.
type server struct {
	opts     rpc.ServerOptions
	executed int // calls of methodCount, over all lives
	running  int
	most     int // calls of methodSleep executed at the same time
}

func (s *server) boot(h host.Host) {
	service := rpc.NewService()
	methodDouble.Handle(service, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	methodSleep.Handle(service, func(_ context.Context, ms int) (int, error) {
		s.running++
		s.most = max(s.most, s.running)
		h.Clock().Sleep(time.Duration(ms) * time.Millisecond)
		s.running--
		return ms, nil
	})
	methodFail.Handle(service, func(_ context.Context, how string) (struct{}, error) {
		switch how {
		case "coded":
			return struct{}{}, errTeapot
		case "wrapped":
			return struct{}{}, fmt.Errorf("in the kitchen: %w", errTeapot)
		}
		return struct{}{}, errors.New(how)
	})
	methodCount.Handle(service, func(context.Context, struct{}) (int, error) {
		s.executed++
		return s.executed, nil
	})
	if _, err := rpc.Serve(h, "test", service, s.opts); err != nil {
		panic(err)
	}
}

// inWorld runs body in a world with a server on the node "server".
func inWorld(t *testing.T, s *server, body func(w *sim.World, node *sim.Node, c *rpc.Client)) {
	for seed := range uint64(5) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour})
		defer w.Close()
		*s = server{opts: s.opts}
		node := w.NewNode("server", s.boot)
		w.Go("test", func() {
			defer w.Stop() // the client's connection would go on
			w.Sleep(time.Millisecond)
			body(w, node, rpc.NewClient(w.Host(), "server:test", rpc.ClientOptions{}))
		})
		require.NoError(t, w.Run(), "seed %d", seed)
	}
}

func TestAnswersAndErrors(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, _ *sim.Node, c *rpc.Client) {
		ctx := context.Background()
		n, err := methodDouble.Call(ctx, c, 21)
		require.NoError(t, err)
		require.Equal(t, 42, n)

		var coded *rpc.Error
		_, err = methodFail.Call(ctx, c, "coded")
		require.ErrorIs(t, err, errTeapot)
		require.ErrorAs(t, err, &coded)
		require.Equal(t, errTeapot.Message, coded.Message)

		_, err = methodFail.Call(ctx, c, "wrapped")
		require.ErrorIs(t, err, errTeapot)
		require.ErrorContains(t, err, "in the kitchen")

		_, err = methodFail.Call(ctx, c, "plain")
		require.ErrorIs(t, err, &rpc.Error{Code: rpc.CodeInternal})
		require.ErrorContains(t, err, "plain")

		_, err = methodNone.Call(ctx, c, 1)
		require.ErrorIs(t, err, &rpc.Error{Code: rpc.CodeNoMethod})

		_, err = rpc.Method[string, int](methodDouble).Call(ctx, c, "no number")
		require.ErrorIs(t, err, &rpc.Error{Code: rpc.CodeBadRequest})

		for _, err := range []error{err, errTeapot} {
			require.NotErrorIs(t, err, rpc.ErrNotSent)
			require.NotErrorIs(t, err, rpc.ErrUnknown)
		}
	})
}

func TestCallsShareAConnectionOutOfOrder(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, _ *sim.Node, c *rpc.Client) {
		var order []int
		calls := host.NewWaitGroup(w.Host(), "calls")
		for _, ms := range []int{300, 100, 200} {
			calls.Go(w.Host(), "call", func() {
				got, err := methodSleep.Call(context.Background(), c, ms)
				require.NoError(t, err)
				require.Equal(t, ms, got)
				order = append(order, ms)
			})
		}
		calls.Wait()
		require.Equal(t, []int{100, 200, 300}, order)
		require.Equal(t, 1, w.ResetConns("simrun", "server"), "one connection for all")
	})
}

// What a call waits with is used again by later ones. An answer that comes at the very instant at which its
// call is given up is not theirs.
func TestLateAnswersAreNobodys(t *testing.T) {
	answered, late := 0, 0
	for seed := range uint64(5) {
		w := sim.New(sim.Config{Seed: seed, Net: sim.NetConfig{Latency: sim.Fixed(time.Millisecond)}})
		defer w.Close()
		w.NewNode("server", (&server{}).boot)
		w.Go("test", func() {
			defer w.Stop()
			w.Sleep(time.Millisecond)
			c, clock := rpc.NewClient(w.Host(), "server:test", rpc.ClientOptions{}), w.Host().Clock()
			call := func(timeout time.Duration, n int) error {
				ctx, cancel := clock.WithTimeout(context.Background(), timeout)
				defer cancel()
				got, err := methodDouble.Call(ctx, c, n)
				if err == nil {
					require.Equal(t, 2*n, got)
				}
				return err
			}
			require.NoError(t, call(time.Minute, 0)) // dials
			began := clock.Now()
			require.NoError(t, call(time.Minute, 1))
			roundTrip := clock.Since(began)
			for n := range 200 {
				if err := call(roundTrip, n); err == nil {
					answered++
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
					late++
				}
				require.NoError(t, call(time.Minute, -n))
			}
		})
		require.NoError(t, w.Run())
	}
	require.NotZero(t, answered)
	require.NotZero(t, late)
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	s := &server{opts: rpc.ServerOptions{MaxInFlight: 3}}
	inWorld(t, s, func(w *sim.World, _ *sim.Node, c *rpc.Client) {
		calls := host.NewWaitGroup(w.Host(), "calls")
		for range 10 {
			calls.Go(w.Host(), "call", func() {
				_, err := methodSleep.Call(context.Background(), c, 50)
				require.NoError(t, err)
			})
		}
		calls.Wait()
		require.Equal(t, 3, s.most)
	})
}

func TestNotSent(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, node *sim.Node, c *rpc.Client) {
		h, ctx := w.Host(), context.Background()
		_, err := methodDouble.Call(ctx, rpc.NewClient(h, "server:nothing", rpc.ClientOptions{}), 1)
		require.ErrorIs(t, err, rpc.ErrNotSent)
		require.ErrorIs(t, err, host.ErrRefused)

		_, err = methodDouble.Call(ctx, rpc.NewClient(h, "nowhere:test", rpc.ClientOptions{}), 1)
		require.ErrorIs(t, err, rpc.ErrNotSent)
		require.ErrorIs(t, err, host.ErrNoHost)

		// Nothing comes through: the dial runs out of time before the call does.
		heal := w.AddRule(sim.Rule{To: []string{"server"}, Drop: true})
		_, err = methodDouble.Call(ctx, c, 1)
		require.ErrorIs(t, err, rpc.ErrNotSent)

		// Or the caller's patience does, which leaves the dial to the next call.
		short, cancel := h.Clock().WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err = methodDouble.Call(short, c, 1)
		require.ErrorIs(t, err, rpc.ErrNotSent)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		heal()
		require.Eventually(t, func() bool {
			_, err := methodDouble.Call(ctx, c, 1)
			require.True(t, err == nil || errors.Is(err, rpc.ErrNotSent), "%v", err)
			return err == nil
		}, time.Minute, time.Nanosecond)
	})
}

func TestServerCrash(t *testing.T) {
	s := &server{}
	inWorld(t, s, func(w *sim.World, node *sim.Node, c *rpc.Client) {
		ctx := context.Background()
		done := host.NewWaitGroup(w.Host(), "calls")
		for range 3 {
			done.Go(w.Host(), "call", func() {
				_, err := methodSleep.Call(ctx, c, 1000)
				require.ErrorIs(t, err, rpc.ErrUnknown)
				require.NotErrorIs(t, err, rpc.ErrNotSent)
				require.ErrorIs(t, err, host.ErrReset)
			})
		}
		w.Sleep(100 * time.Millisecond)
		node.Crash()
		done.Wait()

		_, err := methodDouble.Call(ctx, c, 1)
		require.ErrorIs(t, err, rpc.ErrNotSent, "nobody listens")
		node.Restart()
		w.Sleep(time.Millisecond)
		n, err := methodDouble.Call(ctx, c, 4)
		require.NoError(t, err, "the client dials again")
		require.Equal(t, 8, n)
	})
}

// Whatever the network does, a call that succeeded was executed, one that was not sent was
// not, and the rest at most once.
func TestNoCallIsExecutedTwice(t *testing.T) {
	s := &server{}
	inWorld(t, s, func(w *sim.World, node *sim.Node, c *rpc.Client) {
		defer w.AddRule(sim.Rule{Loss: 100_000, Duplicate: 100_000})()
		ok, unknown := 0, 0
		for i := range 200 {
			if i%40 == 20 {
				node.Crash()
				node.Restart()
			}
			if i%30 == 10 {
				w.ResetConns("simrun", "server")
			}
			if i%50 == 5 {
				_, _ = methodDouble.Call(context.Background(), c, 1) // be connected again
			}
			ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), time.Duration(i%5+1)*time.Millisecond)
			switch _, err := methodCount.Call(ctx, c, struct{}{}); {
			case err == nil:
				ok++
			case errors.Is(err, rpc.ErrUnknown):
				unknown++
			default:
				require.ErrorIs(t, err, rpc.ErrNotSent)
			}
			cancel()
		}
		require.Positive(t, ok)
		require.Positive(t, unknown)
		w.Sleep(10 * time.Second)
		require.GreaterOrEqual(t, s.executed, ok)
		require.LessOrEqual(t, s.executed, ok+unknown)
	})
}

func TestLateAnswerIsDropped(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, _ *sim.Node, c *rpc.Client) {
		ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := methodSleep.Call(ctx, c, 200)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got, err := methodSleep.Call(context.Background(), c, 400)
		require.NoError(t, err)
		require.Equal(t, 400, got)
		require.Equal(t, 1, w.ResetConns("simrun", "server"), "the caller's impatience is no reason to reconnect")
	})
}

func TestSilentConnectionIsGivenUp(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, node *sim.Node, c *rpc.Client) {
		_, err := methodDouble.Call(context.Background(), c, 1)
		require.NoError(t, err)
		node.Pause()
		_, err = methodDouble.Call(context.Background(), c, 1)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		require.ErrorContains(t, err, "CallTimeout")
		node.Resume()
		_, err = methodDouble.Call(context.Background(), c, 1)
		require.NoError(t, err)
		require.Positive(t, w.Sometimes()["rpc: a silent connection was given up"])
	})
}

func TestClosedClient(t *testing.T) {
	inWorld(t, &server{}, func(w *sim.World, node *sim.Node, c *rpc.Client) {
		w.Host().Go("close", func() {
			w.Sleep(50 * time.Millisecond)
			c.Close()
		})
		_, err := methodSleep.Call(context.Background(), c, 1000)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		_, err = methodDouble.Call(context.Background(), c, 1)
		require.ErrorIs(t, err, rpc.ErrNotSent)
	})
}

func TestClosedServerAnswersNoMore(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	w.Go("test", func() {
		service := rpc.NewService()
		cancelled := false
		methodSleep.Handle(service, func(ctx context.Context, _ int) (int, error) {
			host.Select(w.Host(), host.OnDone(ctx))
			cancelled = true
			return 0, ctx.Err()
		})
		s, err := rpc.Serve(w.Host(), "test", service, rpc.ServerOptions{})
		require.NoError(t, err)
		_, err = rpc.Serve(w.Host(), "test", service, rpc.ServerOptions{})
		require.ErrorIs(t, err, host.ErrInUse)
		w.Host().Go("close", func() {
			w.Sleep(50 * time.Millisecond)
			s.Close()
		})
		c := rpc.NewClient(w.Host(), "simrun:test", rpc.ClientOptions{})
		_, err = methodSleep.Call(context.Background(), c, 0)
		require.ErrorIs(t, err, rpc.ErrUnknown)
		s.Wait()
		require.True(t, cancelled, "the handler lost its context")
		_, err = methodSleep.Call(context.Background(), c, 0)
		require.ErrorIs(t, err, rpc.ErrNotSent)
	})
	require.NoError(t, w.Run())
}

func TestMethodHandledTwice(t *testing.T) {
	s := rpc.NewService()
	double := func(_ context.Context, n int) (int, error) { return 2 * n, nil }
	methodDouble.Handle(s, double)
	require.Panics(t, func() { methodDouble.Handle(s, double) })
}
