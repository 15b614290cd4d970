package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// Numbers of clients in histories that are not one of the workload's own.
const (
	rivalID = 1_000_000 + iota
	finalID
)

// opTimeout is how long clients wait for an operation before they give it up.
const opTimeout = 5 * time.Second

// clientConfig is how processes use persist when their leases are not what is tested: no lease
// runs out within a run.
var clientConfig = persist.Config{
	ReaderLease: 10 * time.Minute, HeartbeatInterval: 5 * time.Second, WriterLease: 10 * time.Minute,
	RetryMin: 4 * time.Millisecond, RetryMax: time.Second, PollMin: 10 * time.Millisecond, PollMax: 200 * time.Millisecond,
}

// shortLeases is how processes use persist when leases are to run out within a run.
var shortLeases = func() persist.Config {
	cfg := clientConfig
	cfg.ReaderLease, cfg.HeartbeatInterval, cfg.WriterLease = 3*time.Second, 400*time.Millisecond, 500*time.Millisecond
	return cfg
}()

// tidy makes a process do maintenance all the time: in runs as short as these little is collected
// otherwise, and little of what collection must leave alone is ever in danger.
func tidy(cfg persist.Config) persist.Config {
	cfg.RollupInterval, cfg.CollectInterval, cfg.MergeBatches = 4, 4, 2
	cfg.MaintenanceTimeout = 2 * time.Second
	return cfg
}

// reaperAhead is how far ahead the clock is of those who end other machines' leases, see
// persist.lease_expire.
const reaperAhead = time.Minute

// expirable is how processes use persist when the fault persist.lease_expire is to reach the leases of
// their readers, but not those of writers: a writer's lets it find out what became of its appends, and
// persist promises that only to those whose clocks agree.
var expirable = func() persist.Config {
	cfg := clientConfig
	cfg.ReaderLease = reaperAhead / 2
	return cfg
}()

// recorder writes operations into a history and into the world's trace, whose order of events is
// the history's clock. A nil recorder records nothing. Operations must be ended by the task that
// began them, and not by a deferred call: a task that is killed leaves its operation open.
type recorder struct {
	r *Run
	w *sim.World
	h *models.History
	// worked are the operations begun while the workload ran.
	worked int
	// brief are the shards that clients close.
	brief map[string]bool
}

func newRecorder(r *Run) *recorder {
	return &recorder{r: r, w: r.World, h: models.NewHistory(), brief: map[string]bool{}}
}

// briefShards are the shards that clients close, sorted.
func (r *recorder) briefShards() []string { return slices.Sorted(maps.Keys(r.brief)) }

func (r *recorder) begin(client int, kind string, input any) models.Token {
	if r == nil {
		return models.Token{}
	}
	at := r.w.Op(fmt.Sprintf("client %d calls %s%v", client, kind, input))
	if r.r.Working() {
		r.worked = r.h.Len() + 1
	}
	return r.h.Begin(client, kind, input, at, int64(r.w.Now()))
}

func (r *recorder) end(t models.Token, client int, outcome models.Outcome, output any) {
	if r == nil {
		return
	}
	text := fmt.Sprintf("client %d: %s", client, outcome)
	if output != nil {
		text = fmt.Sprintf("%s %v", text, output)
	}
	r.h.End(t, outcome, output, r.w.Op(text), int64(r.w.Now()))
}

// count is how many operations began, and how many of those begun while the workload ran succeeded.
func (r *recorder) count() (ops, succeeded int) {
	for _, op := range r.h.Ops()[:r.worked] {
		if op.Outcome == models.Ok {
			succeeded++
		}
	}
	return r.h.Len(), succeeded
}

func frontier(f persist.Frontier) models.Frontier {
	if t, ok := f.Time(); ok {
		return models.At(t)
	}
	return models.Closed()
}

func since(f persist.Frontier) models.Since { return models.Since{Since: frontier(f)} }

