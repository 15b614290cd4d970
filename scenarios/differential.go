package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

var differentialSettings = []Setting{
	{Name: "collections", Default: "2", Doc: "collections, each in a shard of its own", Check: atLeastOne},
	{Name: "writers", Default: "2", Doc: "machines that each run a DifferentialWriteTask on a collection, for each collection", Check: atLeastOne},
	{Name: "command-pace", Default: "300ms", Doc: "mean time between two commands to a task"},
}

func atLeastOne(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return fmt.Errorf("%q is not a whole number of at least 1", value)
	}
	s := Setting{Default: "1"}
	return s.check(value)
}

// differential is the scenario of DifferentialWriteTasks that fight over collections.
func differential() *Scenario {
	return &Scenario{
		Name:     "differential",
		Doc:      "DifferentialWriteTasks keep collections equal to what they want, and others append, against each other and rivals",
		Settings: differentialSettings,
		Oracles:  []string{models.OracleResponders, models.OracleConverges, oracleAppendOnly, oracleDurable},
		Build: func(r *Run) {
			c := addPersist(r)
			targets, machines := addCollections(r, c)
			more, managing := addManagers(r, c)
			c.rivals(slices.Concat(targets, more))
			c.unreliable(slices.Concat(machines, managing, []string{rivalNode})...)
		},
	}
}

// addCollections adds the collections with their writers, and the oracles. It returns the shards as
// the rival's targets, and the writers' machines.
func addCollections(r *Run, c *persistCluster) (targets []rivalTarget, machines []string) {
	log := &taskRecorder{w: r.World, log: models.NewTaskLog()}
	r.Count(func() (int, int) { return log.sent, log.succeeded })
	r.Judge(models.Responders{Log: log.log})
	conv := r.Check(models.OracleConverges)
	for _, shard := range shardNames("d", r.Int("collections")) {
		col := &collection{r: r, c: c, log: log, shard: shard}
		col.shortLease = r.World.NewStream("workload", shard, "lease").N(3) == 0
		col.retry = drawRetry(r.World.NewStream("workload", shard, "retry"))
		for _, suffix := range shardNames("", r.Int("writers")) {
			name := "writer-" + shard + "-" + suffix
			w := &collectionWriter{collection: col, name: name, choices: r.World.NewStream("workload", name), want: map[string]int64{}}
			col.writers = append(col.writers, w)
			w.node = r.AddNode(name, "writer", w.boot)
			w.node.OnCrash(w.crashed)
			r.Settled(name+" having all its commands answered", func() bool { return w.done && w.pending == 0 })
			machines = append(machines, name)
		}
		col.survivor = int(r.World.NewStream("workload", shard, "survivor").N(uint64(len(col.writers))))
		r.World.Go("observe "+shard, col.observeNowAndThen)
		r.Final(func() error { return col.converge(conv) })
		targets = append(targets, rivalTarget{shard, col.rivalAppend})
	}
	return targets, machines
}

// taskRecorder writes what tasks are told and answer into a log and the trace.
type taskRecorder struct {
	w               *sim.World
	log             *models.TaskLog
	sent, succeeded int
}

// at puts a text into the trace and returns its place there.
func (t *taskRecorder) at(format string, args ...any) (uint64, int64) {
	return t.w.Op(fmt.Sprintf(format, args...)), int64(t.w.Now())
}

// collection is one shard with the writers that fight over it.
type collection struct {
	r        *Run
	c        *persistCluster
	log      *taskRecorder
	shard    string
	writers  []*collectionWriter
	survivor int // the writer that goes on when the others are shut down
	// shortLease is whether the leases of the writers' handles can run out within the run.
	shortLease bool
	retry      storage.RetryConfig
}

// drawRetry is how the tasks of a collection try again: the way they do by default, or so few times that
// they give up now and then.
func drawRetry(s *sim.Stream) storage.RetryConfig {
	if s.N(2) == 0 {
		return storage.RetryConfig{}
	}
	return storage.RetryConfig{Tries: 1 + int(s.N(2)), Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond}
}

// config is how the writers use persist.
func (col *collection) config() persist.Config {
	switch {
	case col.shortLease:
		return shortLeases
	case col.r.planned("persist.lease_expire"):
		return expirable
	}
	return clientConfig
}

// collectionWriter drives one machine's task, over all its lives: it is the driver of the collection,
// and feeds a new task what the old one was to keep.
type collectionWriter struct {
	*collection
	name    string
	node    *sim.Node
	choices *sim.Stream
	number  int // of the last command
	want    map[string]int64
	life    models.TaskID
	living  bool
	pending int // commands of this life that were not answered
	done    bool
}

func (w *collectionWriter) crashed() {
	if w.living {
		at, ns := w.log.at("%s dies", w.name)
		w.log.log.Crash(w.life, at, ns)
		w.living = false
	}
}

