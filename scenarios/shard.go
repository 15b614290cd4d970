package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

var shardSettings = []Setting{
	{Name: "clients", Default: "4", Doc: "machines that append to and read the shards", Check: atLeastOne},
	{Name: "shards", Default: "3", Doc: "shards they share, at most", Check: atLeastOne},
	{Name: "pace", Default: "120ms", Doc: "mean time between two operations of a client; some runs are up to 4 times faster"},
}

var shardOracles = []string{models.OracleLinearizable, models.OracleDefinite, models.OracleListen, oracleReplicated, oracleDurable}

// shard is the scenario of direct operations on shards.
func shard() *Scenario {
	return &Scenario{
		Name:     "shard",
		Doc:      "clients and rivals append to, read and downgrade a few persist shards directly",
		Settings: shardSettings,
		Oracles:  shardOracles,
		Build: func(r *Run) {
			c := addPersist(r)
			names := shardNames("s", r.Int("shards"))
			rec := addShardClients(r, c, names)
			c.rivals(shardRivals(c, rec, names))
			c.unreliable(append(clientNames(r), rivalNode)...)
		},
	}
}

// shardModel is what the histories of shards can be judged by elsewhere.
var shardModel = func() models.Model {
	m, err := models.Lookup("shard")
	if err != nil {
		panic(err)
	}
	return m
}()

func shardNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return names
}

// shardRivals makes the shards targets of the rival, as one more client of their history.
func shardRivals(c *persistCluster, rec *recorder, shards []string) []rivalTarget {
	targets := make([]rivalTarget, len(shards))
	for i, name := range shards {
		targets[i] = rivalTarget{name, func(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) {
			_ = appendRecorded(ctx, rec, c.durable, rivalID, w, updates, expected, next)
		}}
	}
	return targets
}

func clientNames(r *Run) []string { return shardNames("client-", r.Int("clients")) }

// addShardClients adds the clients, the final reads and the oracles.
func addShardClients(r *Run, c *persistCluster, shards []string) *recorder {
	rec := newRecorder(r)
	r.Count(rec.count)
	mix := drawMix(r.World, len(shards))
	same := r.Check(oracleReplicated)
	for i, name := range clientNames(r) {
		cl := &shardClient{r: r, c: c, rec: rec, same: same, number: i + 1, shards: shards, mix: mix}
		cl.choices = r.World.NewStream("workload", name)
		r.AddNode(name, "client", cl.boot)
		r.Settled(name+" ending its last operation", func() bool { return cl.done })
	}
	r.Final(func() error { return readAll(r, c, rec, same, shards) })
	last := addUndertaker(r, c)
	r.Final(func() error {
		r.World.Sleep(quiet)
		for _, name := range rec.briefShards() {
			if err := last.finalize(name); err != nil {
				return fmt.Errorf("shard %s: %w", name, err)
			}
		}
		return nil
	})
	r.Record(shardModel, rec.h)
	r.Judge(models.Linearizable{History: rec.h})
	r.Judge(models.Definite{History: rec.h})
	r.Judge(models.Listens{History: rec.h})
	return rec
}

// opKinds are what clients do. Which of them a run does, and how much, is drawn per run: a mix that
// always does everything keeps some states from ever building up.
type opKind int

const (
	opAppend opKind = iota
	opFetchUpper
	opSnapshot
	opDowngrade
	opReopen
	opCritical
	opMisuse
	opKinds
)

type opMix struct {
	weight [opKinds]uint64
	total  uint64
	// shortLease is whether the leases of readers and writers can run out within the run.
	shortLease bool
	// tidy is whether clients do maintenance all the time.
	tidy bool
	// patient is whether clients wait so long before they try again that others get in between.
	patient bool
	// shards is how many of the shards are used, and hurry how many times faster than the pace
	// clients are: some runs are crowded.
	shards uint64
	hurry  time.Duration
}

func drawMix(w *sim.World, shards int) opMix {
	var m opMix
	for k := range opKinds {
		s := w.NewStream("workload", "mix", fmt.Sprint(int(k)))
		// Appends and snapshots are always on: without them nothing can be judged.
		if k == opAppend || k == opSnapshot || s.N(3) > 0 {
			m.weight[k] = 1 + s.N(100)
		}
		m.total += m.weight[k]
	}
	m.shortLease = w.NewStream("workload", "lease").N(3) == 0
	m.tidy = w.NewStream("workload", "tidy").N(3) == 0
	m.patient = w.NewStream("workload", "patient").N(3) == 0
	m.shards = 1 + w.NewStream("workload", "shards").N(uint64(shards))
	m.hurry = []time.Duration{1, 1, 2, 4}[w.NewStream("workload", "hurry").N(4)]
	return m
}

