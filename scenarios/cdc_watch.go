package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// cdcWatch is told what captures and the source do, and tells the model.
type cdcWatch struct {
	c     *cdcCluster
	model *models.Checkpoints

	lastCommit model.Ts
	added      map[model.KeySpanID]model.Ts
	dropped    map[model.KeySpanID]model.Ts
	commits    []model.Ts // of transactions

	machines map[model.CaptureID]string // of the captures that are alive
	runs     map[spanOn]models.RunID    // that are going on
	count    uint64
	begun    map[string]uint64                 // the checkpoint with which a changefeed began
	stored   map[string]uint64                 // the last that was observed
	seen     coord.Revision                    // up to which the service's changes are known
	owners   map[coord.Revision]coord.Revision // who held the office when a checkpoint was stored
	pending  map[string]map[spanOn]bool
	atTick   map[string]func() // see onTick

	owner     model.CaptureID
	lastOwner coord.Revision // its epoch
	changedAt time.Duration  // when the owner changed, if no checkpoint was stored since
	recover   time.Duration  // the longest time from an owner's change to the next checkpoint
	lag       time.Duration  // the longest time that a checkpoint was behind
	advances  int64          // how often a checkpoint advanced under faults
}

// spanOn is a key span of a changefeed on a capture.
type spanOn struct {
	feed    string
	span    model.KeySpanID
	capture model.CaptureID
}

func newCDCWatch(c *cdcCluster) *cdcWatch {
	return &cdcWatch{
		c: c, model: models.NewCheckpoints(),
		added: map[model.KeySpanID]model.Ts{}, dropped: map[model.KeySpanID]model.Ts{},
		machines: map[model.CaptureID]string{}, runs: map[spanOn]models.RunID{},
		begun: map[string]uint64{}, stored: map[string]uint64{},
		owners: map[coord.Revision]coord.Revision{}, pending: map[string]map[spanOn]bool{}, atTick: map[string]func(){}, changedAt: -1,
	}
}

func (w *cdcWatch) moment(format string, args ...any) models.Moment {
	world := w.c.r.World
	return models.Moment{Event: world.Op(fmt.Sprintf(format, args...)), NS: int64(world.Now())}
}

// onTick has something done when a machine's capture is next about to schedule, instead of what was to be
// done then before; nil is nothing.
func (w *cdcWatch) onTick(machine string, do func()) { w.atTick[machine] = do }

// committed is told of what takes effect at the source, some of it again when the source starts anew.
func (w *cdcWatch) committed(commit source.Commit) {
	if commit.Ts <= w.lastCommit {
		return
	}
	w.lastCommit = commit.Ts
	m := w.moment("the source commits %d rows at %d", len(commit.Rows), commit.Ts)
	if commit.Added != nil {
		w.added[commit.Added.ID] = commit.Ts
		for _, feed := range w.c.feeds {
			if begun, ok := w.begun[feed]; ok {
				w.model.Wanted(feed, commit.Added.ID, max(commit.Ts, begun))
			}
		}
	}
	for _, row := range commit.Rows {
		w.model.Committed(row.Span, changeOf(row), m)
	}
	if commit.Dropped != nil {
		w.dropped[commit.Dropped.ID] = commit.Ts
		w.model.Dropped(commit.Dropped.ID, commit.Ts)
	}
	if commit.Added == nil && commit.Dropped == nil {
		w.commits = append(w.commits, commit.Ts)
	}
}

func changeOf(r source.Row) models.Change {
	return models.Change{Key: r.Key, Value: r.Value, Deleted: r.Deleted, CommitTS: r.CommitTs}
}

// on is the observer of a machine.
func (w *cdcWatch) on(h host.Host) cdc.Observer { return machineWatch{w, h.Name()} }

type machineWatch struct {
	*cdcWatch
	machine string
}