// appendRecorded appends and records the call and what came of it.
func appendRecorded(ctx context.Context, rec *recorder, d durability, client int, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) error {
	in := models.CompareAndAppend{Shard: string(w.Shard()), Expected: frontier(expected), New: frontier(next)}
	for _, u := range updates {
		in.Updates = append(in.Updates, models.Update{Data: u.Data, TS: u.Time, Diff: u.Diff})
	}
	t := rec.begin(client, models.KindCompareAndAppend, in)
	err := w.CompareAndAppend(ctx, updates, expected, next)
	d.check("append", err)
	rec.endAppend(t, client, err)
	return err
}

// appendBatchesRecorded is appendRecorded with the updates in several batches, which may hold more than
// the append is about: what lies outside of its bounds must never be seen.
func appendBatchesRecorded(ctx context.Context, rec *recorder, d durability, client int, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier, draw *sim.Stream) error {
	wide := next
	from, _ := expected.Time()
	from -= min(from, draw.N(3))
	if t, open := next.Time(); open {
		wide = persist.At(t + draw.N(3))
	}
	batches := make([]*persist.Batch, 1+draw.N(2))
	for i := range batches {
		b := w.NewBatch(persist.At(from))
		mine := []persist.Update{}
		for j, u := range updates {
			if j%len(batches) == i {
				mine = append(mine, u)
			}
		}
		for _, outside := range []uint64{from, beforeFrontier(wide)} {
			if !expected.LessEqual(outside) || next.LessEqual(outside) {
				mine = append(mine, persist.Update{Data: fmt.Sprintf("hidden-%d-%d", client, outside), Time: outside, Diff: 1})
			}
		}
		err := b.Add(ctx, mine...)
		if err == nil {
			batches[i], err = b.Finish(ctx, wide)
		}
		if err != nil {
			d.check("write batch", err)
			b.Discard()
			for _, done := range batches[:i] {
				done.Discard()
			}
			return err
		}
	}
	in := models.CompareAndAppend{Shard: string(w.Shard()), Expected: frontier(expected), New: frontier(next)}
	for _, u := range updates {
		in.Updates = append(in.Updates, models.Update{Data: u.Data, TS: u.Time, Diff: u.Diff})
	}
	t := rec.begin(client, models.KindCompareAndAppend, in)
	err := w.CompareAndAppendBatch(ctx, batches, expected, next, true)
	d.check("append", err)
	rec.endAppend(t, client, err)
	if err != nil && !errors.Is(err, persist.ErrIndeterminate) {
		for _, b := range batches {
			b.Discard()
		}
	}
	return err
}

// beforeFrontier is the last time before a frontier, or 0.
func beforeFrontier(f persist.Frontier) uint64 {
	t, _ := f.Time()
	return max(t, 1) - 1
}

// endAppend records what came of an append.
func (r *recorder) endAppend(t models.Token, client int, err error) {
	var mismatch *persist.UpperMismatch
	var invalid *persist.InvalidUsage
	switch {
	case err == nil:
		r.end(t, client, models.Ok, nil)
	case errors.As(err, &mismatch):
		r.end(t, client, models.Fail, models.UpperMismatch{Current: frontier(mismatch.Current)})
	case errors.As(err, &invalid):
		r.end(t, client, models.Fail, models.InvalidUsage{})
	case errors.Is(err, persist.ErrDeterminate) && !errors.Is(err, persist.ErrIndeterminate):
		r.end(t, client, models.Fail, nil)
	default:
		r.end(t, client, models.Unknown, nil)
	}
}

// upperRecorded fetches the upper and records it.
func upperRecorded(ctx context.Context, rec *recorder, d durability, client int, w *persist.WriteHandle) (persist.Frontier, error) {
	t := rec.begin(client, models.KindFetchUpper, models.FetchUpper{Shard: string(w.Shard())})
	upper, err := w.FetchRecentUpper(ctx)
	d.check("fetch upper", err)
	if err != nil {
		rec.end(t, client, models.Fail, nil)
		return upper, err
	}
	rec.end(t, client, models.Ok, models.Upper{Upper: frontier(upper)})
	return upper, nil
}

