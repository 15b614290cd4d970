package real_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
)

func newHost(t testing.TB, change func(*real.Config)) *real.Host {
	cfg := real.Config{Name: "a", Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	h, err := real.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func TestConfig(t *testing.T) {
	for _, cfg := range []real.Config{
		{Dir: t.TempDir()},
		{Name: "a:b", Dir: t.TempDir()},
		{Name: "a"},
		{Name: "a", Dir: t.TempDir(), Listen: "nonsense"},
	} {
		_, err := real.New(cfg)
		require.ErrorIs(t, err, real.ErrConfig)
	}
	for _, listen := range []string{"nonsense", "127.0.0.1:99999", "127.0.0.1"} {
		_, err := real.New(real.Config{Name: "a", Dir: t.TempDir(), Listen: listen})
		require.ErrorContains(t, err, listen)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := real.New(real.Config{Name: "a", Dir: file})
	require.Error(t, err)
}

func TestADirectoryHasOneLife(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, func(c *real.Config) { c.Dir = dir })
	require.EqualValues(t, 1, h.Incarnation())
	_, err := real.New(real.Config{Name: "b", Dir: dir})
	require.ErrorIs(t, err, real.ErrInUse)
	require.ErrorContains(t, err, dir)
	require.NoError(t, h.Close())
	for life := uint64(2); life <= 3; life++ {
		h = newHost(t, func(c *real.Config) { c.Dir = dir })
		require.Equal(t, life, h.Incarnation())
		require.NoError(t, h.Close())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "life"), []byte("many\n"), 0o600))
	_, err = real.New(real.Config{Name: "a", Dir: dir})
	require.ErrorContains(t, err, "write into it the number of the last life")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "life"), []byte("41\n"), 0o600))
	require.EqualValues(t, 42, newHost(t, func(c *real.Config) { c.Dir = dir }).Incarnation())
}

func TestAddressInUse(t *testing.T) {
	h := newHost(t, nil)
	dir := t.TempDir()
	_, err := real.New(real.Config{Name: "b", Dir: dir, Listen: h.Addr()})
	require.ErrorContains(t, err, h.Addr())
	newHost(t, func(c *real.Config) { c.Dir = dir }) // what failed has let go of its directory
}

// A host that is closed leaves nothing behind.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		c := newCluster(t, 2)
		ctx := context.Background()
		l, err := c.hosts[0].Net().Listen("port")
		require.NoError(t, err)
		for _, h := range c.hosts {
			h.Go("waits", func() { host.NewChan[int](h, "never", 0).Recv() })
			h.Go("sleeps", func() { h.Clock().Sleep(time.Hour) })
			h.Clock().AfterFunc(time.Hour, func() { t.Error("it ran") })
			h.Go("connects", func() {
				conn, err := h.Net().Dial(ctx, "machine0:port")
				if err == nil {
					_, _ = conn.Recv(ctx)
				}
				host.NewChan[int](h, "never", 0).Recv() // what its peer's end may have spared it
				t.Error("it went on")
			})
		}
		for range c.hosts {
			_, err := l.Accept(ctx)
			require.NoError(t, err)
		}
		for _, h := range c.hosts {
			require.NoError(t, h.Close())
			require.NoError(t, h.Close(), "it may be closed again")
		}
	}
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestDeferredCallsOfTheDeadHaveNoEffect(t *testing.T) {
	h := newHost(t, nil)
	f, err := h.Disk().Open("f", host.Create)
	require.NoError(t, err)
	started, others := make(chan struct{}), host.NewChan[int](h, "others", host.Unbounded)
	ran := 0
	h.Go("dying", func() {
		for _, effect := range []func(){
			func() { _, _ = f.WriteAt([]byte("x"), 0) },
			func() { _ = h.Disk().Remove("f") },
			func() { h.Go("zombie", func() { t.Error("a task of the dead ran") }) },
			func() { others.Send(1) },
			func() { others.Close() },
			func() { _, _ = h.Net().Listen("port") },
			func() { h.Unreachable("dead code", "ran") },
			func() { h.Clock().Sleep(time.Hour) },
			func() { panic("of the dead is not the program's") },
		} {
			defer func() {
				ran++
				effect()
				t.Error("a call of the dead returned")
			}()
		}
		close(started)
		h.Clock().Sleep(time.Hour)
	})
	<-started
	require.NoError(t, h.Close())
	require.Equal(t, 9, ran, "deferred calls run")
	require.Zero(t, others.Len())
	require.False(t, others.Closed())
	require.Empty(t, h.Tallies())
	// Who is not a task is answered.
	_, err = h.Net().Listen("port")
	require.ErrorIs(t, err, host.ErrClosed)
	_, err = h.Net().OpenSocket("port")
	require.ErrorIs(t, err, host.ErrClosed)
	_, err = h.Net().Dial(context.Background(), "a:port")
	require.ErrorIs(t, err, host.ErrClosed)
	_, err = h.Disk().Open("f", host.Create)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = f.Size()
	require.ErrorIs(t, err, os.ErrClosed)
}

