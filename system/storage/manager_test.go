package storage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

func (b *bench) differential() storage.DifferentialCollection {
	cfg := b.config()
	return storage.DifferentialCollection{Writer: cfg.Writer, OpenReader: cfg.OpenReader}
}

func (b *bench) appendOnly() storage.AppendOnlyCollection {
	cfg := b.config()
	return storage.AppendOnlyCollection{Writer: cfg.Writer, OpenReader: cfg.OpenReader}
}

func (b *bench) manager(readOnly bool) *storage.CollectionManager {
	return storage.NewCollectionManager(b.h, storage.ManagerConfig{ReadOnly: readOnly, Now: b.now})
}

// on is a bench of another shard of the same stores.
func (b *bench) on(other persist.ShardID) *bench {
	c := *b
	client := persist.NewClient(b.h, b.blob, b.consensus.Consensus, persist.Config{})
	var err error
	c.foreign, err = client.OpenWriter(background, other)
	require.NoError(b.t, err)
	c.reader, err = client.OpenReader(background, other)
	require.NoError(b.t, err)
	return &c
}

func (b *bench) appendOnlyOn(other persist.ShardID) storage.AppendOnlyCollection {
	client := persist.NewClient(b.h, b.blob, b.consensus, persist.Config{})
	writer, err := client.OpenWriter(background, other)
	require.NoError(b.t, err)
	return storage.AppendOnlyCollection{
		Writer:     writer,
		OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, other) },
	}
}

func TestManager(t *testing.T) {
	withBench(t, func(b *bench) {
		m, log := b.manager(false), b.on("log")
		require.Empty(t, m.Registered())
		current, err := m.RegisterDifferential("current", b.differential())
		require.NoError(t, err)
		events, err := m.RegisterAppendOnly("events", b.appendOnlyOn("log"))
		require.NoError(t, err)
		require.Equal(t, []storage.GlobalID{"current", "events"}, m.Registered())
		require.Equal(t, storage.GlobalID("current"), current.ID())
		require.Equal(t, storage.GlobalID("events"), events.ID())

		require.NoError(t, current.Write(background, add("a")))
		another, err := m.DifferentialSender("current")
		require.NoError(t, err)
		require.NoError(t, another.Write(background, remove("a")))
		require.NoError(t, another.Write(background, add("b")))
		require.NoError(t, events.Append(background, rows("a came", "a went")...))
		lines, err := m.AppendOnlySender("events")
		require.NoError(t, err)
		lines.Send(rows("b came"), nil)
		b.w.Sleep(3 * time.Second)
		require.Equal(t, []string{"b:1"}, b.latest())
		require.Equal(t, []string{"a came:1", "a went:1", "b came:1"}, log.latest())
		require.NoError(t, m.Shutdown(background))
		require.Empty(t, m.Registered())
	})
}

func TestManagerRefuses(t *testing.T) {
	withBench(t, func(b *bench) {
		m := b.manager(false)
		notRegistered := func(err error, kind storage.Kind) {
			t.Helper()
			var missing *storage.NotRegistered
			require.ErrorAs(t, err, &missing)
			require.Equal(t, kind, missing.Kind)
		}
		_, err := m.DifferentialSender("x")
		notRegistered(err, storage.Differential)
		_, err = m.AppendOnlySender("x")
		notRegistered(err, storage.AppendOnly)
		notRegistered(m.Unregister(background, "x"), 0)
		notRegistered(m.Wait(background, "x"), 0)

		_, err = m.RegisterDifferential("x", b.differential())
		require.NoError(t, err)
		_, err = m.AppendOnlySender("x")
		notRegistered(err, storage.AppendOnly)
		require.EqualError(t, err, "storage: no append-only collection x is registered")
		var already *storage.AlreadyRegistered
		_, err = m.RegisterDifferential("x", b.differential())
		require.ErrorAs(t, err, &already)
		_, err = m.RegisterAppendOnly("x", b.appendOnly())
		require.ErrorAs(t, err, &already)

		require.NoError(t, m.Shutdown(background))
		require.NoError(t, m.Shutdown(background))
		_, err = m.RegisterAppendOnly("y", b.appendOnly())
		require.ErrorIs(t, err, storage.ErrManagerClosed)
		_, err = m.DifferentialSender("x")
		notRegistered(err, storage.Differential)
	})
}