// Observe implements cdc.Observer.
func (w machineWatch) Observe(e cdc.Event) {
	w.catchUp()
	m := w.moment("%s: %T %+v", w.machine, e, brief(e))
	switch e := e.(type) {
	case cdc.CaptureStarted:
		w.machines[e.Capture] = e.Machine
	case cdc.CaptureStopped:
		w.gone(e.Capture)
	case cdc.SchedulerStarted:
		w.model.Scheduling(e.Feed, uint64(e.Epoch))
	case cdc.SchedulerTicked:
		if do := w.atTick[w.machine]; do != nil {
			delete(w.atTick, w.machine)
			do()
		}
		w.model.Knows(e.Feed, uint64(e.Epoch), e.Captures)
	case cdc.Synced:
		w.model.Synced(e.Feed, uint64(e.Epoch), e.Capture)
	case cdc.Dispatched:
		w.model.Dispatched(e.Feed, uint64(e.Epoch), e.Span, e.Capture, e.Remove, m)
		w.dispatched(spanOn{e.Feed, e.Span, e.Capture}, true, e.Remove)
	case cdc.OperationFinished:
		w.dispatched(spanOn{e.Feed, e.Span, e.Capture}, false, false)
	case cdc.CheckpointStored:
		if owner, known := w.owners[e.Revision]; known && e.Outcome == cdc.Done {
			delete(w.owners, e.Revision)
			w.model.StoredWhile(e.Feed, uint64(e.Epoch), uint64(owner), e.CheckpointTs, m)
		}
	case cdc.OwnerElected:
		w.elected(e)
	case cdc.SpanStarted:
		w.count++
		id := models.RunID{Feed: e.Feed, Span: e.Span, Capture: e.Capture, N: w.count}
		w.runs[spanOn{e.Feed, e.Span, e.Capture}] = id
		w.model.Started(id, e.StartTs, m)
	case cdc.SpanStopped:
		w.stopped(spanOn{e.Feed, e.Span, e.Capture})
	case cdc.SpanFlushed:
		w.flushed(e, m)
	}
}

// brief is an event as the trace shows it: without its rows.
func brief(e cdc.Event) any {
	if flushed, ok := e.(cdc.SpanFlushed); ok {
		flushed.Rows = nil
		return flushed
	}
	return e
}

func (w *cdcWatch) flushed(e cdc.SpanFlushed, m models.Moment) {
	id, ok := w.runs[spanOn{e.Feed, e.Span, e.Capture}]
	if !ok {
		return
	}
	var changes []models.Change
	for _, row := range e.Rows {
		// What was there before the changefeed began comes as one row of the contents then.
		if row.CommitTs > w.begun[e.Feed] {
			changes = append(changes, changeOf(row))
		}
	}
	w.model.Written(id, changes, m)
	w.model.Progressed(id, e.UpTo, e.UpTo, m)
}

func (w *cdcWatch) dispatched(at spanOn, underWay, remove bool) {
	machine := w.machines[at.capture]
	if w.pending[machine] == nil {
		w.pending[machine] = map[spanOn]bool{}
	}
	if underWay {
		w.pending[machine][at] = remove
	} else {
		delete(w.pending[machine], at)
	}
}

// busy tells whether a machine's capture has operations under way.
func (w *cdcWatch) busy(machine string) bool { return len(w.pending[machine]) > 0 }

// removing tells whether a machine's capture is removing key spans.
func (w *cdcWatch) removing(machine string) bool {
	for _, remove := range w.pending[machine] {
		if remove {
			return true
		}
	}
	return false
}

func (w *cdcWatch) stopped(at spanOn) {
	if id, ok := w.runs[at]; ok {
		w.model.Stopped(id)
		delete(w.runs, at)
	}
}

// crashed is told that a machine has died.
func (w *cdcWatch) crashed(machine string) {
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		if w.machines[id] == machine {
			w.gone(id)
		}
	}
}

// gone ends a capture's life.
func (w *cdcWatch) gone(id model.CaptureID) {
	delete(w.pending, w.machines[id])
	delete(w.machines, id)
	w.model.Crashed(id)
	maps.DeleteFunc(w.runs, func(at spanOn, _ models.RunID) bool { return at.capture == id })
}