func (m *opMix) pick(s *sim.Stream) opKind {
	n := s.N(m.total)
	for k, weight := range m.weight {
		if n < weight {
			return opKind(k)
		}
		n -= weight
	}
	panic("scenarios: weights that don't add up")
}

// shardClient is one client, over all the lives of its machine.
type shardClient struct {
	r       *Run
	c       *persistCluster
	rec     *recorder
	same    *Check // of the shard that all write alike
	number  int
	shards  []string
	mix     opMix
	choices *sim.Stream // one choice an operation: the address of all it draws
	ops     int
	done    bool
}

// shardHandles are what a client process holds of one shard.
type shardHandles struct {
	writer   *persist.WriteHandle
	reader   *reader
	critical *persist.SinceHandle
	upper    persist.Frontier // as last seen
}

func (c *shardClient) config() persist.Config {
	cfg := clientConfig
	switch {
	case c.mix.shortLease:
		cfg = shortLeases
	case !c.live():
		cfg = expirable
	}
	if c.mix.tidy {
		cfg = tidy(cfg)
	}
	if c.mix.patient {
		cfg.RetryMin = 250 * time.Millisecond
	}
	return cfg
}

// live tells whether leases of readers can't run out within the run.
func (c *shardClient) live() bool {
	return !c.mix.shortLease && !c.r.planned("persist.lease_expire")
}

func (c *shardClient) boot(h host.Host) {
	c.done = false
	client := c.c.client(h, c.config())
	held := map[string]*shardHandles{}
	follower := &listener{shardClient: c, h: h}
	h.Go("listener", follower.run)
	h.Go("replica", (&replica{c, h, c.same}).run)
	for c.r.Working() {
		c.ops++
		draw := sim.NewStream(c.choices.Uint64(), "op")
		h.Clock().Sleep(sim.Exp(0, c.r.Duration("pace")/c.mix.hurry).Sample(draw.Uint64()))
		name := c.shards[draw.N(c.mix.shards)]
		if draw.N(12) == 0 {
			name = c.brief()
		}
		if held[name] == nil {
			held[name] = &shardHandles{}
		}
		// Some callers are in a hurry: what they give up is left open.
		timeout := opTimeout
		if draw.N(6) == 0 {
			timeout = sim.Exp(2*time.Millisecond, 30*time.Millisecond).Sample(draw.Uint64())
		}
		ctx, cancel := h.Clock().WithTimeout(context.Background(), timeout)
		c.operate(ctx, h, client, name, held[name], draw)
		cancel()
	}
	c.done = true
}

// brief names a shard that all clients come by at about the same time, and close.
func (c *shardClient) brief() string {
	name := fmt.Sprintf("brief-%d", 1+c.ops/25)
	c.rec.brief[name] = true
	return name
}

// operate does one operation. Errors are recorded where they say something about the shard;
// otherwise the client just goes on.
func (c *shardClient) operate(ctx context.Context, h host.Host, client *persist.Client, name string, s *shardHandles, draw *sim.Stream) {
	if s.writer == nil {
		w, err := client.OpenWriter(ctx, persist.ShardID(name))
		c.c.durable.check("open writer", err)
		if err != nil {
			return
		}
		s.writer = w
	}
	kind := c.mix.pick(draw)
	if kind >= opSnapshot && kind <= opReopen && (s.reader == nil || kind == opReopen) {
		if s.reader != nil {
			// Where leases run out within the run, half of the readers are left to them.
			if c.live() || draw.N(2) == 0 {
				c.c.durable.check("expire reader", s.reader.Expire(ctx))
			}
			s.reader.abandon()
			s.reader = nil
		}
		id := fmt.Sprintf("reader-%d-%d", c.number, c.ops)
		r, err := openReaderRecorded(ctx, c.rec, c.c.durable, c.number, c.c.client(h, c.config()), name, id, c.live())
		if err != nil {
			return
		}
		s.reader = r
	}
	switch kind {
	case opAppend:
		c.append(ctx, s, draw)
	case opFetchUpper:
		if upper, err := upperRecorded(ctx, c.rec, c.c.durable, c.number, s.writer); err == nil {
			s.upper = upper
		}
	case opSnapshot, opReopen:
		c.snapshot(ctx, s, draw)
		h.Sometimes("shard: a reader opens at a since that has moved", s.reader != nil && s.reader.Since() != persist.At(0))
	case opDowngrade:
		c.downgrade(ctx, s, draw)
	case opCritical:
		c.moveCritical(ctx, client, name, s, draw)
	case opMisuse:
		c.misuse(ctx, s, draw)
	}
}

