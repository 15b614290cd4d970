package coord_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// model is the service as one would first think of it: every state that there ever was, whole.
type model struct {
	states    []map[string]coord.KeyValue // by revision
	compacted coord.Revision
	leases    map[coord.LeaseID]bool
}

func newModel() *model {
	return &model{states: []map[string]coord.KeyValue{nil, {}}, compacted: 1, leases: map[coord.LeaseID]bool{}}
}

func (m *model) revision() coord.Revision { return coord.Revision(len(m.states) - 1) }

func pick(state map[string]coord.KeyValue, keys coord.Keys) (kvs []coord.KeyValue) {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if keys.Contains(key) {
			kvs = append(kvs, state[key])
		}
	}
	return kvs
}

func (m *model) txn(t coord.Txn) (r coord.TxnResult, refused bool) {
	now := m.states[m.revision()]
	r.Succeeded = true
	for _, c := range t.If { // of the kinds that the test draws
		kv := now[c.Key]
		switch c.Target {
		case coord.Version:
			r.Succeeded = r.Succeeded && (c.Is == coord.Equal) == (kv.Version == 0)
		case coord.ModRevision:
			r.Succeeded = r.Succeeded && kv.ModRevision == coord.Revision(c.Number)
		case coord.Value:
			r.Succeeded = r.Succeeded && kv.Value == c.Value
		}
	}
	ops := t.Then
	if !r.Succeeded {
		ops = t.Else
	}
	next, changed := maps.Clone(now), false
	for _, op := range ops {
		var result coord.OpResult
		switch op.Kind {
		case coord.OpGet:
			result.KVs = pick(next, op.Keys)
		case coord.OpPut:
			if op.Lease != 0 && !m.leases[op.Lease] {
				return r, true
			}
			key := op.Keys.From
			kv, ok := next[key]
			if !ok {
				kv = coord.KeyValue{Key: key, CreateRevision: m.revision() + 1}
			}
			kv.Value, kv.ModRevision, kv.Lease = op.Value, m.revision()+1, op.Lease
			kv.Version++
			next[key], changed = kv, true
		case coord.OpDelete:
			for _, kv := range pick(next, op.Keys) {
				delete(next, kv.Key)
				result.Deleted++
				changed = true
			}
		}
		r.Ops = append(r.Ops, result)
	}
	if changed {
		m.states = append(m.states, next)
	}
	r.Revision = m.revision()
	return r, false
}

func (m *model) revoke(id coord.LeaseID) {
	delete(m.leases, id)
	next, changed := maps.Clone(m.states[m.revision()]), false
	for key, kv := range next {
		if kv.Lease == id {
			delete(next, key)
			changed = true
		}
	}
	if changed {
		m.states = append(m.states, next)
	}
}

// since are the changes from a revision on, as differences between states.
func (m *model) since(keys coord.Keys, from coord.Revision) (events []coord.Event) {
	for r := from; r <= m.revision(); r++ {
		before, after := m.states[r-1], m.states[r]
		touched := maps.Clone(before)
		if touched == nil {
			touched = map[string]coord.KeyValue{}
		}
		maps.Copy(touched, after)
		for _, key := range slices.Sorted(maps.Keys(touched)) {
			if !keys.Contains(key) || before[key] == after[key] {
				continue
			}
			kv, ok := after[key]
			if !ok {
				kv = coord.KeyValue{Key: key, ModRevision: r}
			}
			events = append(events, coord.Event{KeyValue: kv})
		}
	}
	return events
}

var (
	someKey  = rapid.SampledFrom([]string{"a", "a/1", "a/2", "b", "\xff"})
	someKeys = rapid.Custom(func(t *rapid.T) coord.Keys {
		key := someKey.Draw(t, "key")
		return rapid.SampledFrom([]coord.Keys{coord.One(key), coord.Prefix(key), coord.All(), {From: key, To: "b"}}).Draw(t, "keys")
	})
	someLease = rapid.Uint64Range(1, 3)
)