func (w *collectionWriter) boot(h host.Host) {
	w.done = false
	client := w.c.client(h, w.config())
	for {
		draw := sim.NewStream(w.choices.Uint64(), "life")
		// A life in read-only mode ends with the promotion to a task that writes.
		readOnly := w.r.Working() && draw.N(4) == 0
		task, err := w.spawn(h, client, readOnly)
		if err != nil {
			h.Logf("%v", err)
			h.Clock().Sleep(100 * time.Millisecond)
			continue
		}
		w.send(task, models.Command{Append: w.wanted(), Text: "append of all that is wanted"}, true)
		survives := w.index() == w.survivor
		commands := draw.N(30) + 1
		if draw.N(2) > 0 {
			commands = 1 << 20
		}
		for w.r.Working() && commands > 0 {
			draw := sim.NewStream(w.choices.Uint64(), "command")
			h.Clock().Sleep(sim.Exp(0, w.r.Duration("command-pace")).Sample(draw.Uint64()))
			w.send(task, w.draw(draw), false)
			commands--
		}
		if !w.r.Working() && survives && !readOnly {
			w.done = true
			// The task goes on; a crash of its own would be seen by converge.
			return
		}
		w.shutdown(h, task)
		if !w.r.Working() && !survives {
			w.done = true
			return
		}
	}
}

func (w *collectionWriter) index() int { return slices.Index(w.writers, w) }

func (w *collectionWriter) spawn(h host.Host, client *persist.Client, readOnly bool) (*storage.Handle, error) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	writer, err := client.OpenWriter(ctx, persist.ShardID(w.shard))
	w.c.durable.check("open writer", err)
	if err != nil {
		return nil, err
	}
	at, ns := w.log.at("%s starts a task, read-only %v", w.name, readOnly)
	w.life, w.living, w.pending = w.log.log.Start(w.name, w.shard, readOnly, at, ns), true, 0
	return storage.Spawn(h, storage.TaskConfig{
		ID:     storage.GlobalID(w.shard),
		Writer: writer,
		OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) {
			r, err := client.OpenReader(ctx, persist.ShardID(w.shard))
			w.c.durable.check("open reader", err)
			return r, err
		},
		ReadOnly: readOnly,
		Retry:    w.retry,
	}), nil
}

// shutdown ends the task and waits for its end.
func (w *collectionWriter) shutdown(h host.Host, task *storage.Handle) {
	at, ns := w.log.at("%s shuts its task down", w.name)
	w.log.log.Shutdown(w.life, at, ns)
	task.Shutdown()
	reason := task.Wait(context.Background())
	at, ns = w.log.at("%s: the task has ended: %v", w.name, reason)
	w.log.log.Ended(w.life, at, ns)
	w.living = false
	w.c.durable.check("task", reason)
	if !errors.Is(reason, storage.ErrShutdown) {
		w.r.World.Fail("storage/ends", "%s: a task that was shut down ended with: %v", w.name, reason)
	}
}

// draw makes up a command.
func (w *collectionWriter) draw(s *sim.Stream) models.Command {
	w.number++
	rows := w.wanted()
	switch s.N(8) {
	case 0:
		return models.Command{Text: "append of nothing"}
	case 1, 2:
		if len(rows) > 0 { // take back part or all of a row
			row := rows[s.N(uint64(len(rows)))]
			return models.Command{Append: []models.Row{{Data: row.Data, Diff: -1 - int64(s.N(uint64(row.Diff)))}}, Text: "retraction of " + row.Data}
		}
	case 3:
		if len(rows) > 0 {
			digit := string(rune('0' + s.N(10)))
			return models.Command{Delete: func(data string) bool { return strings.HasSuffix(data, digit) }, Text: "delete of *" + digit}
		}
	}
	n := 1 + s.N(3)
	add := make([]models.Row, n)
	for i := range add {
		add[i] = models.Row{Data: fmt.Sprintf("%s-%d.%d", w.name, w.number, i), Diff: 1 + int64(s.N(2))}
	}
	if len(rows) > 0 && s.N(3) == 0 { // one more of a row that is there
		add[0].Data = rows[s.N(uint64(len(rows)))].Data
	}
	return models.Command{Append: add, Text: fmt.Sprintf("append of %d rows", n)}
}

// send records a command and hands it to the task. Unless it just tells a new task what is wanted
// already, it changes what is wanted.
func (w *collectionWriter) send(task *storage.Handle, command models.Command, refeed bool) {
	var op storage.WriteOp
	if command.Delete != nil {
		op = storage.Delete{Filter: command.Delete}
		for _, r := range w.wanted() {
			if command.Delete(r.Data) {
				delete(w.want, r.Data)
			}
		}
	} else {
		updates := make([]storage.RowDiff, len(command.Append))
		for i, r := range command.Append {
			updates[i] = storage.RowDiff{Row: r.Data, Diff: r.Diff}
			if refeed {
				continue // it is wanted already
			}
			if w.want[r.Data] += r.Diff; w.want[r.Data] == 0 {
				delete(w.want, r.Data)
			}
		}
		op = storage.Append{Updates: updates}
	}
	at, ns := w.log.at("%s sends %s", w.name, command.Text)
	id := w.log.log.Send(w.life, command, at, ns)
	w.log.sent++
	w.pending++
	counts := w.r.Working() && !refeed
	task.Send(op, func(err error) {
		w.pending--
		if err == nil && counts {
			w.log.succeeded++
		}
		w.answered(id, err)
	})
}

