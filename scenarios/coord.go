package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	for i, name := range shardNames("coord-client-", r.Int("coord-clients")) {
		cl := &coordClient{r: r, rec: rec, number: i + 1, choices: r.World.NewStream("workload", name)}
		r.AddNode(name, "coord client", cl.boot)
		r.Settled(name+" ending its last operation", func() bool { return cl.done })
	}
}

// coordClient is one client of the coordination service, over all the lives of its machine.
type coordClient struct {
	r       *Run
	rec     *recorder
	number  int
	choices *sim.Stream
	ops     int
	done    bool
}

func (c *coordClient) boot(h host.Host) {
	c.done = false
	client := coord.Dial(h, host.JoinAddr(coordNode, coordPort))
	for c.r.Working() {
		c.ops++
		draw := sim.NewStream(c.choices.Uint64(), "op")
		h.Clock().Sleep(sim.Exp(0, 150*time.Millisecond).Sample(draw.Uint64()))
		ctx, cancel := h.Clock().WithTimeout(context.Background(), sim.Exp(20*time.Millisecond, time.Second).Sample(draw.Uint64()))
		c.operate(ctx, client, draw)
		cancel()
	}
	c.done = true
}

func (c *coordClient) operate(ctx context.Context, client coord.Client, draw *sim.Stream) {
	key, value := fmt.Sprintf("test/%d", draw.N(4)), fmt.Sprintf("%d-%d", c.number, c.ops)
	switch draw.N(6) {
	case 0, 1:
		c.get(ctx, client, key)
	case 2:
		c.do(ctx, client, models.KindPut, models.Put{Key: key, Value: models.Text(value)}, coord.Txn{Then: []coord.Op{coord.Put(key, value)}})
	case 3:
		c.do(ctx, client, models.KindDelete, models.Delete{Key: key}, coord.Txn{Then: []coord.Op{coord.Delete(coord.One(key))}})
	case 4:
		c.compareAndSet(ctx, client, key, value)
	default:
		c.leased(ctx, client, key, value, draw)
	}
}

// get reads a key, and returns its value.
func (c *coordClient) get(ctx context.Context, client coord.Client, key string) (value string, there, ok bool) {
	t := c.rec.begin(c.number, models.KindGet, models.Get{Key: key})
	kv, there, err := coord.ReadKey(ctx, client, key)
	if err != nil {
		c.rec.end(t, c.number, models.Fail, nil)
		return "", false, false
	}
	found := models.Found{}
	if there {
		found.Value = models.Text(kv.Value)
	}
	c.rec.end(t, c.number, models.Ok, found)
	return kv.Value, there, true
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

// compareAndSet changes a key on condition that it is as it was read.
func (c *coordClient) compareAndSet(ctx context.Context, client coord.Client, key, value string) {
	old, there, ok := c.get(ctx, client, key)
	if !ok || !there {
		return
	}
	in := models.CompareAndSet{Key: key, Old: models.Text(old), New: models.Text(value)}
	t := c.rec.begin(c.number, models.KindCAS, in)
	result, err := client.Txn(ctx, coord.Txn{If: []coord.Compare{coord.ValueIs(key, old)}, Then: []coord.Op{coord.Put(key, value)}})
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