func someOps(t *rapid.T, name string) (ops []coord.Op) {
	put := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, name) {
		key := someKey.Draw(t, "key")
		switch rapid.IntRange(0, 5).Draw(t, "operation") {
		case 0:
			ops = append(ops, coord.Get(someKeys.Draw(t, "get")))
		case 1:
			if len(put) == 0 {
				return append(ops, coord.Delete(someKeys.Draw(t, "delete")), coord.Get(coord.All()))
			}
		case 2:
			if !put[key] {
				ops = append(ops, coord.PutLeased(key, fmt.Sprint(len(ops)), coord.LeaseID(someLease.Draw(t, "lease"))))
			}
			put[key] = true
		default:
			if !put[key] {
				ops = append(ops, coord.Put(key, fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "value"))))
			}
			put[key] = true
		}
	}
	return ops
}

// Whatever is done, a store does what the model does, and so it does after it was opened again.
func TestStoreIsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := sim.New(sim.Config{MaxTime: time.Hour})
		defer w.Close()
		w.Go("test", func() {
			defer w.Stop()
			open := func() *coord.Store {
				s, err := coord.Open(w.Host(), "", coord.StoreConfig{RewriteAt: 500, Retain: -1})
				require.NoError(rt, err)
				return s
			}
			s, m := open(), newModel()
			compare := func() {
				for r := m.compacted; r <= m.revision(); r++ {
					got, err := s.Range(background, coord.All(), r)
					require.NoError(rt, err)
					require.Equal(rt, pick(m.states[r], coord.All()), got.KVs, "revision %d", r)
				}
				keys := someKeys.Draw(rt, "watched")
				from := coord.Revision(rapid.Uint64Range(uint64(m.compacted), uint64(m.revision())).Draw(rt, "from"))
				want := m.since(keys, from)
				watcher := s.Watch(keys, from)
				for len(want) > 0 {
					got, err := watcher.Next(background)
					require.NoError(rt, err)
					require.Equal(rt, want[:min(len(got), len(want))], got)
					want = want[len(got):]
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"txn": func(rt *rapid.T) {
					txn := coord.Txn{Then: someOps(rt, "then"), Else: someOps(rt, "else")}
					for range rapid.IntRange(0, 2).Draw(rt, "compares") {
						key := someKey.Draw(rt, "key")
						txn.If = append(txn.If, rapid.SampledFrom([]coord.Compare{
							coord.Absent(key), coord.Exists(key), coord.ValueIs(key, "1"),
							coord.ModifiedAt(key, m.states[m.revision()][key].ModRevision), coord.ModifiedAt(key, 3),
						}).Draw(rt, "compare"))
					}
					got, err := s.Txn(background, txn)
					want, refused := m.txn(txn)
					if refused {
						require.ErrorIs(rt, err, coord.ErrNoLease)
						return
					}
					require.NoError(rt, err)
					require.Equal(rt, want, got)
				},
				"grant": func(rt *rapid.T) {
					id := coord.LeaseID(someLease.Draw(rt, "lease"))
					require.NoError(rt, s.Grant(background, id, time.Hour))
					m.leases[id] = true
				},
				"revoke": func(rt *rapid.T) {
					id := coord.LeaseID(someLease.Draw(rt, "lease"))
					require.NoError(rt, s.Revoke(background, id))
					m.revoke(id)
				},
				"compact": func(rt *rapid.T) {
					before := coord.Revision(rapid.Uint64Range(1, uint64(m.revision())).Draw(rt, "before"))
					require.NoError(rt, s.Compact(background, before))
					m.compacted = max(m.compacted, before)
				},
				"open again": func(*rapid.T) {
					require.NoError(rt, s.Close())
					s = open()
				},
				"": func(*rapid.T) { compare() },
			})
		})
		require.NoError(rt, w.Run())
	})
}

