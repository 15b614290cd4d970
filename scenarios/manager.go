package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// manager drives one machine's CollectionManager, over all its lives. It appends to the shared
// collections, and keeps a differential one of its own.
type manager struct {
	r       *Run
	c       *persistCluster
	name    string
	shared  []*grown
	own     string // the shard of its own collection
	choices *sim.Stream
	retry   storage.RetryConfig
	// shortLease is whether the leases of its handles can run out within the run.
	shortLease bool
	number     int
	want       map[string]int64 // what its own collection is to hold
	done       bool
}

func (m *manager) config() persist.Config {
	switch {
	case m.shortLease:
		return shortLeases
	case m.r.planned("persist.lease_expire"):
		return expirable
	}
	return clientConfig
}

// managed is one life.
type managed struct {
	*manager
	h      host.Host
	client *persist.Client
	m      *storage.CollectionManager
	// unanswered is how many commands each collection has not answered.
	unanswered map[storage.GlobalID]int
}

func (m *manager) boot(h host.Host) {
	m.done = false
	draw := sim.NewStream(m.choices.Uint64(), "life")
	readOnly := draw.N(2) == 0
	life := &managed{
		manager: m, h: h, client: m.c.client(h, m.config()), unanswered: map[storage.GlobalID]int{},
		m: storage.NewCollectionManager(h, storage.ManagerConfig{
			ReadOnly: readOnly, Retry: m.retry,
			BatchDuration: []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, time.Second}[draw.N(3)],
		}),
	}
	promotion := draw.N(20)
	for n := uint64(0); m.r.Working(); n++ {
		draw := sim.NewStream(m.choices.Uint64(), "command")
		h.Clock().Sleep(sim.Exp(0, m.r.Duration("command-pace")).Sample(draw.Uint64()))
		if n == promotion {
			life.m.AllowWrites()
		}
		life.step(draw)
	}
	life.finish()
	m.done = true
}

// step does one thing with one of the collections.
func (l *managed) step(draw *sim.Stream) {
	k := draw.N(uint64(len(l.shared)) + 1)
	if k == uint64(len(l.shared)) {
		l.change(draw)
		return
	}
	g := l.shared[k]
	id := storage.GlobalID(g.shard)
	sender, err := l.m.AppendOnlySender(id)
	if err != nil {
		l.registerShared(g)
		return
	}
	for range 1 + draw.N(3) {
		l.append(g, sender, draw)
	}
	if draw.N(10) == 0 {
		l.unregister(id)
	}
}

// append sends rows, now and then some that can't be appended.
func (l *managed) append(g *grown, sender *storage.AppendOnlySender, draw *sim.Stream) {
	l.number++
	rows := make([]storage.RowDiff, 1+draw.N(3))
	for i := range rows {
		rows[i] = storage.RowDiff{Row: fmt.Sprintf("%s-%d.%d", l.name, l.number, i), Diff: 1 + int64(draw.N(2))}
	}
	a := g.ledger.send(g.shard, rows)
	refused := draw.N(12) == 0
	if refused {
		rows[len(rows)-1].Diff = -1
		a.answer = appendNever
	}
	id := sender.ID()
	l.unanswered[id]++
	sender.Send(rows, func(err error) {
		l.unanswered[id]--
		var invalid *storage.InvalidAppend
		if refused {
			gone := errors.As(err, new(*storage.IdentifierInvalid))
			g.ledger.check.Holds(gone || errors.As(err, &invalid), "an append of diff -1 to %s was answered: %v", g.shard, err)
			return
		}
		g.ledger.answered(a, err)
	})
}

// registerShared begins to write one of the shared collections.
func (l *managed) registerShared(g *grown) {
	writer, openReader, ok := l.open(g.shard)
	if !ok {
		return
	}
	collection := storage.AppendOnlyCollection{Writer: writer}
	if g.aged {
		collection.OpenReader = openReader
		collection.Prepare = func(_ context.Context, contents []storage.RowDiff) ([]storage.RowDiff, error) {
			back := make([]storage.RowDiff, len(contents))
			for i, r := range contents {
				back[i] = storage.RowDiff{Row: r.Row, Diff: -r.Diff}
			}
			return back, nil
		}
	}
	_, err := l.m.RegisterAppendOnly(storage.GlobalID(g.shard), collection)
	l.registered(g.shard, err)
}

// registered judges the answer of a registration. An earlier task that did not end in time may be in the
// way.
func (l *managed) registered(shard string, err error) {
	var twice *storage.AlreadyRegistered
	if err != nil && !errors.As(err, &twice) {
		l.r.World.Fail("storage/ends", "%s registers %s: %v", l.name, shard, err)
	}
}

