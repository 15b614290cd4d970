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

	machines   map[model.CaptureID]string // of the captures that are alive
	registered map[model.CaptureID]bool
	lives      map[string]feedLife    // of the changefeeds that there are, by name
	opened     map[machineFeed]string // the life of a changefeed that a machine's processor is of
	runs       map[spanOn]*spanRun    // that are going on
	count      uint64
	begun      map[string]uint64                 // the ts with which a changefeed's life began
	stored     map[string]uint64                 // the last checkpoint of a life that was observed
	stays      map[spanOn]*spanStay              // the last on each capture
	latest     map[lifeSpan]models.RunID         // of those whose writes have arrived, the last that was started
	seen       coord.Revision                    // up to which the service's changes are known
	owners     map[coord.Revision]coord.Revision // who held the office when a checkpoint was stored
	pending    map[string]map[spanOn]bool
	refusals   map[string]bool           // lives whose sink has refused something since their description was put
	holds      map[string]string         // the name under which owners hold history for a life
	begunAt    map[string]time.Duration  // when a life was noticed
	heard      map[string]time.Duration  // when a call was made, of those that the source has heard the latest, by what it held
	lost       map[string]bool           // lives whose history was given up, by right
	adds       int                       // how many key spans were dispatched to be added
	removals   map[spanOn]coord.Revision // who dispatched those that are under way
	atTick     map[string]func()         // see onTick

	owner     model.CaptureID
	lastOwner coord.Revision // its epoch
	// epochNow is the present owner's epoch, previous that of the one before.
	epochNow, previous coord.Revision
	// resigning is the epoch of the last owner that was asked to resign, resigned that of the last that did.
	resigning, resigned coord.Revision
	kept                model.Ts            // from where on the source keeps history
	idle                int                 // how many owners failed without having stored a checkpoint
	resumed             map[string]bool     // changefeeds that have had no new checkpoint since
	last                map[string]model.Ts // the last checkpoint of each name, whichever life's
	scheduling          coord.Revision      // the latest term of an owner that has begun to schedule
	changedAt           time.Duration       // when the owner changed, if no checkpoint was stored since
	recover             time.Duration       // the longest time from an owner's change to the next checkpoint
	lag                 time.Duration       // the longest time that a checkpoint was behind
	advances            int64               // how often a checkpoint advanced under faults
}

// spanOn is a key span of a changefeed's life on a capture.
type spanOn struct {
	feed    string
	span    model.KeySpanID
	capture model.CaptureID
}

// lifeSpan is a key span of a changefeed's life.
type lifeSpan struct {
	life string
	span model.KeySpanID
}

// machineFeed is a changefeed on a machine.
type machineFeed struct{ machine, feed string }

// feedLife is one life of a changefeed, from its creation to its removal. It is known by the sink it
// has for itself.
type feedLife struct {
	id      string
	created coord.Revision
	state   model.FeedState
	failure error // why it is in model.StateFailed, nil when it is not
}

// spanRun is a run that is going on, and up to when the source has told it that it has everything.
type spanRun struct {
	id       models.RunID
	resolved model.Ts
}

// spanStay is a key span's stay on a capture.
type spanStay struct {
	progress model.Ts
	left     bool // it has been on another since
}

