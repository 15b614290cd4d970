package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// addCoordClients adds machines that use the coordination service as a store of keys, some of them under
// leases, and the oracle that judges what it answers.
func addCoordClients(r *Run, c *cdcCluster) {
	rec := newRecorder(r)
	r.Count(rec.count)
	r.Judge(models.KV(rec.h))
	leases, watches := r.Check(oracleCoordLease), r.Check(oracleCoordWatch)
	for i, name := range shardNames("coord-client-", r.Int("coord-clients")) {
		cl := &coordClient{
			r: r, rec: rec, number: i + 1, choices: r.World.NewStream("workload", name), dial: c.dialCoord,
			leases: leases, watches: watches,
		}
		r.AddNode(name, "coord client", cl.boot)
		r.Ready(name+" having kept a lease alive", func() bool { return cl.begun })
		r.Settled(name+" ending its last operation", func() bool { return cl.done })
	}
}

// coordClient is one client of the coordination service, over all the lives of its machine.
type coordClient struct {
	r       *Run
	rec     *recorder
	number  int
	choices *sim.Stream
	dial    func(host.Host) coord.Client
	leases  *Check
	watches *Check
	ops     int
	begun   bool // a lease has been judged
	done    bool
}

// Oracles of what clients of the coordination service are promised, beside that of its keys.
const (
	// oracleCoordLease: a lease that was kept alive, and its keys, are there for its time to live.
	oracleCoordLease = "coord/lease"
	// oracleCoordWatch: who began with the keys as they were and then took in every change that a watch brought
	// has the keys as they are.
	oracleCoordWatch = "coord/watch"
)

func (c *coordClient) boot(h host.Host) {
	c.done = false
	client := c.dial(h)
	h.Go("watch keys", func() {
		for c.r.Working() {
			c.watch(h, client)
		}
	})
	for !c.begun && c.r.Working() {
		c.ops++
		draw := sim.NewStream(c.choices.Uint64(), "lease")
		ctx, cancel := h.Clock().WithTimeout(context.Background(), 5*time.Second)
		c.keepAlive(ctx, h, client, fmt.Sprintf("lease/%d-%d", c.number, c.ops), draw)
		cancel()
	}
	for c.r.Working() {
		c.ops++
		draw := sim.NewStream(c.choices.Uint64(), "op")
		h.Clock().Sleep(sim.Exp(0, 150*time.Millisecond).Sample(draw.Uint64()))
		ctx, cancel := h.Clock().WithTimeout(context.Background(), sim.Exp(20*time.Millisecond, time.Second).Sample(draw.Uint64()))
		c.operate(ctx, h, client, draw)
		cancel()
	}
	c.done = true
}

func (c *coordClient) operate(ctx context.Context, h host.Host, client coord.Client, draw *sim.Stream) {
	key, value := fmt.Sprintf("test/%d", draw.N(4)), fmt.Sprintf("%d-%d", c.number, c.ops)
	switch draw.N(8) {
	case 0, 1:
		c.get(ctx, client, key)
	case 2:
		c.do(ctx, client, models.KindPut, models.Put{Key: key, Value: models.Text(value)}, coord.Txn{Then: []coord.Op{coord.Put(key, value)}})
	case 3:
		c.do(ctx, client, models.KindDelete, models.Delete{Key: key}, coord.Txn{Then: []coord.Op{coord.Delete(coord.One(key))}})
	case 4:
		c.compareAndSet(ctx, client, key, value, draw.N(2) == 0)
	case 5, 6:
		c.keepAlive(ctx, h, client, fmt.Sprintf("lease/%s", value), draw)
	default:
		c.leased(ctx, client, key, value, draw)
	}
}

// get reads a key, and returns its value.
func (c *coordClient) get(ctx context.Context, client coord.Client, key string) (found coord.KeyValue, there, ok bool) {
	t := c.rec.begin(c.number, models.KindGet, models.Get{Key: key})
	kv, there, err := coord.ReadKey(ctx, client, key)
	if err != nil {
		c.rec.end(t, c.number, models.Fail, nil)
		return coord.KeyValue{}, false, false
	}
	answer := models.Found{}
	if there {
		answer.Value = models.Text(kv.Value)
	}
	c.rec.end(t, c.number, models.Ok, answer)
	return kv, there, true
}

// do executes a transaction that has no condition.
func (c *coordClient) do(ctx context.Context, client coord.Client, kind string, input any, txn coord.Txn) {
	t := c.rec.begin(c.number, kind, input)
	_, err := client.Txn(ctx, txn)
	c.rec.end(t, c.number, outcomeOf(err), nil)
}

func outcomeOf(err error) models.Outcome {
	switch {
	case err == nil:
		return models.Ok
	case errors.Is(err, coord.ErrUnknown):
		return models.Unknown
	}
	return models.Fail // surely not done
}

// compareAndSet changes a key on condition that it is as it was read: by its value, each of which is put
// once, or by its revision.
func (c *coordClient) compareAndSet(ctx context.Context, client coord.Client, key, value string, byRevision bool) {
	old, there, ok := c.get(ctx, client, key)
	if !ok || !there {
		return
	}
	in := models.CompareAndSet{Key: key, Old: models.Text(old.Value), New: models.Text(value)}
	unchanged := coord.ValueIs(key, old.Value)
	if byRevision {
		unchanged = coord.ModifiedAt(key, old.ModRevision)
	}
	t := c.rec.begin(c.number, models.KindCAS, in)
	result, err := client.Txn(ctx, coord.Txn{If: []coord.Compare{unchanged}, Then: []coord.Op{coord.Put(key, value)}})
	if err == nil && !result.Succeeded {
		c.rec.end(t, c.number, models.Fail, models.Mismatch{})
		return
	}
	c.rec.end(t, c.number, outcomeOf(err), nil)
}