// registrations tells the model which captures are registered now, by the service's own memory.
func (w *cdcWatch) registrations() {
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		_, there, err := coord.ReadKey(context.Background(), w.c.kv, cdc.CaptureKey(id))
		switch {
		case err != nil:
		case there:
			w.model.Registered(id)
		default:
			w.model.Unregistered(id)
		}
	}
}

// store tells the model of a checkpoint that is in the service.
func (w *cdcWatch) store(feed string, epoch, checkpoint, resolved uint64, m models.Moment) {
	if _, ok := w.begun[feed]; !ok {
		w.began(feed, checkpoint)
	}
	w.model.Stored(feed, epoch, checkpoint, resolved, m)
	if checkpoint > w.stored[feed] {
		w.stored[feed] = checkpoint
		if w.c.r.Phase() == PhaseFaults {
			w.advances++
			w.c.r.Figure("cdc_checkpoint_advances", w.advances)
		}
		if w.changedAt >= 0 && w.c.r.Phase() == PhaseFaults {
			w.recover = max(w.recover, w.c.r.World.Now()-w.changedAt)
			w.c.r.Figure("cdc_recovery_after_owner_change_max_ms", w.recover.Milliseconds())
		}
		w.changedAt = -1
	}
}

// began is told where a changefeed's replication begins: what was committed before is its base.
func (w *cdcWatch) began(feed string, checkpoint uint64) {
	w.begun[feed] = checkpoint
	for _, span := range w.spans() {
		if w.dropped[span] == 0 || w.dropped[span] > checkpoint {
			w.model.Wanted(feed, span, max(w.added[span], checkpoint))
		}
	}
}

// storedAll tells whether each changefeed has got beyond where it began.
func (w *cdcWatch) storedAll() bool {
	for _, feed := range w.c.feeds {
		if w.stored[feed] <= w.begun[feed] {
			return false
		}
	}
	return true
}

// checkOwner notes when the owner changes.
func (w *cdcWatch) checkOwner() {
	if leader, ok := w.c.leader(); ok && leader.Value != w.owner {
		if w.owner != "" && w.changedAt < 0 {
			w.changedAt = w.c.r.World.Now()
		}
		w.owner = leader.Value
	}
}

// poll looks at what is in the service also when nobody tells of anything.
func (w *cdcWatch) poll() {
	for {
		w.c.r.World.Sleep(50 * time.Millisecond)
		if w.c.kv == nil {
			continue
		}
		w.catchUp()
		for _, feed := range w.c.feeds {
			w.lagging(feed)
		}
	}
}

// over is a context that is over: whoever waits with it gets what is there.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// catchUp learns what has changed in the service since it was last called, from its own memory: which
// checkpoints were stored, each in its turn, and which captures are registered.
func (w *cdcWatch) catchUp() {
	kv := w.c.kv
	if w.seen == 0 {
		w.seen = 1
	}
	events, err := kv.Watch(coord.Prefix(cdc.Root), w.seen+1).Next(over)
	if errors.Is(err, coord.ErrCompacted) {
		// What was stored in between is gone, unless it is there still.
		s, err := kv.Range(context.Background(), coord.Prefix(cdc.Root), 0)
		if err != nil {
			return
		}
		events = nil
		for _, kv := range s.KVs {
			if kv.ModRevision > w.seen {
				events = append(events, coord.Event{KeyValue: kv})
			}
		}
		slices.SortFunc(events, func(a, b coord.Event) int { return cmp.Compare(a.ModRevision, b.ModRevision) })
	}
	if len(events) == 0 {
		return
	}
	w.registrations()
	for _, e := range events {
		w.seen = max(w.seen, e.ModRevision)
		feed, isStatus := strings.CutPrefix(e.Key, cdc.StatusKey(""))
		var status model.ChangeFeedStatus
		if !isStatus || e.Deleted() || json.Unmarshal([]byte(e.Value), &status) != nil {
			continue
		}
		owner := w.ownerAt(e.ModRevision)
		m := w.moment("changefeed %s: the checkpoint is %d", feed, status.CheckpointTs)
		w.store(feed, uint64(owner), status.CheckpointTs, status.ResolvedTs, m)
	}
	w.checkOwner()
}

