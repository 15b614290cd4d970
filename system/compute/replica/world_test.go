package replica_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

var (
	background = context.Background()
	build      = protocol.BuildInfo{Version: "1"}
	numbers    = dataflow.NewSchema(dataflow.Column{Name: "n", Type: dataflow.Type(dataflow.KindInt64)})
)

// lab is a replica on a machine, with the stores in its memory, and a test that commands it.
type lab struct {
	t        testing.TB
	w        *sim.World
	blob     persist.Blob
	cons     persist.Consensus
	server   *replica.Server
	observed []replica.Event
	upper    uint64
}

func (l *lab) Observe(e replica.Event) { l.observed = append(l.observed, e) }

// last is the latest observation of a kind.
func last[E replica.Event](l *lab) (e E) {
	for _, o := range l.observed {
		if o, ok := o.(E); ok {
			e = o
		}
	}
	return e
}

// inLab runs fn with a replica of one worker, and with one of three.
func inLab(t testing.TB, fn func(l *lab)) {
	withWorkers(t, 1, fn)
	withWorkers(t, 3, fn)
}

func withWorkers(t testing.TB, workers int, fn func(l *lab)) {
	withConfig(t, replica.Config{Workers: workers}, fn)
}

// withConfig runs fn with a replica of which some is set.
func withConfig(t testing.TB, cfg replica.Config, fn func(l *lab)) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	(&lab{t: t, w: w}).run(cfg, fn)
}

func (l *lab) run(cfg replica.Config, fn func(l *lab)) {
	t, w := l.t, l.w
	w.NewNode("replica", func(h host.Host) {
		l.blob, l.cons = persist.NewMemBlob(h), persist.NewMemConsensus(h)
		cfg.Port, cfg.Build, cfg.Observer = "compute", build, l
		cfg.Persist = persist.NewClient(h, l.blob, l.cons, persist.Config{})
		server, err := replica.Serve(h, cfg)
		require.NoError(t, err)
		l.server = server
		_, err = persist.NewClient(h, l.blob, l.cons, persist.Config{}).OpenCritical(background, "s", "test", 1)
		require.NoError(t, err, "which holds the shard, as a controller does")
		fn(l)
		w.Stop()
	})
	w.Go("test", func() { w.Sleep(time.Hour) })
	require.NoError(t, w.Run())
}

func (l *lab) host() host.Host { return l.w.Node("replica").Host() }

// write appends rows to the shard "s" at a time.
func (l *lab) write(time uint64, rows ...int64) {
	client := persist.NewClient(l.host(), l.blob, l.cons, persist.Config{})
	writer, err := client.OpenWriter(background, "s")
	require.NoError(l.t, err)
	updates := make([]persist.Update, len(rows))
	for i, n := range rows {
		updates[i] = persist.Update{Data: string(number(n)), Time: time, Diff: 1}
	}
	require.NoError(l.t, writer.CompareAndAppend(background, updates, persist.At(l.upper), persist.At(time+1)))
	l.upper = time + 1
}

func number(n int64) dataflow.Row { return dataflow.Pack(dataflow.Int(n)) }

// client is a connection to the replica.
type client struct {
	l    *lab
	conn *protocol.Conn
}

func (l *lab) dial(epoch protocol.Epoch, commands ...protocol.Command) *client {
	conn, err := protocol.Dial(background, l.host(), "replica:compute", build, protocol.ConnConfig{})
	require.NoError(l.t, err)
	c := &client{l, conn}
	c.send(protocol.CreateTimely{Epoch: epoch}, protocol.CreateInstance{})
	c.send(commands...)
	return c
}

func (c *client) send(commands ...protocol.Command) {
	for _, cmd := range commands {
		require.NoError(c.l.t, c.conn.SendCommand(background, cmd))
	}
}