// Goroutines that are no tasks may use a host. Close can't end them: who waits for the network is
// told, and who waits for what can't tell learns it the hard way.
func TestForeignGoroutines(t *testing.T) {
	h := newHost(t, nil)
	l, err := h.Net().Listen("port")
	require.NoError(t, err)
	var waiting, done sync.WaitGroup
	waiting.Add(2)
	done.Go(func() {
		waiting.Done()
		_, err := l.Accept(context.Background())
		require.ErrorIs(t, err, host.ErrClosed)
	})
	done.Go(func() {
		defer func() {
			require.Contains(t, recover(), `host "a" was closed while a goroutine waited to receive never that is not one of its tasks`)
		}()
		c := host.NewChan[int](h, "never", 0)
		waiting.Done()
		c.Recv()
	})
	waiting.Wait()
	require.NoError(t, h.Close())
	done.Wait()
}

// TestMain is the program of TestPanicEndsTheProgram, if asked to be.
func TestMain(m *testing.M) {
	dir := os.Getenv("REAL_TEST_PANIC_IN")
	if dir == "" {
		os.Exit(m.Run())
	}
	h, err := real.New(real.Config{Name: "a", Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		panic(err)
	}
	h.Go("bystander", func() { h.Clock().Sleep(time.Hour) })
	h.Go("the guilty one", func() { panic("what went wrong") })
	h.Clock().Sleep(time.Hour)
}

func TestPanicEndsTheProgram(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REAL_TEST_PANIC_IN="+t.TempDir())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Contains(t, string(out), `a task panicked`)
	require.Contains(t, string(out), `task="the guilty one"`)
	require.Contains(t, string(out), "panic: what went wrong")
	require.Contains(t, string(out), "real_test.TestMain.func2", "the log has the stack")
}

func TestChecks(t *testing.T) {
	var log bytes.Buffer
	var violations []real.Violation
	h := newHost(t, func(c *real.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.OnViolation = func(v real.Violation) { violations = append(violations, v) }
	})
	for i := range 3 {
		h.Always("small", i < 2, "%d is not small", i)
		h.Sometimes("one", i == 1)
	}
	h.Reachable("here")
	h.Unreachable("there", "but was: %d", 7)
	require.False(t, h.Buggify("anything"))
	want := []real.Violation{{"always", "small", "2 is not small"}, {"unreachable", "there", "but was: 7"}}
	require.Equal(t, want, violations)
	require.Equal(t, "always/small: 2 is not small", violations[0].Error())
	require.Equal(t, []real.Tally{
		{"always", "small", 3, 2}, {"sometimes", "here", 1, 1}, {"sometimes", "one", 3, 1}, {"unreachable", "there", 1, 0},
	}, h.Tallies())
	require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"))
	require.Contains(t, log.String(), `host=a life=1 check=always name=small message="2 is not small"`)

	var counting sync.WaitGroup
	for range 4 {
		counting.Go(func() {
			for range 1000 {
				h.Sometimes("often", true)
			}
		})
	}
	counting.Wait()
	require.Contains(t, h.Tallies(), real.Tally{Check: "sometimes", Name: "often", Met: 4000, Held: 4000})
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, func(c *real.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	h.Logf("%d apples", 3)
	h.Note("upper", "17")
	require.Contains(t, log.String(), `level=INFO msg="3 apples" host=a life=1`)
	require.Contains(t, log.String(), "level=DEBUG msg=note host=a life=1 key=upper value=17")
}

func TestSeededRandomness(t *testing.T) {
	draw := func(seed *uint64, dir string) [3]uint64 {
		h := newHost(t, func(c *real.Config) { c.Seed, c.Dir = seed, dir })
		defer h.Close()
		return [3]uint64{h.Rand().Uint64(), h.Rand().Uint64(), h.Rand().Uint64()}
	}
	one, two, dir := uint64(1), uint64(2), t.TempDir()
	first := draw(&one, dir)
	require.Equal(t, first, draw(&one, t.TempDir()), "the same seed, name and life")
	require.NotEqual(t, first, draw(&one, dir), "another life")
	require.NotEqual(t, first, draw(&two, t.TempDir()), "another seed")
	require.NotEqual(t, draw(nil, t.TempDir()), draw(nil, t.TempDir()))
}