// time is the element of an open upper; of a closed one it is 0, which these workloads never make.
func (s *shardHandles) time() uint64 {
	t, _ := s.upper.Time()
	return t
}

func (c *shardClient) append(ctx context.Context, s *shardHandles, draw *sim.Stream) {
	switch draw.N(10) {
	case 0, 1, 2:
		upper, err := upperRecorded(ctx, c.rec, c.c.durable, c.number, s.writer)
		if err != nil {
			return
		}
		s.upper = upper
	case 3: // something old
		s.upper = persist.At(draw.N(s.time() + 1))
	case 4: // something that may yet come
		s.upper = persist.At(s.time() + draw.N(3))
	}
	t := s.time()
	width := draw.N(4) // 0: an empty append that leaves the upper where it is
	updates := make([]persist.Update, 0, 3)
	for i := uint64(0); width > 0 && i < draw.N(4); i++ {
		updates = append(updates, persist.Update{
			Data: fmt.Sprintf("c%d-%d-%d", c.number, c.ops, i),
			Time: t + draw.N(width),
			Diff: []int64{1, 1, 2, -1}[draw.N(4)],
		})
	}
	next := persist.At(t + width)
	if c.rec.brief[string(s.writer.Shard())] && draw.N(6) == 0 {
		next = persist.Empty()
	}
	appends := appendRecorded
	if draw.N(3) == 0 {
		appends = func(ctx context.Context, rec *recorder, d durability, client int, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) error {
			return appendBatchesRecorded(ctx, rec, d, client, w, updates, expected, next, draw)
		}
	}
	err := appends(ctx, c.rec, c.c.durable, c.number, s.writer, updates, s.upper, next)
	var mismatch *persist.UpperMismatch
	switch {
	case err == nil:
		s.upper = next
	case errors.As(err, &mismatch):
		s.upper = mismatch.Current
	}
}

func (c *shardClient) snapshot(ctx context.Context, s *shardHandles, draw *sim.Stream) {
	t := s.time()
	asOf := t
	switch draw.N(8) {
	case 0: // not yet there: has to wait
		asOf = t + draw.N(2)
	case 1, 2: // anywhere, often below the since
		asOf = draw.N(t + 1)
	case 3, 4, 5: // lately
		asOf = t - min(t, 1+draw.N(8))
	default:
		asOf = t - min(t, 1)
	}
	_, err := snapshotRecorded(ctx, c.rec, c.c.durable, c.number, s.reader, asOf)
	if errors.Is(err, persist.ErrLeaseExpired) {
		s.reader.abandon()
		s.reader = nil
	}
}

func (c *shardClient) downgrade(ctx context.Context, s *shardHandles, draw *sim.Stream) {
	to := persist.At(s.time() - min(s.time(), draw.N(12)))
	if errors.Is(downgradeRecorded(ctx, c.rec, c.c.durable, c.number, s.reader, to), persist.ErrLeaseExpired) {
		s.reader.abandon()
		s.reader = nil
	}
}

// oracleFencing is the oracle persist/fencing: who is told for sure that its downgrade of a critical since
// was refused has not been let in.
const oracleFencing = "persist/fencing"

// criticalID is the one critical hold that all clients fight for, each under opaques of its own
// that only grow.
const criticalID = "controller"