// until receives until a response is as wanted.
func until[R protocol.Response](c *client, wanted func(R) bool) R {
	ctx, cancel := c.l.host().Clock().WithTimeout(background, time.Minute)
	defer cancel()
	for {
		r, err := c.conn.RecvResponse(ctx)
		require.NoError(c.l.t, err)
		if r, ok := r.(R); ok && wanted(r) {
			return r
		}
	}
}

// index is a dataflow that keeps the shard "s".
func index(id protocol.GlobalID, asOf uint64) protocol.CreateDataflow {
	return protocol.CreateDataflow{Dataflow: &protocol.Dataflow{
		ID: id, AsOf: persist.At(asOf), Until: persist.Empty(), Plan: dataflow.Get("s"),
		Shards: []protocol.ShardImport{{Name: "s", Shard: "s", Schema: numbers}}, Sink: protocol.Sink{Kind: protocol.Index},
	}}
}

// over is an index that reads another one.
func over(id, of protocol.GlobalID, asOf uint64) protocol.CreateDataflow {
	return protocol.CreateDataflow{Dataflow: &protocol.Dataflow{
		ID: id, AsOf: persist.At(asOf), Until: persist.Empty(), Plan: dataflow.Get("i").Distinct(),
		Indexes: []protocol.IndexImport{{Name: "i", ID: of, Schema: numbers}}, Sink: protocol.Sink{Kind: protocol.Index},
	}}
}

func subscribe(id protocol.GlobalID, asOf uint64) protocol.CreateDataflow {
	s := index(id, asOf)
	s.Dataflow.Sink = protocol.Sink{Kind: protocol.Subscribe, Snapshot: true}
	return s
}

func epoch(controller int64, n uint64) protocol.Epoch {
	return protocol.Epoch{Controller: controller, Replica: n}
}

var complete = protocol.InitializationComplete{}

func TestLaterEpochTakesOver(t *testing.T) {
	inLab(t, func(l *lab) {
		first := l.dial(epoch(1, 5), complete)
		for _, stale := range []protocol.Epoch{epoch(1, 5), epoch(1, 4), epoch(0, 99)} {
			_, err := l.dial(stale, complete).conn.RecvResponse(background)
			require.Equal(t, &protocol.StaleEpoch{Epoch: stale, Seen: epoch(1, 5)}, err)
		}
		// Which did not disturb the one that counts.
		first.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 9}})
		until(first, func(r protocol.PeekResponse) bool { return r.ID == "p" })
		l.dial(epoch(2, 1), complete)
		_, err := first.conn.RecvResponse(background)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, epoch(2, 1), last[replica.Accepted](l).Epoch)
	})
}

