package persisttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Bench is an empty store, and all that a test does to it. S is persist.Consensus or persist.Blob.
type Bench[S any] struct {
	// Host is where the callers' tasks run.
	Host host.Host
	// Client returns the store as one of several callers has it: the store itself, or a client of
	// its own.
	Client func() S
	// Reopen ends the store and opens it again. Nothing is under way then, and clients made
	// before are not used afterwards. Nil where the store does not outlive its process.
	Reopen func()
	// Crash ends the store's process without warning, whatever is under way, and starts the next.
	// Clients made before go on. Nil where that can't be done.
	Crash func()
}

// Setup makes a bench, calls body with it, and takes it down again. Body calls t.FailNow from tasks of
// Host as well as from where it is called.
type Setup[S any] func(t testing.TB, body func(b Bench[S]))

// test is one of a suite.
type test[S any] struct {
	name string
	run  func(t *testing.T, b Bench[S])
}

// RunConsensus runs the suite of persist.Consensus.
func RunConsensus(t *testing.T, setup Setup[persist.Consensus]) { run(t, setup, consensusTests) }

// RunBlob runs the suite of persist.Blob.
func RunBlob(t *testing.T, setup Setup[persist.Blob]) { run(t, setup, blobTests) }

func run[S any](t *testing.T, setup Setup[S], tests []test[S]) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			setup(t, func(b Bench[S]) { test.run(t, b) })
		})
	}
}

var background = context.Background()

// cancelled is a context of the host that has ended.
func cancelled(h host.Host) context.Context {
	ctx, cancel := host.WithCancel(h, background)
	cancel()
	return ctx
}

// together runs fn in several tasks, numbered from 0, and waits for all.
func together(t *testing.T, h host.Host, tasks int, fn func(i int)) {
	group := host.NewWaitGroup(h, "callers")
	for i := range tasks {
		group.Go(h, fmt.Sprint("caller ", i), func() { fn(i) })
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// underCrashes runs callers while the store's process dies a few times, until each has been told to quit.
func underCrashes[S any](t *testing.T, b Bench[S], callers int, fn func(i int, s S, quit func() bool)) {
	const crashes = 6
	quit := host.NewChan[struct{}](b.Host, "quit", 0)
	group := host.NewWaitGroup(b.Host, "callers")
	for i := range callers {
		group.Go(b.Host, fmt.Sprint("caller ", i), func() { fn(i, b.Client(), quit.Closed) })
	}
	r := random(crashes)
	for range crashes {
		b.Host.Clock().Sleep(patience/20 + time.Duration(r.Int64N(int64(patience/20))))
		b.Crash()
	}
	b.Host.Clock().Sleep(patience / 20)
	quit.Close()
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// patience is how long a caller waits for a store that may have crashed.
const patience = time.Second

// pause lets others go on, where nothing else takes time.
func pause(h host.Host, caller int) { h.Clock().Sleep(time.Duration(1+caller) * 10 * time.Microsecond) }

// known is what an error tells of an operation.
type known int

const (
	done known = iota
	notDone
	unknown
)

// classify is what err tells. An operation that was neither refused nor damaged fails in one of two
// ways, and never in both.
func classify(t *testing.T, err error) known {
	switch {
	case err == nil:
		return done
	case errors.Is(err, persist.ErrDeterminate):
		require.NotErrorIs(t, err, persist.ErrIndeterminate)
		return notDone
	}
	require.ErrorIs(t, err, persist.ErrIndeterminate)
	return unknown
}

// impatient calls op with a context that ends at some moment, perhaps before op does.
func impatient(h host.Host, random *rand.Rand, op func(ctx context.Context)) {
	ctx, cancel := h.Clock().WithTimeout(background, time.Duration(random.Int64N(int64(3*time.Millisecond))))
	defer cancel()
	op(ctx)
}

// untilDone repeats an operation that may be repeated, while the store is away.
func untilDone(h host.Host, op func(ctx context.Context) error) error {
	for range 1000 {
		ctx, cancel := h.Clock().WithTimeout(background, 10*time.Second)
		err := op(ctx)
		cancel()
		if err == nil || !errors.Is(err, persist.ErrDeterminate) && !errors.Is(err, persist.ErrIndeterminate) {
			return err
		}
		h.Clock().Sleep(5 * time.Millisecond)
	}
	return errors.New("persisttest: the store does not come back")
}

// random is a source of one task's own: a host's may be shared by tasks, but not by goroutines.
func random(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 17)) }

// bytesOf are n bytes of every value, another sequence for each seed.
func bytesOf(seed, n int) []byte {
	p, r := make([]byte, n), random(seed)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// oddKeys are keys that stores might take for others, or for something else than a key.
var oddKeys = []string{
	"", " ", ".", "..", "/", "//", "a", "A", "a ", "a/", "a/b", "a/b/", "/a", "../a", "a/../a", "a\\b",
	"a.b", ".a", "a.blob", "a.new", "incoming/1", "lock", "%", "%2F", "a%2Fb", "a%2fb", "%00", "+", "a+b",
	"=", "=a", "-", "~", "*", "?", "[a]", "a:b", "a\nb", "a\x00", "a\x00b", "\x00", "\xff", "\xff\xff", "a\xffb",
	"ä", "a\u0308", "日本語", "null", "0", "00", "1", "10", "'", "\"", "$HOME", "{}", "s17/b-0001",
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
}