// leased puts a key under a lease that is then left alone, or revoked: from then on the key may vanish at
// any time, which is a deletion that nobody is told of. The lease is granted before that deletion is
// recorded: it can't be over any earlier.
func (c *coordClient) leased(ctx context.Context, client coord.Client, key, value string, draw *sim.Stream) {
	id := coord.LeaseID(1 + draw.Uint64()>>1)
	if err := client.Grant(ctx, id, time.Duration(draw.Between(int64(200*time.Millisecond), int64(3*time.Second)))); err != nil {
		return
	}
	vanish := c.rec.begin(-c.number, models.KindDelete, models.Delete{Key: key})
	t := c.rec.begin(c.number, models.KindPut, models.Put{Key: key, Value: models.Text(value)})
	_, err := client.Txn(ctx, coord.Txn{Then: []coord.Op{coord.PutLeased(key, value, id)}})
	outcome := outcomeOf(err)
	c.rec.end(t, c.number, outcome, nil)
	if outcome == models.Fail {
		c.rec.end(vanish, -c.number, models.Fail, nil)
		return
	}
	c.rec.end(vanish, -c.number, models.Unknown, nil)
	if draw.N(2) == 0 {
		_ = client.Revoke(ctx, id)
	}
}

// keepAlive puts a key under a lease, keeps it alive about when its time would be over, and looks whether it
// is there when it must be. The service's clock says how long that is: where faults act on it, the key may go
// at any time.
func (c *coordClient) keepAlive(ctx context.Context, h host.Host, client coord.Client, key string, draw *sim.Stream) {
	id := coord.LeaseID(1 + draw.Uint64()>>1)
	ttl := time.Duration(draw.Between(int64(20*time.Millisecond), int64(600*time.Millisecond)))
	steady := !slices.ContainsFunc(c.r.Plan().Faults, func(f faults.Fault) bool {
		return strings.HasPrefix(f.Kind, "clock.") && slices.Contains(f.Target, coordNode)
	})
	granted := h.Clock().Now()
	if client.Grant(ctx, id, ttl) != nil {
		return
	}
	if _, err := coord.Write(ctx, client, coord.PutLeased(key, "", id)); err != nil {
		return
	}
	h.Clock().Sleep(granted.Add(ttl).Sub(h.Clock().Now()) + time.Duration(draw.Between(-int64(ttl/4), int64(ttl/4))))
	for range 3 {
		begun := c.r.World.Now()
		if client.KeepAlive(ctx, id) != nil {
			return
		}
		_, there, err := coord.ReadKey(ctx, client, key)
		if spent := c.r.World.Now() - begun; err != nil || spent >= ttl {
			return
		}
		c.begun = true
		if !steady {
			// What is seen here says nothing of what the service's clock says.
			c.leases.Holds(true, "")
		} else {
			c.leases.Holds(there, "client %d: lease %x of %v was kept alive by a call that began at %v, and at %v its key is gone", c.number, uint64(id), ttl, begun, c.r.World.Now())
		}
		h.Clock().Sleep(ttl - ttl/8)
	}
}

// watch follows all keys of the clients for a while, from a snapshot on, and compares what it has come to
// with the keys as they were at that revision.
func (c *coordClient) watch(h host.Host, client coord.Client) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	keys := coord.Prefix("test/")
	s, err := client.Range(ctx, keys, 0)
	if err != nil {
		h.Clock().Sleep(100 * time.Millisecond)
		return
	}
	mine := map[string]coord.KeyValue{}
	for _, kv := range s.KVs {
		mine[kv.Key] = kv
	}
	w := client.Watch(keys, s.Revision+1)
	defer w.Close()
	for at := s.Revision; ; {
		events, err := w.Next(ctx)
		if err != nil {
			return // it fell behind, or the time is over
		}
		for _, e := range events {
			c.watches.Holds(e.ModRevision >= at, "client %d: a watch brings the change %v after one of revision %d", c.number, e, at)
			at = e.ModRevision
			if mine[e.Key] = e.KeyValue; e.Deleted() {
				delete(mine, e.Key)
			}
		}
		then, err := client.Range(ctx, keys, at)
		if err != nil {
			continue // compacted meanwhile
		}
		same := len(then.KVs) == len(mine)
		for _, kv := range then.KVs {
			same = same && mine[kv.Key] == kv
		}
		c.watches.Holds(same, "client %d: by a watch from revision %d on the keys at revision %d are %s, and they are %s",
			c.number, s.Revision+1, at, keysText(slices.Collect(maps.Values(mine))), keysText(then.KVs))
	}
}

func keysText(kvs []coord.KeyValue) string {
	slices.SortFunc(kvs, func(a, b coord.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	var texts []string
	for _, kv := range kvs {
		texts = append(texts, fmt.Sprintf("%s=%s@%d", kv.Key, kv.Value, kv.ModRevision))
	}
	return strings.Join(texts, " ")
}