func TestPeeks(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7, 8)
		c := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
		answer := func(p protocol.Peek) protocol.PeekResponse {
			p.Target.Schema = numbers
			c.send(p)
			return until(c, func(r protocol.PeekResponse) bool { return r.ID == p.ID })
		}
		both := []dataflow.RowCount{{Row: number(7), Count: 1}, {Row: number(8), Count: 1}}
		require.Equal(t, both, answer(protocol.Peek{ID: "index", Target: protocol.PeekTarget{ID: 1}, Timestamp: 3}).Rows)
		require.Equal(t, both, answer(protocol.Peek{ID: "shard", Target: protocol.PeekTarget{Shard: "s"}, Timestamp: 3}).Rows)
		top := dataflow.Get(protocol.PeekSource).TopK(nil, []dataflow.Order{{Column: 0, Desc: true}}, 1, 0)
		require.Equal(t, both[1:], answer(protocol.Peek{ID: "plan", Target: protocol.PeekTarget{ID: 1}, Timestamp: 3, Plan: &top}).Rows)
		require.Contains(t, answer(protocol.Peek{ID: "nothing", Target: protocol.PeekTarget{ID: 9}, Timestamp: 3}).Error, "there is no index c9")
		require.Contains(t, answer(protocol.Peek{ID: "early", Target: protocol.PeekTarget{ID: 1}, Timestamp: 2}).Error, "before the since")

		// A peek that waits keeps its time, whatever may be compacted.
		c.send(protocol.Peek{ID: "waits", Target: protocol.PeekTarget{ID: 1}, Timestamp: 5})
		c.send(protocol.Peek{ID: "cancelled", Target: protocol.PeekTarget{ID: 1}, Timestamp: 50}, protocol.CancelPeek{ID: "cancelled"})
		require.True(t, until(c, func(r protocol.PeekResponse) bool { return r.ID == "cancelled" }).Canceled)
		c.send(protocol.AllowCompaction{ID: 1, Frontier: persist.At(90)})
		l.write(5, 9)
		l.write(99)
		require.Len(t, until(c, func(r protocol.PeekResponse) bool { return r.ID == "waits" }).Rows, 3)
		require.Contains(t, answer(protocol.Peek{ID: "gone", Target: protocol.PeekTarget{ID: 1}, Timestamp: 5}).Error, "before the since")

		c.send(protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 1}})
		require.Contains(t, answer(protocol.Peek{ID: "large", Target: protocol.PeekTarget{ID: 1}, Timestamp: 99}).Error, "more than 1")
		c.send(protocol.Peek{ID: "dropped", Target: protocol.PeekTarget{ID: 1}, Timestamp: 1000}, protocol.AllowCompaction{ID: 1, Frontier: persist.Empty()})
		require.Contains(t, until(c, func(r protocol.PeekResponse) bool { return r.ID == "dropped" }).Error, "was dropped")
	})
}

// What of the old state goes on, by what a new connection asks for.
func TestReconciliation(t *testing.T) {
	old := []protocol.Command{index(1, 3), index(2, 3), over(3, 2, 3), subscribe(4, 3)}
	changed := func(c protocol.CreateDataflow) protocol.CreateDataflow {
		c.Dataflow.Plan = c.Dataflow.Plan.Distinct()
		return c
	}
	type ids = []protocol.GlobalID
	for _, c := range []struct {
		name                       string
		asks                       []protocol.Command
		retained, dropped, created ids
	}{
		{"the same, later", []protocol.Command{index(1, 6), index(2, 5), over(3, 2, 6)}, ids{1, 2, 3}, ids{4}, nil},
		{"just where it is compacted to", []protocol.Command{index(1, 5)}, ids{1}, ids{2, 3, 4}, nil},
		{"before what is still there", []protocol.Command{index(1, 4)}, nil, ids{1, 2, 3, 4}, ids{1}},
		{"another plan", []protocol.Command{changed(index(1, 6))}, nil, ids{1, 2, 3, 4}, ids{1}},
		{"over an index that is replaced", []protocol.Command{index(2, 2), over(3, 2, 6)}, nil, ids{1, 2, 3, 4}, ids{2, 3}},
		{"a subscribe begins anew", []protocol.Command{subscribe(4, 6)}, nil, ids{1, 2, 3, 4}, ids{4}},
		{"something new", []protocol.Command{index(1, 6), index(7, 6)}, ids{1}, ids{2, 3, 4}, ids{7}},
		{"nothing", nil, nil, ids{1, 2, 3, 4}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				l.write(3, 7)
				l.write(9, 8)
				first := l.dial(epoch(1, 1), old...)
				for id := range protocol.GlobalID(4) {
					first.send(protocol.Schedule{ID: id + 1})
				}
				first.send(complete, protocol.AllowCompaction{ID: 1, Frontier: persist.At(5)})
				until(first, func(f protocol.Frontiers) bool { return f.ID == 3 && f.Output == persist.At(10) })
				first.send(protocol.Peek{ID: "forgotten", Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 50})
				l.host().Clock().Sleep(time.Second)

				second := l.dial(epoch(1, 2), c.asks...)
				for _, cmd := range c.asks {
					second.send(protocol.Schedule{ID: cmd.(protocol.CreateDataflow).Dataflow.ID})
				}
				second.send(complete)
				l.host().Clock().Sleep(time.Second)
				require.Equal(t, replica.Reconciled{Epoch: epoch(1, 2), Retained: c.retained, Dropped: c.dropped, Created: c.created}, last[replica.Reconciled](l))
				l.write(60, 9)
				behind := map[protocol.GlobalID]bool{} // indexes that were asked for
				for _, cmd := range c.asks {
					if d := cmd.(protocol.CreateDataflow).Dataflow; d.Sink.Kind == protocol.Index {
						behind[d.ID] = true
					}
				}
				indexes := slices.Sorted(maps.Keys(behind))
				for len(behind) > 0 {
					until(second, func(f protocol.Frontiers) bool {
						require.Contains(t, indexes, f.ID, "nothing else is told of")
						if f.Output == persist.At(61) {
							delete(behind, f.ID)
						}
						return true
					})
				}
				for _, id := range indexes {
					second.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: id, Schema: numbers}, Timestamp: 60})
					r := until(second, func(r protocol.PeekResponse) bool {
						require.NotEqual(t, protocol.PeekID("forgotten"), r.ID)
						return true
					})
					require.Len(t, r.Rows, 3)
				}
			})
		})
	}
}