// reader is a read handle with the name under which it is recorded. It has a client of its own, so
// that it can be left to its lease: closing the client ends its heartbeats.
type reader struct {
	*persist.ReadHandle
	client *persist.Client
	name   string
	live   bool // its lease can't run out as long as it is used
	opened time.Duration
}

// abandon leaves the reader to its lease, as a process does that forgets about it.
func (r *reader) abandon() { r.client.Close() }

func openReaderRecorded(ctx context.Context, rec *recorder, d durability, client int, c *persist.Client, shard, name string, live bool) (*reader, error) {
	t := rec.begin(client, models.KindOpenReader, models.OpenReader{Shard: shard, Reader: name})
	h, err := c.OpenReader(ctx, persist.ShardID(shard))
	d.check("open reader", err)
	if err != nil {
		rec.end(t, client, models.Unknown, nil)
		c.Close()
		return nil, err
	}
	rec.end(t, client, models.Ok, since(h.Since()))
	return &reader{h, c, name, live, rec.w.Now()}, nil
}

// oracleLease is the oracle persist/lease: a reader's lease begins when it is registered, however long
// that took.
const oracleLease = "persist/lease"

// leaseGrace is how soon after its opening a reader's lease can't be over: what is left of the shortest
// lease when the answer to its registration took as long as calls are waited for.
const leaseGrace = time.Second

// checkLease judges that a reader's lease has run out.
func (r *recorder) checkLease(rd *reader) {
	// Where clocks differ a lease is over when somebody's clock says so; and a process that stood still
	// did not open its reader just now.
	for _, kind := range []string{"clock.skew", "clock.jump", "node.pause", "persist.lease_expire"} {
		if r.r.planned(kind) {
			return
		}
	}
	if age := r.w.Now() - rd.opened; age < leaseGrace {
		r.w.Fail(oracleLease, "the lease of reader %s of shard %s had run out %v after it was opened", rd.name, rd.Shard(), age)
	}
}

// snapshotRecorded reads the contents as of a time and records them.
func snapshotRecorded(ctx context.Context, rec *recorder, d durability, client int, r *reader, asOf uint64) ([]persist.Update, error) {
	t := rec.begin(client, models.KindSnapshot, models.Snapshot{Shard: string(r.Shard()), AsOf: asOf, Reader: r.name, Live: r.live})
	rows, err := r.SnapshotAndFetch(ctx, asOf)
	d.check("snapshot", err)
	if errors.Is(err, persist.ErrLeaseExpired) {
		rec.checkLease(r)
	}
	var gone *persist.SinceError
	switch {
	case err == nil:
		rec.end(t, client, models.Ok, contents(rows))
	case errors.As(err, &gone):
		rec.end(t, client, models.Fail, models.SinceError{Since: frontier(gone.Since)})
	case errors.Is(err, persist.ErrLeaseExpired):
		rec.end(t, client, models.Fail, models.LeaseExpired{})
	default:
		rec.end(t, client, models.Fail, nil)
	}
	return rows, err
}

// downgradeRecorded moves a reader's hold and records it.
func downgradeRecorded(ctx context.Context, rec *recorder, d durability, client int, r *reader, to persist.Frontier) error {
	t := rec.begin(client, models.KindDowngradeSince, models.DowngradeSince{Shard: string(r.Shard()), Reader: r.name, Since: frontier(to), Live: r.live})
	got, err := r.DowngradeSince(ctx, to)
	d.check("downgrade since", err)
	switch {
	case err == nil:
		rec.end(t, client, models.Ok, since(got))
	case errors.Is(err, persist.ErrLeaseExpired):
		rec.end(t, client, models.Fail, models.LeaseExpired{})
	default:
		rec.end(t, client, models.Unknown, nil)
	}
	return err
}
