package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// oracleAppendOnly is the oracle storage/append-only: what was acknowledged to be appended is in the
// collection once, what was refused is not, and what was left open is in it once or not at all, always
// all of a command's rows or none.
const oracleAppendOnly = "storage/append-only"

// managers is how many machines have a CollectionManager. They share their append-only collections.
const managers = 2

// addManagers adds the machines and the oracle. It returns the shards as the rival's targets, and the
// machines.
func addManagers(r *Run, c *persistCluster) (targets []rivalTarget, machines []string) {
	check := r.Check(oracleAppendOnly)
	ledger := &appendLedger{r: r, c: c, check: check, rows: map[string]*appended{}}
	shared := []*grown{{ledger: ledger, shard: "a1"}, {ledger: ledger, shard: "a2"}, {ledger: ledger, shard: "aged", aged: true}}
	r.Count(func() (int, int) { return ledger.sent, ledger.acknowledged })
	for _, g := range shared {
		targets = append(targets, rivalTarget{g.shard, g.rivalAppend})
	}
	for i, name := range shardNames("manager-", managers) {
		m := &manager{r: r, c: c, name: name, shared: shared, own: fmt.Sprintf("m%d", i+1), want: map[string]int64{}}
		m.choices = r.World.NewStream("workload", name)
		m.shortLease = r.World.NewStream("workload", name, "lease").N(2) == 0
		m.retry = drawRetry(r.World.NewStream("workload", name, "retry"))
		r.AddNode(name, "manager", m.boot)
		r.Settled(name+" having all its commands answered", func() bool { return m.done })
		r.Final(func() error { return m.compare(check) })
		machines = append(machines, name)
	}
	for _, g := range shared {
		r.World.Go("observe "+g.shard, g.observeNowAndThen)
		r.Final(func() error { return g.observeLast() })
	}
	return targets, machines
}

// appendLedger is what was sent to append-only collections, and what became of it.
type appendLedger struct {
	r                  *Run
	c                  *persistCluster
	check              *Check
	rows               map[string]*appended // by row; all rows are different
	sent, acknowledged int
	rivals             int
}

// appended is a command.
type appended struct {
	shard  string
	rows   []storage.RowDiff
	answer appendAnswer
}

type appendAnswer int

const (
	appendOpen  appendAnswer = iota // it may be in the shard, now or later
	appendDone                      // it is
	appendNever                     // it is not and will not be
)

func (l *appendLedger) send(shard string, rows []storage.RowDiff) *appended {
	a := &appended{shard: shard, rows: rows}
	for _, r := range rows {
		l.rows[r.Row] = a
	}
	l.sent++
	l.r.World.Op(fmt.Sprintf("append of %d rows to %s, the first is %s", len(rows), shard, rows[0].Row))
	return a
}

// answered takes down what a command's sender was told.
func (l *appendLedger) answered(a *appended, err error) {
	var gaveUp *storage.GaveUp
	var invalid *storage.IdentifierInvalid
	var readOnly *storage.ReadOnly
	l.r.World.Op(fmt.Sprintf("append of %s to %s: %v", a.rows[0].Row, a.shard, err))
	switch {
	case err == nil:
		a.answer = appendDone
		if l.r.Working() {
			l.acknowledged++
		}
	case errors.As(err, &gaveUp), errors.As(err, &invalid), errors.As(err, &readOnly):
		a.answer = appendNever
	case errors.Is(err, persist.ErrIndeterminate):
	default:
		l.c.durable.check("append to a collection", err)
		l.check.Holds(false, "append of %s to %s was answered: %v", a.rows[0].Row, a.shard, err)
	}
}

// grown is an append-only collection.
type grown struct {
	ledger *appendLedger
	shard  string
	// aged is whether each task that begins takes back all that former ones have appended.
	aged bool
}

func (g *grown) rivalAppend(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) {
	if len(updates) == 0 {
		g.ledger.c.durable.check("append", w.CompareAndAppend(ctx, nil, expected, next))
		return
	}
	g.ledger.rivals++
	rows := make([]storage.RowDiff, len(updates))
	for i := range updates {
		updates[i].Data = fmt.Sprintf("rival-%s-%d-%d", g.shard, g.ledger.rivals, i)
		rows[i] = storage.RowDiff{Row: updates[i].Data, Diff: updates[i].Diff}
	}
	a := g.ledger.send(g.shard, rows)
	err := w.CompareAndAppend(ctx, updates, expected, next)
	g.ledger.c.durable.check("append", err)
	switch {
	case err == nil:
		a.answer = appendDone
	case !errors.Is(err, persist.ErrIndeterminate):
		a.answer = appendNever
	}
}

// observeNowAndThen holds the collection against the ledger during the run.
func (g *grown) observeNowAndThen() {
	r := g.ledger.r
	h := r.World.Host()
	client := g.ledger.c.client(h, clientConfig)
	pace := r.World.NewStream("workload", "observe", g.shard)
	for r.Phase() <= PhaseSettle {
		h.Clock().Sleep(sim.Exp(0, time.Second).Sample(pace.Uint64()))
		_ = g.observe(h, client)
	}
	client.Close()
}

func (g *grown) observeLast() error {
	h := g.ledger.r.World.Host()
	client := g.ledger.c.client(h, clientConfig)
	defer client.Close()
	return g.observe(h, client)
}

func (g *grown) observe(h host.Host, client *persist.Client) error {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	var before []*appended // what is in the shard already
	for _, a := range g.ledger.rows {
		if a.shard == g.shard && a.answer == appendDone {
			before = append(before, a)
		}
	}
	rows, err := (&collection{r: g.ledger.r, c: g.ledger.c, shard: g.shard}).read(ctx, client)
	g.ledger.c.durable.check("observe", err)
	if err != nil {
		return fmt.Errorf("collection %s: %w", g.shard, err)
	}
	g.judge(rows, before)
	return nil
}

// judge holds contents against the ledger, of which the given commands must be in it.
func (g *grown) judge(rows []models.Row, before []*appended) {
	check := g.ledger.check
	count := make(map[string]int64, len(rows))
	for _, row := range rows {
		count[row.Data] = row.Diff
	}
	for _, row := range rows {
		a := g.ledger.rows[row.Data]
		if !check.Holds(a != nil && a.shard == g.shard, "%s holds row %s, which nobody sent there", g.shard, row.Data) {
			continue
		}
		check.Holds(a.answer != appendNever, "%s holds row %s, and its append was refused", g.shard, row.Data)
		for _, r := range a.rows {
			check.Holds(count[r.Row] == r.Diff, "%s holds row %s %d times, and %s, of the same append, says %d", g.shard, r.Row, count[r.Row], row.Data, r.Diff)
		}
	}
	if g.aged {
		return // what was acknowledged may have been taken back since
	}
	slices.SortFunc(before, func(a, b *appended) int { return strings.Compare(a.rows[0].Row, b.rows[0].Row) })
	for _, a := range before {
		for _, r := range a.rows {
			check.Holds(count[r.Row] == r.Diff, "%s holds row %s %d times, and was acknowledged to hold it %d times", g.shard, r.Row, count[r.Row], r.Diff)
		}
	}
}