// A connection that breaks before the initialisation is complete changes nothing.
func TestBrokenInitialisation(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		first := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
		until(first, func(f protocol.Frontiers) bool { return f.Output == persist.At(4) })
		broken := l.dial(epoch(1, 2), index(2, 3))
		l.host().Clock().Sleep(time.Second)
		broken.conn.Close()
		l.host().Clock().Sleep(time.Second)
		third := l.dial(epoch(1, 3), index(1, 3), complete)
		until(third, func(f protocol.Frontiers) bool { return f.ID == 1 && f.Output == persist.At(4) })
		require.Equal(t, []protocol.GlobalID{1}, last[replica.Reconciled](l).Retained)
	})
}

// The end of a dropped collection is told once, as the end of all its frontiers.
func TestDropping(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		c := l.dial(epoch(1, 1), index(1, 3), subscribe(2, 3), protocol.Schedule{ID: 1}, protocol.Schedule{ID: 2}, complete)
		until(c, func(s protocol.SubscribeResponse) bool { return s.Batch != nil && s.Batch.Upper == persist.At(4) })
		c.send(protocol.AllowCompaction{ID: 2, Frontier: persist.Empty()})
		require.Equal(t, persist.At(4), *until(c, func(s protocol.SubscribeResponse) bool { return s.Batch == nil }).DroppedAt)
		c.send(protocol.AllowCompaction{ID: 1, Frontier: persist.Empty()})
		end := until(c, func(f protocol.Frontiers) bool { return f.Write.IsEmpty() })
		require.Equal(t, protocol.Frontiers{ID: 1, Write: persist.Empty(), Input: persist.Empty(), Output: persist.Empty()}, end)
	})
}

// A replica that has come to its expiration, or is asked to be another instance, begins from nothing.
func TestHalting(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		dial := func(n uint64, create protocol.CreateInstance) *client {
			conn, err := protocol.Dial(background, l.host(), "replica:compute", build, protocol.ConnConfig{})
			require.NoError(t, err)
			c := &client{l, conn}
			c.send(protocol.CreateTimely{Epoch: epoch(1, n)}, create, index(1, 3), protocol.Schedule{ID: 1}, complete)
			return c
		}
		first := dial(1, protocol.CreateInstance{Expiration: 5 * time.Second})
		until(first, func(f protocol.Frontiers) bool { return f.Output == persist.At(4) })
		_, err := first.conn.RecvResponse(background)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "its expiration has come", last[replica.Halted](l).Reason)

		second := dial(2, protocol.CreateInstance{})
		until(second, func(f protocol.Frontiers) bool { return f.Output == persist.At(4) })
		require.Equal(t, []protocol.GlobalID{1}, last[replica.Reconciled](l).Created)
		third := dial(3, protocol.CreateInstance{Logging: protocol.LoggingConfig{Interval: time.Second}})
		_, err = third.conn.RecvResponse(background)
		require.ErrorIs(t, err, io.EOF)
		fourth := dial(4, protocol.CreateInstance{Logging: protocol.LoggingConfig{Interval: time.Second}})
		s := until(fourth, func(s protocol.Status) bool { return s.Hydrated })
		require.Equal(t, protocol.GlobalID(1), s.ID)
	})
}