func (c *shardClient) moveCritical(ctx context.Context, client *persist.Client, name string, s *shardHandles, draw *sim.Stream) {
	if s.critical == nil {
		t := c.rec.begin(c.number, models.KindOpenCritical, models.OpenCritical{Shard: name, ID: criticalID})
		h, err := client.OpenCritical(ctx, persist.ShardID(name), criticalID, 0)
		c.c.durable.check("open critical", err)
		if err != nil {
			c.rec.end(t, c.number, models.Unknown, nil)
			return
		}
		c.rec.end(t, c.number, models.Ok, models.Hold{Opaque: uint64(h.Opaque()), Since: frontier(h.Since())})
		s.critical = h
	}
	expected, next := s.critical.Opaque(), persist.Opaque(c.ops*1000+c.number)
	if next <= expected {
		next = expected
	}
	to := persist.At(s.time() - min(s.time(), draw.N(12)))
	t := c.rec.begin(c.number, models.KindCompareAndDowngradeSince, models.CompareAndDowngradeSince{
		Shard: name, ID: criticalID, Expected: uint64(expected), New: uint64(next), Since: frontier(to),
	})
	got, err := s.critical.CompareAndDowngradeSince(ctx, expected, next, to)
	c.c.durable.check("downgrade critical since", err)
	var fenced *persist.OpaqueMismatch
	if errors.As(err, &fenced) && !fenced.Uncertain && fenced.Actual == next && next != expected {
		// Nobody else leaves an opaque like that.
		c.r.World.Fail(oracleFencing, "shard %s: a downgrade of %s from opaque %d to %d was refused because it is held under %d, which it left itself", name, criticalID, expected, next, fenced.Actual)
	}
	switch {
	case err == nil:
		c.rec.end(t, c.number, models.Ok, since(got))
	case errors.As(err, &fenced) && !fenced.Uncertain:
		c.rec.end(t, c.number, models.Fail, models.OpaqueMismatch{Actual: uint64(fenced.Actual)})
	case errors.Is(err, persist.ErrDeterminate) && !errors.Is(err, persist.ErrIndeterminate):
		c.rec.end(t, c.number, models.Fail, nil)
	default:
		c.rec.end(t, c.number, models.Unknown, nil)
	}
}

// misuse asks for what can't be right.
func (c *shardClient) misuse(ctx context.Context, s *shardHandles, draw *sim.Stream) {
	t := s.time()
	row := persist.Update{Data: fmt.Sprintf("bad-%d-%d", c.number, c.ops), Time: t, Diff: 1}
	expected, next := persist.At(t+1), persist.At(t+2)
	switch draw.N(3) {
	case 0: // before the expected upper
	case 1: // at the new upper
		row.Time = t + 2
	default: // no room
		expected, next = persist.At(t), persist.At(t)
	}
	_ = appendRecorded(ctx, c.rec, c.c.durable, c.number, s.writer, []persist.Update{row}, expected, next)
}

// longAfter is later than any time that clients append at.
const longAfter = 1 << 40

// readAll reads what each shard holds in the end, so that what became of every append is known.
func readAll(r *Run, c *persistCluster, rec *recorder, same *Check, shards []string) error {
	h := r.World.Host()
	client := c.client(h, clientConfig)
	defer client.Close()
	for _, name := range slices.Concat(shards, rec.briefShards()) {
		ctx, cancel := h.Clock().WithTimeout(context.Background(), 30*time.Second)
		err := readLast(ctx, rec, c, client, name)
		if err == nil {
			r.checkHistory(ctx, client, name)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("shard %s: %w", name, err)
		}
	}
	ctx, cancel := h.Clock().WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	last := &replica{&shardClient{r: r, c: c}, h, same}
	if err := last.final(ctx, client); err != nil {
		return fmt.Errorf("shard %s: %w", replicatedShard, err)
	}
	return nil
}

func readLast(ctx context.Context, rec *recorder, c *persistCluster, client *persist.Client, name string) error {
	w, err := client.OpenWriter(ctx, persist.ShardID(name))
	if err != nil {
		return err
	}
	upper, err := upperRecorded(ctx, rec, c.durable, finalID, w)
	if err != nil {
		return err
	}
	rd, err := openReaderRecorded(ctx, rec, c.durable, finalID, c.client(c.r.World.Host(), clientConfig), name, "reader-final-"+name, true)
	if err != nil {
		return err
	}
	defer rd.abandon()
	if err := listenToAll(ctx, rec, c.durable, client, w, upper); err != nil {
		return err
	}
	low, _ := rd.Since().Time()
	t, open := upper.Time()
	if !open {
		t = max(low, longAfter) + 1
		low = t - 1
	}
	for asOf := low; asOf < t; asOf++ {
		if t-asOf > 4 && (asOf-low)%7 != 0 {
			continue // the last ones, and a sample of the others
		}
		if _, err := snapshotRecorded(ctx, rec, c.durable, finalID, rd, asOf); err != nil {
			return err
		}
	}
	return nil
}