// What is in flight when a collection is unregistered is answered once: what was being written with
// what became of it, the rest with a refusal. When Unregister returns nothing is written any more.
func TestUnregister(t *testing.T) {
	type sender interface {
		send(name string, respond storage.Responder)
	}
	for name, register := range map[string]func(b *bench, m *storage.CollectionManager) sender{
		"differential": func(b *bench, m *storage.CollectionManager) sender {
			s, err := m.RegisterDifferential("x", b.differential())
			require.NoError(t, err)
			return sendFunc(func(name string, respond storage.Responder) { s.Send(add(name), respond) })
		},
		"append-only": func(b *bench, m *storage.CollectionManager) sender {
			s, err := m.RegisterAppendOnly("x", b.appendOnly())
			require.NoError(t, err)
			return sendFunc(func(name string, respond storage.Responder) { s.Send(rows(name), respond) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(b *bench) {
				b.foreignAppend(100)
				m, a := b.manager(false), newAnswers(t)
				s := register(b, m)
				b.settle()
				// The write is on its way for a while.
				writing := host.NewChan[struct{}](b.h, "writing", 1)
				b.consensus.after = func() error {
					b.consensus.after = nil
					writing.Send(struct{}{})
					b.w.Sleep(5 * time.Second)
					return nil
				}
				s.send("written", a.to("written"))
				writing.Recv()
				s.send("waiting", a.to("waiting"))
				s.send("waiting too", a.to("waiting too"))
				ctx, cancel := b.h.Clock().WithTimeout(background, time.Second)
				require.ErrorIs(t, m.Unregister(ctx, "x"), context.DeadlineExceeded)
				cancel()
				require.Empty(t, m.Registered())
				_, err := m.DifferentialSender("x")
				require.ErrorAs(t, err, new(*storage.NotRegistered))
				_, err = m.RegisterAppendOnly("x", b.appendOnly())
				require.ErrorAs(t, err, new(*storage.AlreadyRegistered), "its task still writes")
				require.Empty(t, a.got["written"])
				s.send("while it ends", a.to("while it ends"))
				group := host.NewWaitGroup(b.h, "unregister")
				for range 2 { // both wait
					group.Go(b.h, "unregister", func() {
						require.NoError(t, m.Unregister(background, "x"))
						require.Len(t, a.got["written"], 1)
					})
				}
				group.Wait()
				upper := b.upper()
				s.send("late", a.to("late"))
				require.NoError(t, a.only("written"))
				for _, name := range []string{"waiting", "waiting too", "while it ends", "late"} {
					require.ErrorAs(t, a.only(name), new(*storage.IdentifierInvalid), name)
				}
				b.w.Sleep(10 * time.Second)
				require.Equal(t, upper, b.upper())
				require.Equal(t, []string{"written:1"}, b.latest())
				require.ErrorAs(t, m.Unregister(background, "x"), new(*storage.NotRegistered))
				require.Positive(t, b.w.Sometimes()["storage: a collection was unregistered with commands waiting"])

				// The name is free; the old sender does not reach who has it now.
				next, err := m.RegisterAppendOnly("x", b.appendOnly())
				require.NoError(t, err)
				s.send("to the old one", a.to("to the old one"))
				require.ErrorAs(t, a.only("to the old one"), new(*storage.IdentifierInvalid))
				require.NoError(t, next.Append(background, rows("again")...))
				require.Equal(t, []string{"again:1", "written:1"}, b.latest())
			})
		})
	}
}

type sendFunc func(name string, respond storage.Responder)

func (f sendFunc) send(name string, respond storage.Responder) { f(name, respond) }

func TestManagerShutdown(t *testing.T) {
	withBench(t, func(b *bench) {
		m, a := b.manager(false), newAnswers(t)
		var senders []*storage.AppendOnlySender
		for i := range 4 {
			s, err := m.RegisterAppendOnly(storage.GlobalID(fmt.Sprint(i)), b.appendOnlyOn(persist.ShardID(fmt.Sprint("shard", i))))
			require.NoError(t, err)
			senders = append(senders, s)
		}
		b.settle()
		for i, s := range senders {
			for n := range 3 {
				name := fmt.Sprint(i, "/", n)
				s.Send(rows(name), a.to(name))
				b.w.Sleep(10 * time.Millisecond)
			}
		}
		ended := 0
		group := host.NewWaitGroup(b.h, "shutdown")
		for range 2 {
			group.Go(b.h, "shutdown", func() {
				require.NoError(t, m.Shutdown(background))
				ended++
			})
		}
		group.Wait()
		require.Equal(t, 2, ended)
		written := 0
		for name := range a.got {
			if err := a.only(name); err == nil {
				written++
			} else {
				require.ErrorAs(t, err, new(*storage.IdentifierInvalid))
			}
		}
		require.GreaterOrEqual(t, written, 4)
		require.Less(t, written, 12)
	})
}

// A collection that fails does so alone: appends to others, under way at the time, go on.
func TestCollectionsFailAlone(t *testing.T) {
	withBench(t, func(b *bench) {
		m, a := b.manager(false), newAnswers(t)
		good, err := m.RegisterAppendOnly("good", b.appendOnlyOn("good shard"))
		require.NoError(t, err)
		bad, err := m.RegisterDifferential("bad", b.differential())
		require.NoError(t, err)
		require.NoError(t, bad.Write(background, add("x")))
		b.w.Sleep(time.Second)
		require.NoError(t, b.foreign.CompareAndAppend(background, nil, b.upper(), persist.Empty()))
		b.consensus.before = func() { b.w.Sleep(50 * time.Millisecond) } // they overlap
		good.Send(rows("a"), a.to("a"))
		bad.Send(add("y"), a.to("y"))
		require.ErrorAs(t, m.Wait(background, "bad"), new(*storage.ShardClosed))
		b.w.Sleep(time.Second)
		require.NoError(t, a.only("a"))
		require.ErrorAs(t, a.only("y"), new(*storage.ShardClosed))
		require.NoError(t, good.Append(background, rows("b")...))
		require.Equal(t, []string{"a:1", "b:1"}, b.on("good shard").latest())

		// Its place can be taken, as it has ended; or given up.
		_, err = m.RegisterDifferential("bad", b.differential())
		require.NoError(t, err)
		require.ErrorAs(t, m.Wait(background, "bad"), new(*storage.ShardClosed))
		require.NoError(t, m.Unregister(background, "bad"))
		require.Equal(t, []storage.GlobalID{"good"}, m.Registered())
	})
}