func TestCloseEndsTheReplica(t *testing.T) {
	inLab(t, func(l *lab) {
		c := l.dial(epoch(1, 1), complete)
		l.host().Clock().Sleep(time.Second)
		l.server.Close()
		_, err := c.conn.RecvResponse(background)
		require.ErrorIs(t, err, io.EOF)
		l.server.Wait()
	})
}

func ExampleServe() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("replica", func(h host.Host) {
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		server, err := replica.Serve(h, replica.Config{Port: "compute", Build: build, Persist: client})
		if err != nil {
			panic(err)
		}
		server.Wait()
	})
	w.Go("controller", func() {
		conn, err := protocol.Dial(background, w.Host(), "replica:compute", build, protocol.ConnConfig{})
		if err != nil {
			panic(err)
		}
		one := dataflow.Constant(numbers.Columns, dataflow.RowCount{Row: number(1), Count: 1})
		for _, cmd := range []protocol.Command{
			protocol.CreateTimely{Epoch: epoch(1, 1)}, protocol.CreateInstance{},
			protocol.CreateDataflow{Dataflow: &protocol.Dataflow{
				ID: 1, Until: persist.Empty(), Plan: one, Sink: protocol.Sink{Kind: protocol.Index},
			}},
			protocol.Schedule{ID: 1}, protocol.InitializationComplete{},
			protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 4},
		} {
			if err := conn.SendCommand(background, cmd); err != nil {
				panic(err)
			}
		}
		for {
			r, err := conn.RecvResponse(background)
			if err != nil {
				panic(err)
			}
			if p, ok := r.(protocol.PeekResponse); ok {
				fmt.Println(p.Rows)
				conn.Close()
				return
			}
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [(1):+1]
}

// A controller that does not keep to the protocol is heard no more, and does no harm.
func TestCommandOutOfTurn(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		c := l.dial(epoch(1, 1), protocol.CreateTimely{}, index(1, 3), protocol.Schedule{ID: 1}, complete)
		ctx, cancel := l.host().Clock().WithTimeout(background, time.Minute)
		defer cancel()
		var err error
		for err == nil {
			_, err = c.conn.RecvResponse(ctx)
		}
		require.ErrorIs(t, err, io.EOF)
		c = l.dial(epoch(1, 2), index(1, 3), protocol.Schedule{ID: 1}, complete)
		c.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 3})
		require.Len(t, until(c, func(r protocol.PeekResponse) bool { return r.ID == "p" }).Rows, 1)
	})
}

// A shard that nobody can read any more has nothing to be put right.
func TestSinkOfAClosedShard(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		client := persist.NewClient(l.host(), l.blob, l.cons, persist.Config{})
		reader, err := client.OpenReader(background, "out")
		require.NoError(t, err)
		writer, err := client.OpenWriter(background, "out")
		require.NoError(t, err)
		require.NoError(t, writer.CompareAndAppend(background, nil, persist.At(0), persist.Empty()))
		_, err = reader.DowngradeSince(background, persist.Empty())
		require.NoError(t, err)

		sink := index(1, 3)
		sink.Dataflow.Sink = protocol.Sink{Kind: protocol.Shard, Shard: "out"}
		c := l.dial(epoch(1, 1), sink, protocol.Schedule{ID: 1}, complete, protocol.AllowWrites{})
		f := until(c, func(f protocol.Frontiers) bool { return f.Write.IsEmpty() })
		require.Equal(t, protocol.GlobalID(1), f.ID)
		require.Empty(t, last[replica.Halted](l).Reason)
	})
}

