package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// answers collects what responders are told, and objects to being told twice.
type answers struct {
	t   *testing.T
	got map[string][]error
}

func newAnswers(t *testing.T) *answers { return &answers{t: t, got: map[string][]error{}} }

func (a *answers) to(name string) storage.Responder {
	a.got[name] = nil
	return func(err error) { a.got[name] = append(a.got[name], err) }
}

// only is the one answer.
func (a *answers) only(name string) error {
	require.Len(a.t, a.got[name], 1, "answers to %s", name)
	return a.got[name][0]
}

func TestAnswerOnSuccess(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		b.settle()
		written := false
		b.consensus.after = func() error {
			require.Empty(t, a.got["x"], "answered before it was written")
			written = true
			return nil
		}
		task.Send(add("x"), a.to("x"))
		task.Send(storage.Append{}, a.to("nothing"))
		task.Send(add("y"), nil)
		b.settle()
		require.True(t, written)
		require.NoError(t, a.only("x"))
		require.NoError(t, a.only("nothing"))
		require.Equal(t, []string{"x:1", "y:1"}, b.latest())
	})
}

func TestRespondToAChannel(t *testing.T) {
	withBench(t, func(b *bench) {
		answer := host.NewChan[error](b.h, "answer", 1)
		b.spawn().Send(add("x"), storage.RespondTo(answer))
		err, ok := answer.Recv()
		require.NoError(t, err)
		require.True(t, ok)
	})
}

func TestAnswerWhenRetriesAreExhausted(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		require.NoError(t, task.Write(background, add("before")))
		// Somebody is always faster: just before each append that has rows, the upper moves.
		moved := 0
		b.beforeWrite = func() { b.foreignAppend(0); moved++ }
		task.Send(add("x"), a.to("x"))
		begun := b.w.Now()
		for len(a.got["x"]) == 0 {
			b.w.Sleep(100 * time.Millisecond)
		}
		var invalid *storage.InvalidUppers
		require.ErrorAs(t, a.only("x"), &invalid)
		require.Equal(t, storage.GlobalID("u1"), invalid.ID)
		require.Greater(t, b.w.Now()-begun, 40*time.Second)
		require.GreaterOrEqual(t, moved, 21)
		require.Equal(t, []string{"before:1"}, b.latest(), "it was not written")
		current, _ := invalid.Current.Time()
		upper, _ := b.upper().Time()
		require.LessOrEqual(t, current, upper)

		b.beforeWrite = nil
		b.w.Sleep(3 * time.Second)
		require.Equal(t, []string{"before:1", "x:1"}, b.latest(), "it was kept, and written by a later tick")
		require.Len(t, a.got["x"], 1)
	})
}

func TestAnswerOnShutdown(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		require.NoError(t, task.Write(background, add("x")))
		task.Send(add("queued"), a.to("queued")) // held back by the rate limit
		task.Send(remove("x"), a.to("queued too"))
		upper := b.upper()
		task.Shutdown()
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
		task.Send(add("late"), a.to("late"))
		for name := range a.got {
			var invalid *storage.IdentifierInvalid
			require.ErrorAs(t, a.only(name), &invalid)
			require.Equal(t, storage.GlobalID("u1"), invalid.ID)
		}
		b.w.Sleep(5 * time.Second)
		require.Equal(t, upper, b.upper(), "nothing was written any more")
		require.Equal(t, []string{"x:1"}, b.latest())
	})
}

// A shutdown comes before commands that are ready at the same time, and commands before the tick.
func TestPreferences(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		task.Send(add("x"), a.to("x"))
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
		var invalid *storage.IdentifierInvalid
		require.ErrorAs(t, a.only("x"), &invalid)
		require.Equal(t, persist.At(0), b.upper())

		task = b.spawn()
		task.Send(add("x"), a.to("x"))
		b.settle()
		require.NoError(t, a.only("x"))
		require.Equal(t, []string{"x:1"}, b.contents(0), "written at 0: no tick came before")
	})
}

// A shutdown is noticed while a write waits for its next retry. That write is not made.
func TestAnswerOnShutdownWhileRetrying(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		b.settle()
		b.beforeWrite = func() { b.foreignAppend(0) }
		task.Send(add("x"), a.to("x"))
		b.w.Sleep(3 * time.Second)
		require.Empty(t, a.got["x"])
		begun := b.w.Now()
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
		require.Less(t, b.w.Now()-begun, time.Second)
		var invalid *storage.IdentifierInvalid
		require.ErrorAs(t, a.only("x"), &invalid)
		b.w.Sleep(10 * time.Second)
		require.Equal(t, []string{}, b.latest())
	})
}