func (l *managed) open(shard string) (*persist.WriteHandle, func(context.Context) (*persist.ReadHandle, error), bool) {
	ctx, cancel := l.h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	writer, err := l.client.OpenWriter(ctx, persist.ShardID(shard))
	l.c.durable.check("open writer", err)
	return writer, func(ctx context.Context) (*persist.ReadHandle, error) {
		r, err := l.client.OpenReader(ctx, persist.ShardID(shard))
		l.c.durable.check("open reader", err)
		return r, err
	}, err == nil
}

// unregister ends a collection. Once that is done nothing may be left to answer.
func (l *managed) unregister(id storage.GlobalID) {
	ctx, cancel := l.h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	if l.m.Unregister(ctx, id) == nil && l.unanswered[id] != 0 {
		l.r.World.Fail("storage/ends", "%s has unregistered %s, and %d commands are not answered", l.name, id, l.unanswered[id])
	}
}

// change changes the machine's own collection.
func (l *managed) change(draw *sim.Stream) {
	sender := l.ownSender()
	if sender == nil {
		return
	}
	l.number++
	rows := []storage.RowDiff{{Row: fmt.Sprintf("%s-%d", l.name, l.number), Diff: 1}}
	if draw.N(3) == 0 { // one more of a row that may be there
		rows[0].Row = fmt.Sprintf("%s-%d", l.name, 1+draw.N(uint64(l.number)))
	}
	for _, r := range rows {
		l.want[r.Row] += r.Diff
	}
	l.write(sender, rows)
	if draw.N(10) == 0 {
		l.unregister(sender.ID())
	}
}

func (l *managed) write(sender *storage.DifferentialSender, rows []storage.RowDiff) {
	id := sender.ID()
	l.unanswered[id]++
	sender.Send(storage.Append{Updates: rows}, func(err error) {
		l.unanswered[id]--
		l.c.durable.check("command", err)
	})
}

// ownSender is the sender of the machine's own collection, registered if it is not, and then told what
// is wanted.
func (l *managed) ownSender() *storage.DifferentialSender {
	id := storage.GlobalID(l.own)
	if sender, err := l.m.DifferentialSender(id); err == nil {
		return sender
	}
	writer, openReader, ok := l.open(l.own)
	if !ok {
		return nil
	}
	sender, err := l.m.RegisterDifferential(id, storage.DifferentialCollection{Writer: writer, OpenReader: openReader})
	l.registered(l.own, err)
	if err != nil {
		return nil
	}
	var wanted []storage.RowDiff
	for _, r := range l.wanted() {
		wanted = append(wanted, storage.RowDiff{Row: r.Data, Diff: r.Diff})
	}
	l.write(sender, wanted)
	return sender
}

// finish has what is wanted written, and shuts everything down.
func (l *managed) finish() {
	l.m.AllowWrites()
	for {
		if sender := l.ownSender(); sender != nil && sender.Write(context.Background(), storage.Append{}) == nil {
			break
		}
		l.h.Clock().Sleep(100 * time.Millisecond)
	}
	if err := l.m.Shutdown(context.Background()); err != nil {
		l.r.World.Fail("storage/ends", "%s shuts its manager down: %v", l.name, err)
	}
	for _, id := range append([]storage.GlobalID{storage.GlobalID(l.own)}, l.sharedIDs()...) {
		if n := l.unanswered[id]; n != 0 {
			l.r.World.Fail("storage/ends", "%s has shut its manager down, and %d commands to %s are not answered", l.name, n, id)
		}
	}
}

func (m *manager) sharedIDs() []storage.GlobalID {
	ids := make([]storage.GlobalID, len(m.shared))
	for i, g := range m.shared {
		ids[i] = storage.GlobalID(g.shard)
	}
	return ids
}

// wanted is what the machine's own collection is to hold, sorted.
func (m *manager) wanted() []models.Row {
	rows := make([]models.Row, 0, len(m.want))
	for data, diff := range m.want {
		rows = append(rows, models.Row{Data: data, Diff: diff})
	}
	return models.Consolidate(rows)
}

// compare holds the machine's own collection, which nobody else writes, against what it wants.
func (m *manager) compare(check *Check) error {
	h := m.r.World.Host()
	client := m.c.client(h, clientConfig)
	defer client.Close()
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	rows, err := (&collection{r: m.r, c: m.c, shard: m.own}).read(ctx, client)
	m.c.durable.check("observe", err)
	if err != nil {
		return fmt.Errorf("collection %s: %w", m.own, err)
	}
	found := models.CheckConverged(m.own, m.wanted(), rows, m.r.World.Events(), int64(m.r.World.Now()))
	check.judged++
	for _, v := range found {
		check.violate(v)
	}
	return nil
}