// A manager that follows while another writes touches no shard, and takes over when it may.
func TestAllowWrites(t *testing.T) {
	withBench(t, func(b *bench) {
		log := b.on("log")
		b.foreignAppend(100, rows("theirs", "both")...)
		log.foreignAppend(100, rows("theirs")...)
		m := b.manager(true)
		seeded := 0
		collection := b.differential()
		collection.Introspection.Seed = func(_ context.Context, contents []storage.RowDiff) error {
			require.Equal(t, []storage.RowDiff{{Row: "both", Diff: 1}, {Row: "late", Diff: 1}, {Row: "theirs", Diff: 1}}, contents)
			seeded++
			return nil
		}
		current, err := m.RegisterDifferential("current", collection)
		require.NoError(t, err)
		events, err := m.RegisterAppendOnly("events", b.appendOnlyOn("log"))
		require.NoError(t, err)
		b.settle()
		cas := b.consensus.cas
		for _, name := range []string{"mine", "both", "gone"} {
			require.ErrorAs(t, current.Write(background, add(name)), new(*storage.ReadOnly))
		}
		require.ErrorAs(t, current.Write(background, remove("gone")), new(*storage.ReadOnly))
		require.ErrorAs(t, events.Append(background, rows("early")...), new(*storage.ReadOnly))
		b.w.Sleep(5 * time.Second)
		require.Equal(t, cas, b.consensus.cas, "no write, no reader, no since")
		require.Zero(t, seeded)

		// One that tells of this very process is written all the same.
		forced := b.appendOnlyOn("process")
		forced.ForceWritable = true
		process, err := m.RegisterAppendOnly("process", forced)
		require.NoError(t, err)
		require.NoError(t, process.Append(background, rows("I am")...))

		b.foreignAppend(0, rows("late")...)
		m.AllowWrites()
		b.w.Sleep(3 * time.Second)
		require.Equal(t, 1, seeded)
		require.Equal(t, []string{"both:1", "mine:1"}, b.latest(), "what it followed, no command needed")
		require.NoError(t, current.Write(background, add("more")))
		require.Equal(t, []string{"both:1", "mine:1", "more:1"}, b.latest())
		require.NoError(t, events.Append(background, rows("now")...))
		require.Equal(t, []string{"now:1", "theirs:1"}, log.latest(), "what was refused before is not written")
		require.Equal(t, []string{"I am:1"}, b.on("process").latest())
		require.Positive(t, b.w.Sometimes()["storage: writes were allowed to a collection with rows"])

		m.AllowWrites()
		later, err := m.RegisterAppendOnly("later", b.appendOnlyOn("later"))
		require.NoError(t, err)
		require.NoError(t, later.Append(background, rows("x")...))
		require.NoError(t, m.Shutdown(background))
	})
}

// Writes are allowed while somebody keeps writing, to a shard that is closed, or to a task that
// shuts down at the same time.
func TestAllowWritesInTheWay(t *testing.T) {
	withBench(t, func(b *bench) {
		m := b.manager(true)
		current, err := m.RegisterDifferential("x", b.differential())
		require.NoError(t, err)
		require.ErrorAs(t, current.Write(background, add("mine")), new(*storage.ReadOnly))
		b.beforeWrite = func() { b.foreignAppend(0, rows("theirs")...) }
		m.AllowWrites()
		b.w.Sleep(20 * time.Second)
		b.beforeWrite = nil
		b.w.Sleep(10 * time.Second)
		require.Equal(t, []string{"mine:1"}, b.latest())
		require.NoError(t, m.Unregister(background, "x"))

		m = b.manager(true)
		current, err = m.RegisterDifferential("x", b.differential())
		require.NoError(t, err)
		require.ErrorAs(t, current.Write(background, add("never")), new(*storage.ReadOnly))
		b.w.Sleep(2 * time.Second)
		upper := b.upper()
		m.AllowWrites()
		require.NoError(t, m.Shutdown(background), "a shutdown comes first")
		require.Equal(t, upper, b.upper())

		m = b.manager(true)
		_, err = m.RegisterDifferential("x", b.differential())
		require.NoError(t, err)
		require.NoError(t, b.foreign.CompareAndAppend(background, nil, upper, persist.Empty()))
		m.AllowWrites()
		require.ErrorAs(t, m.Wait(background, "x"), new(*storage.ShardClosed))
	})
}