func TestAnswerInReadOnlyMode(t *testing.T) {
	withBench(t, func(b *bench) {
		b.foreignAppend(50, rows("p")...)
		cfg := b.config()
		cfg.ReadOnly = true
		cfg.Introspection.Seed = func(context.Context, []storage.RowDiff) error {
			t.Error("a read-only task prepares nothing")
			return nil
		}
		cfg.OpenReader = func(context.Context) (*persist.ReadHandle, error) {
			t.Error("a read-only task reads nothing")
			return nil, errors.New("unexpected")
		}
		before := b.consensus.cas
		a, task := newAnswers(t), storage.Spawn(b.h, cfg)
		b.ms = 0
		for i := range 3 {
			name := fmt.Sprint(i)
			task.Send(add(name), a.to(name))
			b.w.Sleep(2 * time.Second)
			var readOnly *storage.ReadOnly
			require.ErrorAs(t, a.only(name), &readOnly)
		}
		require.Equal(t, before, b.consensus.cas, "nothing was written")
		require.Equal(t, persist.At(50), b.upper())
		task.Shutdown()
		require.ErrorIs(t, task.Wait(background), storage.ErrShutdown)
	})
}

func TestAnswerWhenTheShardIsClosed(t *testing.T) {
	closeShard := func(b *bench) {
		for {
			upper := b.upper()
			if upper.IsEmpty() || b.foreign.CompareAndAppend(background, nil, upper, persist.Empty()) == nil {
				return
			}
		}
	}
	check := func(b *bench, task *storage.Handle, a *answers) {
		var closed *storage.ShardClosed
		require.ErrorAs(t, task.Wait(background), &closed)
		task.Send(add("late"), a.to("late"))
		for name := range a.got {
			require.ErrorAs(t, a.only(name), &closed)
			require.Equal(t, storage.GlobalID("u1"), closed.ID)
		}
	}
	t.Run("found by a command", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawn()
			require.NoError(t, task.Write(background, add("x")))
			closeShard(b)
			task.Send(add("y"), a.to("y"))
			check(b, task, a)
		})
	})
	t.Run("found by a tick", func(t *testing.T) {
		withBench(t, func(b *bench) {
			b.ms = 0
			a, task := newAnswers(t), b.spawn()
			b.settle()
			closeShard(b)
			b.w.Sleep(2 * time.Second)
			check(b, task, a)
		})
	})
	t.Run("found by a sync", func(t *testing.T) {
		withBench(t, func(b *bench) {
			a, task := newAnswers(t), b.spawn()
			require.NoError(t, task.Write(background, add("x")))
			b.foreignAppend(0) // the append fails, and then the reader is registered
			b.afterOpen = func() { closeShard(b) }
			task.Send(add("y"), a.to("y"))
			task.Send(add("z"), a.to("z"))
			check(b, task, a)
		})
	})
	t.Run("before the task starts", func(t *testing.T) {
		withBench(t, func(b *bench) {
			closeShard(b)
			cfg := b.config()
			cfg.Introspection.Seed = func(context.Context, []storage.RowDiff) error { return nil }
			a, task := newAnswers(t), storage.Spawn(b.h, cfg)
			task.Send(add("y"), a.to("y"))
			check(b, task, a)
		})
	})
}

func TestAnswerOnAbort(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		require.NoError(t, task.Write(background, add("x")))
		b.w.Sleep(time.Second)
		// The append reaches the store, and its answer never comes.
		b.consensus.after = func() error {
			task.Abort()
			return &persist.StoreError{Kind: persist.ErrIndeterminate, Err: errors.New("lost")}
		}
		task.Send(add("y"), a.to("y"))
		b.settle()
		task.Send(add("late"), a.to("late"))
		var aborted *storage.Aborted
		require.ErrorAs(t, task.Wait(background), &aborted)
		require.ErrorAs(t, a.only("y"), &aborted, "nobody knows")
		var invalid *storage.IdentifierInvalid
		require.ErrorAs(t, a.only("late"), &invalid)
		require.Equal(t, []string{"x:1", "y:1"}, b.latest())
	})
}

func TestAbortWhileIdle(t *testing.T) {
	withBench(t, func(b *bench) {
		task := b.spawn()
		b.settle()
		ctx, cancel := b.h.Clock().WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, task.Wait(ctx), context.DeadlineExceeded, "it has not ended")
		task.Abort()
		var aborted *storage.Aborted
		require.ErrorAs(t, task.Wait(background), &aborted)
	})
}