// Dataflows that read the same shard share the reading, each from where it is, and go on without each other.
func TestSharedReading(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		c := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
		rows := func(id protocol.GlobalID, at uint64) int {
			p := protocol.PeekID(fmt.Sprint(id, "@", at))
			c.send(protocol.Peek{ID: p, Target: protocol.PeekTarget{ID: id, Schema: numbers}, Timestamp: at})
			r := until(c, func(r protocol.PeekResponse) bool { return r.ID == p })
			require.Empty(t, r.Error)
			return len(r.Rows)
		}
		require.Equal(t, 1, rows(1, 3))
		l.write(4, 8)
		require.Equal(t, 2, rows(1, 4)) // now what the first reads can be shared
		c.send(index(2, 4), protocol.Schedule{ID: 2})
		for at := uint64(5); at < 9; at++ {
			l.write(at, int64(10+at))
			require.Equal(t, int(at)-2, rows(2, at), "the second has joined, and misses nothing")
			require.Equal(t, int(at)-2, rows(1, at))
		}
		c.send(protocol.AllowCompaction{ID: 1, Frontier: persist.Empty()})
		until(c, func(f protocol.Frontiers) bool { return f.ID == 1 && f.Input.IsEmpty() })
		l.write(9, 99)
		require.Equal(t, 7, rows(2, 9), "whose reading it was is gone")
		c.send(protocol.AllowCompaction{ID: 2, Frontier: persist.Empty()})
		until(c, func(f protocol.Frontiers) bool { return f.ID == 2 && f.Input.IsEmpty() })
		require.Empty(t, last[replica.Halted](l).Reason)
		require.NotZero(t, l.w.Sometimes()["compute: a dataflow came to share the reading of a shard"])
	})
}

// A dataflow that has not begun to read when the next connection asks for it as of a later time, by which nobody holds the
// shard as of the earlier time any more, begins at the later one.
func TestRetainedDataflowBeginsLater(t *testing.T) {
	later := 0
	for seed := range uint64(40) { // in some of which reading begins late
		w := sim.New(sim.Config{Seed: seed, Buggify: true, MaxTime: time.Hour})
		l := &lab{t: t, w: w}
		l.run(replica.Config{Workers: 1 + int(seed%3)}, func(l *lab) {
			l.write(3, 7)
			l.write(5, 8)
			l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
			for last[replica.Scheduled](l).ID != 1 {
				l.host().Clock().Sleep(time.Millisecond)
			}
			c := l.dial(epoch(1, 2), index(1, 5), protocol.Schedule{ID: 1}, complete)
			for last[replica.Reconciled](l).Epoch != epoch(1, 2) {
				l.host().Clock().Sleep(time.Millisecond)
			}
			client := persist.NewClient(l.host(), l.blob, l.cons, persist.Config{})
			holder, err := client.OpenCritical(background, "s", "test", 1)
			require.NoError(t, err)
			_, err = holder.CompareAndDowngradeSince(background, 1, 1, persist.At(5))
			require.NoError(t, err)
			c.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 5})
			rows := until(c, func(protocol.PeekResponse) bool { return true }).Rows
			require.Equal(t, []dataflow.RowCount{{Row: number(7), Count: 1}, {Row: number(8), Count: 1}}, rows)
			require.Equal(t, []protocol.GlobalID{1}, last[replica.Reconciled](l).Retained)
			require.Zero(t, count[replica.ReadRefused](l))
		})
		later += w.Sometimes()["compute: a retained dataflow had to begin later"]
		w.Close()
	}
	require.Positive(t, later)
}