func (w *collectionWriter) answered(id models.CommandID, err error) {
	var uppers *storage.InvalidUppers
	var invalid *storage.IdentifierInvalid
	var readOnly *storage.ReadOnly
	var answer models.Answer
	switch {
	case err == nil:
		answer = models.AnswerOk
	case errors.As(err, &uppers):
		answer = models.AnswerInvalidUppers
	case errors.As(err, &invalid):
		answer = models.AnswerIdentifierInvalid
	case errors.As(err, &readOnly):
		answer = models.AnswerReadOnly
	default:
		w.c.durable.check("command", err)
		w.r.World.Fail("storage/ends", "%s: command #%d was answered: %v", w.name, id, err)
		return
	}
	at, ns := w.log.at("%s: command #%d: %s", w.name, id, answer)
	w.log.log.Answer(id, answer, at, ns)
}

// wanted is what the driver wants the collection to hold, sorted.
func (w *collectionWriter) wanted() []models.Row {
	rows := make([]models.Row, 0, len(w.want))
	for data, diff := range w.want {
		rows = append(rows, models.Row{Data: data, Diff: diff})
	}
	slices.SortFunc(rows, func(a, b models.Row) int { return strings.Compare(a.Data, b.Data) })
	return rows
}

// rivalAppend is the rival's write, recorded.
func (col *collection) rivalAppend(ctx context.Context, w *persist.WriteHandle, updates []persist.Update, expected, next persist.Frontier) {
	rows := make([]models.Row, len(updates))
	for i, u := range updates {
		rows[i] = models.Row{Data: u.Data, Diff: u.Diff}
	}
	at, ns := col.log.at("the rival appends %d rows to %s", len(rows), col.shard)
	id := col.log.log.BeginRival(col.shard, rows, at, ns)
	err := w.CompareAndAppend(ctx, updates, expected, next)
	col.c.durable.check("append", err)
	at, ns = col.log.at("the rival's append: %v", err)
	if !errors.Is(err, persist.ErrIndeterminate) {
		col.log.log.EndRival(id, at, ns)
	}
}

// observeNowAndThen looks at the shard during the run.
func (col *collection) observeNowAndThen() {
	h := col.r.World.Host()
	client := col.c.client(h, clientConfig)
	pace := col.r.World.NewStream("workload", "observe", col.shard)
	for col.r.Phase() <= PhaseSettle {
		h.Clock().Sleep(sim.Exp(0, 700*time.Millisecond).Sample(pace.Uint64()))
		_, _ = col.observe(h, client)
	}
	client.Close()
}

// observe reads the shard's newest contents.
func (col *collection) observe(h host.Host, client *persist.Client) ([]models.Row, error) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	at, ns := col.log.at("observing %s", col.shard)
	id := col.log.log.BeginObservation(col.shard, at, ns)
	rows, err := col.read(ctx, client)
	col.c.durable.check("observe", err)
	if err != nil {
		return nil, err
	}
	at, ns = col.log.at("%s holds %d rows", col.shard, len(rows))
	col.log.log.EndObservation(id, rows, at, ns)
	return rows, nil
}

func (col *collection) read(ctx context.Context, client *persist.Client) ([]models.Row, error) {
	w, err := client.OpenWriter(ctx, persist.ShardID(col.shard))
	if err != nil {
		return nil, err
	}
	r, err := client.OpenReader(ctx, persist.ShardID(col.shard))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	upper, err := w.FetchRecentUpper(ctx)
	if err != nil {
		return nil, err
	}
	t, open := upper.Time()
	if !open || t == 0 {
		return nil, nil
	}
	updates, err := r.SnapshotAndFetch(ctx, t-1)
	if err != nil {
		return nil, err
	}
	rows := make([]models.Row, len(updates))
	for i, u := range updates {
		rows[i] = models.Row{Data: u.Data, Diff: u.Diff}
	}
	return rows, nil
}

// convergeWithin bounds how long after the last command, on a healed system, a collection may differ
// from what its one task wants: a few ticks of the upper, and the longest retry.
const convergeWithin = 20 * time.Second

// converge waits until the collection is what its surviving writer wants.
func (col *collection) converge(conv *Check) error {
	h := col.r.World.Host()
	client := col.c.client(h, clientConfig)
	defer client.Close()
	deadline := h.Clock().Now().Add(convergeWithin)
	for {
		rows, err := col.observe(h, client)
		if err != nil {
			return fmt.Errorf("collection %s: %w", col.shard, err)
		}
		wanted := col.writers[col.survivor].wanted()
		found := models.CheckConverged(col.shard, wanted, rows, col.r.World.Events(), int64(col.r.World.Now()))
		if len(found) == 0 || h.Clock().Now().After(deadline) {
			conv.judged++
			for _, v := range found {
				conv.violate(v)
			}
			return nil
		}
		h.Clock().Sleep(500 * time.Millisecond)
	}
}