func TestAnswerWhenTheSenderIsClosed(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		for i := range 5 {
			name := fmt.Sprint("x", i)
			task.Send(add(name), a.to(name))
		}
		task.CloseSend()
		task.CloseSend()
		task.Send(add("late"), a.to("late"))
		require.ErrorIs(t, task.Wait(background), storage.ErrSenderDropped)
		var invalid *storage.IdentifierInvalid
		require.ErrorAs(t, a.only("late"), &invalid)
		delete(a.got, "late")
		for name := range a.got {
			require.NoError(t, a.only(name), "what was sent before is carried out")
		}
		require.Len(t, b.latest(), 5)
	})
}

func TestAnswerWhenAStoreIsDamaged(t *testing.T) {
	withBench(t, func(b *bench) {
		a, task := newAnswers(t), b.spawn()
		b.settle()
		corrupt := fmt.Errorf("disk: %w", persist.ErrCorrupt)
		b.consensus.Consensus = brokenConsensus{b.consensus.Consensus, corrupt}
		task.Send(add("x"), a.to("x"))
		require.ErrorIs(t, task.Wait(background), persist.ErrCorrupt)
		task.Send(add("late"), a.to("late"))
		require.ErrorIs(t, a.only("x"), persist.ErrCorrupt)
		require.ErrorIs(t, a.only("late"), persist.ErrCorrupt)
	})
}

// brokenConsensus fails for good.
type brokenConsensus struct {
	persist.Consensus
	err error
}

func (c brokenConsensus) CompareAndSet(context.Context, string, persist.SeqNo, persist.Versioned) (bool, error) {
	return false, c.err
}

// The caller goes away before the answer; the command goes on.
func TestWriteGivesUpWaiting(t *testing.T) {
	withBench(t, func(b *bench) {
		task := b.spawn()
		require.NoError(t, task.Write(background, add("x")))
		ctx, cancel := b.h.Clock().WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, task.Write(ctx, add("y")), context.DeadlineExceeded)
		b.w.Sleep(2 * time.Second)
		require.Equal(t, []string{"x:1", "y:1"}, b.latest())
	})
}

// Every command is answered once, whatever the task goes through, and what was acknowledged is
// there.
func TestEveryCommandIsAnsweredOnce(t *testing.T) {
	for seed := range uint64(40) {
		w := sim.New(sim.Config{Seed: seed, MaxTime: time.Hour, Buggify: true})
		w.Go("test", func() {
			defer w.Stop()
			random := w.NewStream("test", "chaos")
			b := &bench{t: t, w: w, h: w.Host(), blob: persist.NewMemBlob(w.Host())}
			memory := persist.NewMemConsensus(w.Host())
			b.consensus = &gate{Consensus: memory}
			outside := persist.NewClient(w.Host(), b.blob, memory, persist.Config{})
			var err error
			b.foreign, err = outside.OpenWriter(background, shard)
			require.NoError(t, err)
			b.reader, err = outside.OpenReader(background, shard)
			require.NoError(t, err)
			b.consensus.before = func() {
				w.Sleep(time.Duration(random.Between(0, 20)) * time.Millisecond)
				if random.N(6) == 0 {
					b.foreignAppend(0, rows("theirs")...)
				}
			}
			b.consensus.after = func() error {
				if random.N(6) == 0 {
					return &persist.StoreError{Kind: persist.ErrIndeterminate, Err: errors.New("lost")}
				}
				return nil
			}
			a, task := newAnswers(t), b.spawn()
			for i := range 30 {
				w.Sleep(time.Duration(random.Between(0, 800)) * time.Millisecond)
				name := fmt.Sprint("x", i)
				task.Send(add(name), a.to(name))
			}
			ended := random.N(4)
			switch ended {
			case 0:
				task.Shutdown()
			case 1:
				task.Abort()
			case 2:
				task.CloseSend()
			case 3:
				w.Sleep(70 * time.Second)
				b.consensus.before = nil
				w.Sleep(5 * time.Second)
				require.Len(t, b.latest(), 30, "it converges")
				task.Shutdown()
			}
			task.Wait(background)
			w.Sleep(time.Second)
			b.consensus.before, b.consensus.after = nil, nil
			in := map[string]bool{}
			for _, row := range b.latest() {
				in[row] = true
			}
			for name := range a.got {
				if err := a.only(name); err == nil {
					require.True(t, in[name+":1"], "%s was acknowledged", name)
				} else if errors.As(err, new(*storage.IdentifierInvalid)) {
					require.False(t, in[name+":1"], "%s was refused", name)
				}
			}
		})
		err := w.Run()
		w.Close()
		require.NoError(t, err, "seed %d", seed)
	}
}