func newCDCWatch(c *cdcCluster) *cdcWatch {
	return &cdcWatch{
		c: c, model: models.NewCheckpoints(),
		added: map[model.KeySpanID]model.Ts{}, dropped: map[model.KeySpanID]model.Ts{},
		machines: map[model.CaptureID]string{}, registered: map[model.CaptureID]bool{}, runs: map[spanOn]*spanRun{},
		lives: map[string]feedLife{}, opened: map[machineFeed]string{}, begun: map[string]uint64{}, stored: map[string]uint64{},
		stays: map[spanOn]*spanStay{}, latest: map[lifeSpan]models.RunID{}, removals: map[spanOn]coord.Revision{}, resumed: map[string]bool{}, last: map[string]model.Ts{},
		owners: map[coord.Revision]coord.Revision{}, pending: map[string]map[spanOn]bool{}, atTick: map[string]func(){}, changedAt: -1,
		refusals: map[string]bool{}, holds: map[string]string{}, begunAt: map[string]time.Duration{}, heard: map[string]time.Duration{}, lost: map[string]bool{},
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
		for _, life := range w.living() {
			w.model.Wanted(life, commit.Added.ID, max(commit.Ts, w.begun[life]))
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

func (w *cdcWatch) host() host.Host { return w.c.r.World.Host() }

// living are the lives that changefeeds have now, in a fixed order.
func (w *cdcWatch) living() []string {
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(w.lives)) {
		ids = append(ids, w.lives[name].id)
	}
	return ids
}

// on is the observer of a machine.
func (w *cdcWatch) on(h host.Host) cdc.Observer { return machineWatch{w, h.Name()} }

// opens is told that a machine has made a processor of a changefeed's life.
func (w *cdcWatch) opens(machine, feed, life string) { w.opened[machineFeed{machine, feed}] = life }

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
		w.scheduling = max(w.scheduling, e.Epoch)
		w.model.Scheduling(e.Feed, uint64(e.Epoch))
	case cdc.SchedulerTicked:
		if do := w.atTick[w.machine]; do != nil {
			delete(w.atTick, w.machine)
			do()
		}
		w.model.Knows(e.Feed, uint64(e.Epoch), e.Captures)
	case cdc.Synced:
		w.model.Synced(e.Feed, uint64(e.Epoch), e.Capture)
		w.synced(e)
	case cdc.Dispatched:
		w.model.Dispatched(e.Feed, uint64(e.Epoch), e.Span, e.Capture, e.Remove, m)
		w.dispatched(spanOn{e.Feed, e.Span, e.Capture}, true, e.Remove)
		w.removals[spanOn{e.Feed, e.Span, e.Capture}] = e.Epoch
	case cdc.OperationFinished:
		w.dispatched(spanOn{e.Feed, e.Span, e.Capture}, false, false)
	case cdc.CheckpointStored:
		if owner, known := w.owners[e.Revision]; known && e.Outcome == cdc.Done {
			delete(w.owners, e.Revision)
			w.model.StoredWhile(e.Feed, uint64(e.Epoch), uint64(owner), e.CheckpointTs, m)
		}
	case cdc.OwnerElected:
		w.elected(e)
	case cdc.OwnerDeposed:
		if e.Epoch == w.resigning {
			w.resigned = e.Epoch
		}
	case cdc.Reported:
		w.model.Reported(e.Feed, uint64(e.Epoch), e.Capture, e.CheckpointTs, e.ResolvedTs, m)
	case cdc.SafepointMoved:
		w.keeps(e.Kept, m)
	case cdc.SpanStarted:
		w.started(w.at(e.Feed, e.Span, e.Capture), e, m)
	case cdc.SpanStopped:
		w.stopped(w.at(e.Feed, e.Span, e.Capture))
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

// at is a key span on a capture of the life of a changefeed that the capture's machine is at.
func (w machineWatch) at(feed string, span model.KeySpanID, capture model.CaptureID) spanOn {
	return spanOn{w.opened[machineFeed{w.machine, feed}], span, capture}
}

func (w *cdcWatch) started(at spanOn, e cdc.SpanStarted, m models.Moment) {
	w.count++
	id := models.RunID{Feed: at.feed, Span: at.span, Capture: at.capture, N: w.count}
	w.runs[at] = &spanRun{id: id, resolved: e.StartTs}
	w.registrations()
	w.model.Started(id, uint64(e.Epoch), e.StartTs, m)
	stay := w.stays[at]
	w.host().Sometimes(situation4464, stay != nil && stay.left && stay.progress > e.StartTs)
	for other, stay := range w.stays {
		if other.feed == at.feed && other.span == at.span && other.capture != at.capture {
			stay.left = true
		}
	}
	w.stays[at] = &spanStay{progress: e.StartTs}
}

func (w machineWatch) flushed(e cdc.SpanFlushed, m models.Moment) {
	at := w.at(e.Feed, e.Span, e.Capture)
	run := w.runs[at]
	if run == nil {
		return
	}
	if w.c.database == nil {
		w.model.Written(run.id, w.changes(at.feed, e.Rows), m)
	}
	w.model.Progressed(run.id, e.UpTo, run.resolved, m)
	w.stays[at].progress = e.UpTo
}

// changes are rows that are not part of what was there before the changefeed began: that comes as one
// row of the contents then.
func (w *cdcWatch) changes(life string, rows []source.Row) []models.Change {
	var changes []models.Change
	for _, row := range rows {
		if row.CommitTs > w.begun[life] {
			changes = append(changes, changeOf(row))
		}
	}
	return changes
}

// sender is the run of a key span that is going on on a machine, which sends something to the sink.
func (w *cdcWatch) sender(machine, life string, span model.KeySpanID) models.RunID {
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		if run := w.runs[spanOn{life, span, id}]; run != nil && w.machines[id] == machine {
			return run.id
		}
	}
	return models.RunID{Feed: life, Span: span, Capture: machine} // which the model has never seen start
}

// arrives is told that what a run has sent takes effect in the sink.
func (w *cdcWatch) arrives(id models.RunID, rows []source.Row) {
	w.catchUp()
	w.model.Written(id, w.changes(id.Feed, rows), w.moment("%d rows of %v arrive at the sink", len(rows), id))
	at := lifeSpan{id.Feed, id.Span}
	w.host().Sometimes(situationLateWrite, len(rows) > 0 && w.machines[id.Capture] == "")
	w.host().Sometimes(situationPassed, len(rows) > 0 && w.latest[at].N > id.N && w.latest[at].Capture != id.Capture)
	if w.latest[at].N < id.N {
		w.latest[at] = id
	}
}

// synced is told that an owner has learnt what a capture runs.
func (w *cdcWatch) synced(e cdc.Synced) {
	h := w.host()
	h.Sometimes(situation544, w.resigned != 0 && w.resigned < e.Epoch && w.previous == w.resigned && len(e.Running) > 0)
	inherited := false
	for _, span := range e.Removing {
		by, known := w.removals[spanOn{e.Feed, span, e.Capture}]
		inherited = inherited || known && by < e.Epoch
	}
	h.Sometimes(situation6538, inherited && w.c.r.Working())
}

func (w *cdcWatch) dispatched(at spanOn, underWay, remove bool) {
	machine := w.machines[at.capture]
	if w.pending[machine] == nil {
		w.pending[machine] = map[spanOn]bool{}
	}
	if underWay {
		if !remove {
			w.adds++
		}
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

// runsOn tells whether a changefeed's key span runs on a capture.
func (w *cdcWatch) runsOn(feed string, span model.KeySpanID, capture model.CaptureID) bool {
	return w.runs[spanOn{w.lives[feed].id, span, capture}] != nil
}

func (w *cdcWatch) stopped(at spanOn) {
	if run := w.runs[at]; run != nil {
		w.model.Stopped(run.id)
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
	adding := false
	for at, remove := range w.pending[w.machines[id]] {
		adding = adding || at.capture == id && !remove
	}
	w.host().Sometimes(situation6477, adding)
	delete(w.pending, w.machines[id])
	delete(w.machines, id)
	w.model.Crashed(id)
	maps.DeleteFunc(w.runs, func(at spanOn, _ *spanRun) bool { return at.capture == id })
}

// registrations tells the model which captures are registered now, by the service's own memory.
func (w *cdcWatch) registrations() {
	for id := range w.machines {
		w.registered[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(w.registered)) {
		_, there, err := coord.ReadKey(context.Background(), w.c.kv, cdc.CaptureKey(id))
		switch {
		case err != nil:
		case there:
			w.model.Registered(id)
		default:
			w.model.Unregistered(id)
			if w.machines[id] == "" {
				delete(w.registered, id) // it never comes back
			}
		}
	}
}

// store tells the model of a checkpoint that is in the service.
func (w *cdcWatch) store(feed string, epoch, checkpoint, resolved uint64, m models.Moment) {
	life, ok := w.lives[feed]
	if !ok {
		return // of a changefeed that is not there: an oracle would have nothing to hold it against
	}
	w.model.Stored(life.id, epoch, checkpoint, resolved, m)
	if checkpoint <= w.stored[life.id] {
		return
	}
	first := w.stored[life.id] == 0
	w.stored[life.id] = checkpoint
	if first {
		return // where it begins: nothing was replicated
	}
	w.idle, w.last[feed] = 0, checkpoint
	delete(w.resumed, feed)
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

// described is told of the description of a changefeed that is in the service, or of its removal.
func (w *cdcWatch) described(feed string, e coord.Event) {
	life, known := w.lives[feed]
	if known && (e.Deleted() || e.CreateRevision != life.created) {
		w.model.Removed(life.id)
		delete(w.lives, feed)
		delete(w.resumed, feed)
		known = false
	}
	var info model.ChangeFeedInfo
	if e.Deleted() || json.Unmarshal([]byte(e.Value), &info) != nil {
		return
	}
	if !known {
		life = feedLife{id: info.SinkURI, created: e.CreateRevision}
		w.began(feed, life, info.StartTs)
	}
	if info.State == model.StateFinished {
		w.model.Ended(life.id)
	}
	w.fails(feed, &life, info)
	if (life.state == model.StateStopped || life.state == model.StateFailed) && info.State == model.StateNormal {
		w.resumed[feed] = true
	}
	life.state = info.State
	w.lives[feed] = life
}

// began is told where a changefeed's replication begins: what was committed before is its base.
func (w *cdcWatch) began(feed string, life feedLife, start model.Ts) {
	w.host().Sometimes(situationBelow, w.below(start))
	w.host().Sometimes(situationRecreated, w.last[feed] > start)
	w.begun[life.id], w.begunAt[life.id], w.holds[life.id] = start, w.c.r.World.Now(), cdc.HoldOf(feed, life.created)
	w.model.Created(life.id, start, w.moment("changefeed %s begins at %d", life.id, start))
	for _, span := range w.spans() {
		if w.dropped[span] == 0 || w.dropped[span] > start {
			w.model.Wanted(life.id, span, max(w.added[span], start))
		}
	}
}

// below tells whether every changefeed has come beyond a ts.
func (w *cdcWatch) below(start model.Ts) bool {
	for _, life := range w.living() {
		if w.stored[life] <= start {
			return false
		}
	}
	return len(w.lives) > 0
}

// storedAll tells whether each changefeed has got beyond where it began.
func (w *cdcWatch) storedAll() bool {
	for _, feed := range w.c.feeds {
		life, ok := w.lives[feed]
		if !ok || w.stored[life.id] <= w.begun[life.id] {
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
		if w.owner != "" {
			w.ownerGone()
		}
		w.owner, w.previous, w.epochNow = leader.Value, w.epochNow, leader.Revision
	}
}

// ownerGone is told that there is another owner than there was.
func (w *cdcWatch) ownerGone() {
	h := w.host()
	h.Sometimes(situation9830, len(w.resumed) > 0)
	w.idle++
	h.Sometimes(situation9583, w.idle >= 2)
}

// poll looks at what is in the service also when nobody tells of anything.
func (w *cdcWatch) poll() {
	for {
		w.c.r.World.Sleep(50 * time.Millisecond)
		if w.c.kv == nil {
			continue
		}
		w.catchUp()
		w.safepoint()
		for _, life := range w.living() {
			w.lagging(life)
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
	missed := errors.Is(err, coord.ErrCompacted)
	if missed {
		// What was stored in between is gone, unless it is there still.
		w.model.Missed()
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
		w.forget(s.KVs)
		slices.SortFunc(events, func(a, b coord.Event) int { return cmp.Compare(a.ModRevision, b.ModRevision) })
	}
	if len(events) == 0 {
		return
	}
	w.registrations()
	for _, e := range events {
		w.seen = max(w.seen, e.ModRevision)
		if feed, ok := strings.CutPrefix(e.Key, cdc.InfoKey("")); ok {
			w.described(feed, e)
			continue
		}
		feed, isStatus := strings.CutPrefix(e.Key, cdc.StatusKey(""))
		var status model.ChangeFeedStatus
		if !isStatus || e.Deleted() || json.Unmarshal([]byte(e.Value), &status) != nil {
			continue
		}
		if life, ok := w.lives[feed]; ok && !missed {
			w.c.failed.Holds(life.state == model.StateNormal, "changefeed %s: the checkpoint %d is stored while its state is %q",
				feed, status.CheckpointTs, life.state)
		}
		owner := w.ownerAt(e.ModRevision)
		m := w.moment("changefeed %s: the checkpoint is %d", feed, status.CheckpointTs)
		w.store(feed, uint64(owner), status.CheckpointTs, status.ResolvedTs, m)
	}
	w.checkOwner()
}

// forget tells of the changefeeds that are not among the keys any more.
func (w *cdcWatch) forget(kvs []coord.KeyValue) {
	for _, feed := range slices.Sorted(maps.Keys(w.lives)) {
		if !slices.ContainsFunc(kvs, func(kv coord.KeyValue) bool { return kv.Key == cdc.InfoKey(feed) }) {
			w.model.Removed(w.lives[feed].id)
			delete(w.lives, feed)
		}
	}
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
func (w *cdcWatch) lagging(life string) {
	r := w.c.r
	if r.Phase() != PhaseFaults {
		return
	}
	// Nothing was committed before virtual time began, which is as far back as a start can be.
	behind := min(r.World.Now(), r.World.Now()-time.Duration(w.stored[life]>>18)*time.Millisecond+w.epoch())
	if w.lag = max(w.lag, behind); w.stored[life] > w.begun[life] {
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
func (w *cdcWatch) moments(life string, checkpoint model.Ts) []model.Ts {
	var between []model.Ts
	for _, ts := range w.commits {
		if ts > w.begun[life] && ts < checkpoint {
			between = append(between, ts)
		}
	}
	var some []model.Ts
	for i := 1; i < 5 && len(between) >= 5; i++ {
		some = append(some, between[i*len(between)/5])
	}
	return some
}

func (w *cdcWatch) contents(life string, asOf model.Ts, rows map[string]string) {
	w.model.Contents(life, asOf, rows, w.moment("changefeed %s as of %d: %d rows", life, asOf, len(rows)))
}

// describe says who replicates what of a changefeed.
func (w *cdcWatch) describe(feed string) string {
	on := map[string][]model.KeySpanID{}
	for at := range w.runs {
		if at.feed == w.lives[feed].id {
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