// ownerAt is the epoch of who held the office at a revision, 0 if nobody did. It is kept for when whoever
// made that revision tells of it.
func (w *cdcWatch) ownerAt(at coord.Revision) coord.Revision {
	s, err := w.c.kv.Range(context.Background(), coord.Prefix(cdc.OwnerElection), at)
	if err != nil {
		return w.lastOwner
	}
	leader, _ := coord.LeaderIn(s.KVs, cdc.OwnerElection)
	w.owners[at] = leader.Revision
	w.lastOwner = max(w.lastOwner, leader.Revision)
	return w.lastOwner
}

// elected is told that a capture was told that it is the owner: then nobody is before it, or ever will be.
func (w *cdcWatch) elected(e cdc.OwnerElected) {
	s, err := w.c.kv.Range(context.Background(), coord.Prefix(cdc.OwnerElection), 0)
	if leader, ok := coord.LeaderIn(s.KVs, cdc.OwnerElection); ok && err == nil {
		w.c.election.Holds(leader.Revision >= e.Epoch, "%s was told that it owns, from revision %d on, and %s was there before, since %d, and still is",
			e.Capture, e.Epoch, leader.Value, leader.Revision)
	}
}

// lagging keeps the figure of how far a checkpoint is behind the source's clock.
func (w *cdcWatch) lagging(feed string) {
	r := w.c.r
	if r.Phase() != PhaseFaults {
		return
	}
	behind := r.World.Now() - time.Duration(w.stored[feed]>>18)*time.Millisecond + w.epoch()
	if w.lag = max(w.lag, behind); w.stored[feed] > w.begun[feed] {
		r.Figure("cdc_checkpoint_lag_max_ms", w.lag.Milliseconds())
	}
}

// epoch is the real time at which virtual time begins, as the physical part of a ts has it.
func (w *cdcWatch) epoch() time.Duration {
	world := w.c.r.World
	return time.Duration(world.Host().Clock().Now().UnixMilli())*time.Millisecond - world.Now()
}

// spans are all key spans that there ever were.
func (w *cdcWatch) spans() []model.KeySpanID { return slices.Sorted(maps.Keys(w.added)) }

// life is when a key span was added and dropped, 0 if it was not.
func (w *cdcWatch) life(span model.KeySpanID) (added, dropped model.Ts) {
	return w.added[span], w.dropped[span]
}

// moments are a few ts between a changefeed's begin and its checkpoint.
func (w *cdcWatch) moments(feed string, checkpoint model.Ts) []model.Ts {
	var between []model.Ts
	for _, ts := range w.commits {
		if ts > w.begun[feed] && ts < checkpoint {
			between = append(between, ts)
		}
	}
	var some []model.Ts
	for i := 1; i < 5 && len(between) >= 5; i++ {
		some = append(some, between[i*len(between)/5])
	}
	return some
}

func (w *cdcWatch) contents(feed string, asOf model.Ts, rows map[string]string) {
	w.model.Contents(feed, asOf, rows, w.moment("changefeed %s as of %d: %d rows", feed, asOf, len(rows)))
}

// describe says who replicates what of a changefeed.
func (w *cdcWatch) describe(feed string) string {
	on := map[string][]model.KeySpanID{}
	for at := range w.runs {
		if at.feed == feed {
			on[at.capture] = append(on[at.capture], at.span)
		}
	}
	text := ""
	for _, id := range slices.Sorted(maps.Keys(on)) {
		slices.Sort(on[id])
		text += fmt.Sprintf("%s replicates %v; ", id, on[id])
	}
	return text + fmt.Sprintf("the owner is %q", w.owner)
}