// Clients on machines of their own write, read and watch while the server crashes, its disk fails, and
// the network is cut. The watched history explains every answer.
func TestClusterUnderFaults(t *testing.T) {
	sometimes := map[string]int{}
	inWorld(t, 12, func(w *sim.World) {
		server, open := served(w, coord.StoreConfig{RewriteAt: 3000, Retain: 400})
		type attempt struct {
			tag      string
			known    coord.Revision // the newest one that anybody had been told of when it began
			revision coord.Revision // 0: failed its compare or was surely not done; ^0: unknown
			expects  coord.Revision // what its compare said
			refused  bool
		}
		const unsettled = ^coord.Revision(0)
		var attempts []*attempt
		known, stop := coord.Revision(0), false
		var nodes []*sim.Node
		for i := range 3 {
			nodes = append(nodes, w.NewNode(fmt.Sprint("client", i), func(h host.Host) {
				c := open(h)
				for n := 0; !stop; n++ {
					ctx, cancel := h.Clock().WithTimeout(background, 2*time.Second)
					before := known
					s, err := c.Range(ctx, coord.One("k"), 0)
					if err == nil {
						require.GreaterOrEqual(t, s.Revision, before, "a read reflects what was acknowledged before")
						known = max(known, s.Revision)
						kv, _ := s.Get("k")
						a := &attempt{tag: fmt.Sprint(h.Name(), ".", h.Incarnation(), "/", n), known: known, revision: unsettled, expects: kv.ModRevision}
						attempts = append(attempts, a)
						r, err := c.Txn(ctx, coord.Txn{
							If:   []coord.Compare{coord.ModifiedAt("k", a.expects)},
							Then: []coord.Op{coord.Put("k", a.tag), coord.Put("all/"+a.tag, "")},
						})
						switch {
						case err == nil && r.Succeeded:
							a.revision, known = r.Revision, max(known, r.Revision)
						case err == nil:
							a.revision, a.refused = 0, true
						case errors.Is(err, coord.ErrUnknown):
						default:
							require.ErrorIs(t, err, coord.ErrNotDone)
							a.revision = 0
						}
					} else {
						require.NotErrorIs(t, err, coord.ErrCorrupt)
					}
					cancel()
					h.Clock().Sleep(time.Duration(h.Rand().IntN(100)) * time.Millisecond)
				}
			}))
		}
		var events []coord.Event
		gaps := 0
		w.Go("watch", func() {
			c := open(w.Host())
			watcher := c.Watch(coord.All(), 1)
			for {
				more, err := watcher.Next(background)
				if errors.Is(err, coord.ErrCompacted) { // it can't be, unless it was cut off for long
					gaps++
					w.Stop()
					return
				}
				require.NoError(t, err)
				events = append(events, more...)
			}
		})
		random := w.NewStream("test", "faults")
		quiet := w.AddRule(sim.Rule{Loss: 10_000})
		failing := server.AddDiskRule(sim.DiskRule{Fail: 20_000})
		for range 25 {
			w.Sleep(time.Duration(random.Between(20, 400)) * time.Millisecond)
			switch random.N(4) {
			case 0:
				server.PowerOff()
				w.Sleep(time.Duration(random.Between(0, 60)) * time.Millisecond)
				server.Restart()
			case 1:
				n := nodes[random.N(uint64(len(nodes)))]
				n.Crash()
				n.Restart()
			case 2:
				heal := w.AddRule(sim.Rule{From: []string{server.Name()}, Both: random.N(2) == 0, Drop: true})
				w.Sleep(time.Duration(random.Between(10, 700)) * time.Millisecond)
				heal()
			case 3:
				w.ResetConns(server.Name(), nodes[random.N(uint64(len(nodes)))].Name())
			}
		}
		quiet()
		failing()
		w.Sleep(10 * time.Second)
		before := known
		w.Sleep(5 * time.Second)
		require.Greater(t, known, before, "writes go on once faults have ended")
		stop = true
		w.Sleep(20 * time.Second)
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
		require.Zero(t, gaps)

		// In the order of revisions, each two events, of one writer.
		at := map[string]coord.Revision{}
		last, value := coord.Revision(0), map[coord.Revision]coord.Revision{} // the revision before, of key k
		for i := 0; i < len(events); i += 2 {
			tag, k := events[i], events[i+1]
			require.Equal(t, tag.ModRevision, k.ModRevision)
			require.Equal(t, tag.Key, "all/"+k.Value)
			require.Greater(t, k.ModRevision, last)
			require.Zero(t, at[k.Value], "%s took effect twice", k.Value)
			at[k.Value] = k.ModRevision
			value[k.ModRevision] = last
			last = k.ModRevision
		}
		require.Greater(t, len(at), 50)
		for _, a := range attempts {
			r := at[a.tag]
			switch {
			case a.revision == unsettled:
			case a.revision == 0:
				require.Zero(t, r, "%s was refused or surely not done", a.tag)
			default:
				require.Equal(t, a.revision, r, a.tag)
			}
			if r != 0 {
				require.Greater(t, r, a.known, "%s took effect before it began", a.tag)
				require.Equal(t, a.expects, value[r], "%s: its compare did not hold", a.tag)
			}
		}
	})
	for _, name := range []string{
		"coord: a client does not know what became of a transaction",
		"coord: a watch went on after it was broken off",
		"coord: several commands were synced at once",
		"coord: the log was rewritten",
		"coord: history was compacted",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// While sessions are lost in all the ways there are, no two leaders' writes interleave, and epochs grow.
func TestElectionsUnderFaults(t *testing.T) {
	sometimes := map[string]int{}
	inWorld(t, 10, func(w *sim.World) {
		server, open := served(w, coord.StoreConfig{})
		var nodes []*sim.Node
		for i := range 3 {
			nodes = append(nodes, w.NewNode(fmt.Sprint("candidate", i), func(h host.Host) {
				c := open(h)
				for {
					lead(t, h, c)
					h.Clock().Sleep(100 * time.Millisecond)
				}
			}))
		}
		random := w.NewStream("test", "faults")
		for range 15 {
			w.Sleep(time.Duration(random.Between(500, 3000)) * time.Millisecond)
			n := nodes[random.N(uint64(len(nodes)))]
			switch random.N(6) {
			case 0:
				n.Crash()
				n.Restart()
			case 1:
				n.Pause()
				w.Sleep(time.Duration(random.Between(100, 4000)) * time.Millisecond)
				n.Resume()
			case 2:
				heal := w.AddRule(sim.Rule{From: []string{n.Name()}, Both: random.N(2) == 0, Drop: true})
				w.Sleep(time.Duration(random.Between(100, 4000)) * time.Millisecond)
				heal()
			case 3:
				server.Crash()
				w.Sleep(time.Duration(random.Between(0, 3000)) * time.Millisecond)
				server.Restart()
			case 4:
				c := open(w.Host())
				if leader, err := coord.CurrentLeader(background, c, "e/"); err == nil {
					_, err := coord.Write(background, c, coord.Delete(coord.One(leader.Key)))
					require.True(t, err == nil || errors.Is(err, coord.ErrUnknown), "%v", err)
				}
			case 5:
				c := open(w.Host())
				if leader, err := coord.CurrentLeader(background, c, "e/"); err == nil {
					kv, _, err := coord.ReadKey(background, c, leader.Key)
					require.NoError(t, err)
					require.NoError(t, c.Revoke(background, kv.Lease))
				}
			}
		}
		w.Sleep(20 * time.Second)
		before, err := coord.CurrentLeader(background, open(w.Host()), "e/")
		require.NoError(t, err)
		w.Sleep(20 * time.Second)
		after, err := coord.CurrentLeader(background, open(w.Host()), "e/")
		require.NoError(t, err)
		require.Equal(t, before, after, "in calm one leads, and stays")
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
		written, _, err := coord.ReadKey(background, open(w.Host()), "written")
		require.NoError(t, err)
		watcher := open(w.Host()).Watch(coord.One("written"), 1)
		last, writes := coord.KeyValue{}, 0
		for last.ModRevision < written.ModRevision {
			events, err := watcher.Next(background)
			require.NoError(t, err)
			for _, e := range events {
				require.LessOrEqual(t, last.Value, e.Value, "a leader wrote after a later one")
				last = e.KeyValue
				writes++
			}
		}
		require.Greater(t, writes, 100)
	})
	for _, name := range []string{
		"coord: a session gave itself up by its own clock",
		"coord: a session was told that it is gone",
		"coord: a lease expired",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// lead campaigns and writes its epoch until it can't any more.
func lead(t *testing.T, h host.Host, c coord.Client) {
	ctx, cancel := h.Clock().WithTimeout(background, 5*time.Second)
	defer cancel()
	s, err := coord.NewSession(ctx, h, c, coord.SessionConfig{TTL: 2 * time.Second})
	if err != nil {
		return
	}
	defer s.Abandon()
	e := coord.NewElection(s, "e/")
	if err := e.Campaign(background, h.Name()); err != nil {
		require.True(t, errors.Is(err, coord.ErrSessionLost) || errors.Is(err, coord.ErrNotLeader), "%v", err)
		return
	}
	for s.Err() == nil {
		// It does not ask whether it is still the leader: the condition does.
		r, err := c.Txn(s.Context(), coord.Txn{
			If:   []coord.Compare{e.Held()},
			Then: []coord.Op{coord.Put("written", fmt.Sprintf("%06d", e.Revision()))},
		})
		if err == nil && !r.Succeeded {
			return
		}
		h.Clock().Sleep(50 * time.Millisecond)
		if h.Rand().IntN(20) == 0 {
			h.Clock().Sleep(time.Second)
		}
	}
}

// A server that was paused for longer than leases live does not let a keep-alive that waited for it save
// one.
func TestKeepAliveThatComesTooLate(t *testing.T) {
	late := 0
	inWorld(t, 20, func(w *sim.World) {
		server, open := served(w, coord.StoreConfig{})
		c := open(w.Host())
		s, err := coord.NewSession(background, w.Host(), c, coord.SessionConfig{TTL: time.Second})
		require.NoError(t, err)
		_, err = coord.Write(background, c, coord.PutLeased("k", "", s.Lease()))
		require.NoError(t, err)
		server.Pause()
		w.Sleep(3 * time.Second)
		require.ErrorIs(t, s.Err(), coord.ErrSessionLost)
		server.Resume()
		w.Sleep(time.Second)
		_, ok, err := coord.ReadKey(background, c, "k")
		require.NoError(t, err)
		require.False(t, ok)
		late += w.Sometimes()["coord: a keep-alive came too late"]
	})
	require.Positive(t, late)
}

// A lease whose time is over is being revoked when the server's clock is set back: a keep-alive does not save it,
// and is not told that it did.
func TestKeepAliveAfterTheClockWasSetBack(t *testing.T) {
	const ttl = time.Second
	tried := 0
	inWorld(t, 20, func(w *sim.World) {
		server, open := served(w, coord.StoreConfig{})
		c := open(w.Host())
		require.NoError(t, c.Grant(background, 7, ttl))
		slow := server.AddDiskRule(sim.DiskRule{Delay: sim.Between(100*time.Millisecond, 200*time.Millisecond)})
		for w.Sometimes()["coord: a lease expired"] == 0 {
			w.Sleep(time.Millisecond)
		}
		server.JumpClock(-time.Minute)
		kept := c.KeepAlive(background, 7)
		slow()
		w.Sleep(ttl / 2)
		_, err := c.Lease(background, 7)
		if kept == nil {
			require.NoError(t, err, "its holder was told that it lives on")
		} else {
			tried++
			require.ErrorIs(t, kept, coord.ErrNoLease)
			require.ErrorIs(t, err, coord.ErrNoLease)
		}
	})
	require.Positive(t, tried)
}
