package storage

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// AppendOnlyConfig is what an [AppendOnlyTask] works on. Writer must be set, and OpenReader where
// Prepare is; the zero value of the rest means the defaults.
type AppendOnlyConfig struct {
	// ID is the collection that is appended to.
	ID GlobalID
	// Writer writes its shard. The task is its only user.
	Writer *persist.WriteHandle
	// OpenReader opens a reader of the same shard, for Prepare.
	OpenReader func(context.Context) (*persist.ReadHandle, error)
	// Prepare is called with the collection's contents as former tasks left them and returns what
	// is to be written before the first append, such as the negation of rows grown old. It is
	// written only if the contents still are what they were; otherwise Prepare is called again. Nil
	// for nothing.
	Prepare func(ctx context.Context, contents []RowDiff) ([]RowDiff, error)
	// ReadOnly tasks never touch the shard.
	ReadOnly bool

	// The rest is as in TaskConfig.
	Now               func() uint64
	UpperTickInterval time.Duration
	BatchDuration     time.Duration
	BatchSize         int
	Retry             RetryConfig
}

func (c AppendOnlyConfig) withDefaults(h host.Host) AppendOnlyConfig {
	defaults := TaskConfig{
		Now: c.Now, UpperTickInterval: c.UpperTickInterval, BatchDuration: c.BatchDuration,
		BatchSize: c.BatchSize, Retry: c.Retry,
	}.withDefaults(h)
	c.Now, c.UpperTickInterval, c.BatchDuration = defaults.Now, defaults.UpperTickInterval, defaults.BatchDuration
	c.BatchSize, c.Retry = defaults.BatchSize, defaults.Retry
	return c
}

// AppendOnlyTask appends rows to a persist shard, and moves the shard's upper on. What others append
// to the same shard stays: the task knows nothing of what is in it. Its commands are [Append], with
// positive diffs only.
//
// A command's rows are written all at once, and once: after a mismatch, which says that nothing was
// written, they are tried again from the upper found. What became of a write of which even package
// persist can't tell is left open, with *Uncertain, since rows that were there by then could be
// anybody's.
type AppendOnlyTask struct {
	h    host.Host
	cfg  AppendOnlyConfig
	life context.Context // done when the task is aborted

	readOnly bool
	ticker   *clock.Ticker
	mailbox  *mailbox
	shutdown *host.Chan[struct{}] // closed to shut down
	allow    *host.Chan[struct{}] // closed to end read-only mode

	// upper is the shard's as far as is known.
	upper uint64
}

// SpawnAppendOnly starts a task and returns its handle. It panics when the configuration names no
// Writer, or Prepare and no OpenReader.
func SpawnAppendOnly(h host.Host, cfg AppendOnlyConfig) *Handle {
	if cfg.Writer == nil || cfg.Prepare != nil && cfg.OpenReader == nil {
		panic("storage: an AppendOnlyTask needs a Writer, and with Prepare an OpenReader")
	}
	cfg = cfg.withDefaults(h)
	handle, life := newHandle(h, cfg.ID)
	t := &AppendOnlyTask{
		h: h, cfg: cfg, life: life, readOnly: cfg.ReadOnly,
		ticker:  h.Clock().Ticker(cfg.UpperTickInterval),
		mailbox: handle.mailbox, shutdown: handle.shutdown, allow: handle.allow,
	}
	handle.start(func() error {
		defer t.ticker.Stop()
		return t.run()
	})
	return handle
}

// run is the task. It returns why it ended, after answering all there is to answer. It prefers what
// a DifferentialWriteTask prefers.
func (t *AppendOnlyTask) run() (reason error) {
	defer func() { t.mailbox.end(rejection(t.cfg.ID, reason)) }()
	allow := t.allow
	if !t.readOnly {
		allow = nil
		if err := t.prepare(); err != nil {
			return err
		}
	}
	var cmd command
	var ok bool
	cases := []host.Case{
		host.OnDone(t.life),
		t.shutdown.OnRecv(nil, nil),
		allow.OnRecv(nil, nil),
		t.mailbox.commands.OnRecv(&cmd, &ok),
		host.OnTime(t.ticker.C, nil),
	}
	for {
		var err error
		switch host.SelectFirst(t.h, cases...) {
		case 0:
			return &Aborted{ID: t.cfg.ID}
		case 1:
			return ErrShutdown
		case 2:
			cases[2] = never
			t.readOnly = false
			err = t.prepare()
		case 3:
			if !ok {
				return ErrSenderDropped
			}
			err = t.handleAppends(t.mailbox.more(cmd, t.cfg.BatchSize))
		case 4:
			err = t.tickUpper()
		}
		if err != nil {
			return err
		}
	}
}

// prepare learns the upper and does what has to be done before the first append. Commands queue up
// meanwhile.
//
// What Prepare makes of the contents is right for these contents only: it is written from the upper
// that they were read at, and where that has moved it is made anew.
func (t *AppendOnlyTask) prepare() error {
	if t.cfg.Prepare == nil {
		return t.fetchUpper()
	}
	for tried := false; ; tried = true {
		t.h.Sometimes("storage: a preparation was made anew because somebody else wrote", tried)
		shard := target{h: t.h, life: t.life, writer: t.cfg.Writer, openReader: t.cfg.OpenReader}
		rows, upper, err := shard.contents()
		if err != nil {
			return t.failure(err)
		}
		if err := t.adopt(upper); err != nil {
			return err
		}
		first, err := t.cfg.Prepare(t.life, rows)
		if err != nil {
			return t.failure(err)
		}
		first = Consolidate(append([]RowDiff(nil), first...))
		if len(first) == 0 {
			return nil
		}
		result, err := t.write(first)
		if err != nil || result == written {
			return err
		}
		if tried {
			if err := pause(t.h, t.life, t.shutdown, t.cfg.ID, t.cfg.Retry.Initial); err != nil {
				return err
			}
		}
	}
}

func (t *AppendOnlyTask) fetchUpper() error {
	upper, err := t.cfg.Writer.FetchRecentUpper(t.life)
	if err != nil {
		return t.failure(err)
	}
	return t.adopt(upper)
}

// adopt takes over the shard's upper. It fails when the shard is closed.
func (t *AppendOnlyTask) adopt(upper persist.Frontier) error {
	time, ok := upper.Time()
	if !ok {
		return &ShardClosed{ID: t.cfg.ID}
	}
	t.upper = time
	return nil
}

// handleAppends writes a batch of commands at once. It lasts at least the batch duration, which bounds
// the rate of writes; commands that arrive meanwhile make up the next batch.
func (t *AppendOnlyTask) handleAppends(batch []command) error {
	begun := t.h.Clock().Now()
	var rows []RowDiff
	var responders []Responder
	for _, c := range batch {
		added, err := t.check(c.op)
		if err != nil {
			c.respond.answer(err)
			continue
		}
		rows = append(rows, added...)
		responders = append(responders, c.respond)
	}
	if t.readOnly {
		answerAll(responders, &ReadOnly{ID: t.cfg.ID})
		return nil
	}
	if len(responders) == 0 {
		return nil
	}
	t.h.Sometimes("storage: several appends were written at once", len(responders) > 1)
	// The write moves the upper: the next tick is due a whole interval from now.
	t.ticker.Reset(t.cfg.UpperTickInterval)
	host.TrySelect(t.h, host.OnTime(t.ticker.C, nil))

	if err := t.append(Consolidate(rows), responders); err != nil {
		return err
	}
	if left := t.cfg.BatchDuration - t.h.Clock().Since(begun); left > 0 {
		return pause(t.h, t.life, t.shutdown, t.cfg.ID, min(left, t.cfg.BatchDuration))
	}
	return nil
}

// check returns a command's rows, if it may be carried out.
func (t *AppendOnlyTask) check(op WriteOp) ([]RowDiff, error) {
	a, ok := op.(Append)
	if !ok {
		return nil, &InvalidAppend{ID: t.cfg.ID}
	}
	for _, r := range a.Updates {
		if r.Diff <= 0 {
			return nil, &InvalidAppend{ID: t.cfg.ID, Row: r.Row, Diff: r.Diff}
		}
	}
	return a.Updates, nil
}

// append writes rows and answers the responders: all of them, on every path.
func (t *AppendOnlyTask) append(rows []RowDiff, responders []Responder) error {
	retries := retries{cfg: t.cfg.Retry}
	for {
		if t.h.Buggify("storage/let others be faster than an append") {
			if err := pause(t.h, t.life, t.shutdown, t.cfg.ID, t.cfg.BatchDuration/50); err != nil {
				answerAll(responders, rejection(t.cfg.ID, err)) // it was not tried
				return err
			}
		}
		result, err := t.write(rows)
		switch {
		case err != nil:
			answerAll(responders, err)
			return err
		case result == written:
			answerAll(responders, nil)
			return nil
		case result == ambiguous:
			t.h.Sometimes("storage: an append was left open", true)
			answerAll(responders, &Uncertain{ID: t.cfg.ID, Cause: persist.ErrAmbiguous})
			return t.fetchUpper()
		}
		wait, ok := retries.next(t.h.Clock().Now())
		if !ok {
			t.h.Sometimes("storage: an append gave up because the upper kept changing", true)
			answerAll(responders, &GaveUp{ID: t.cfg.ID, Current: persist.At(t.upper)})
			return nil
		}
		if err := pause(t.h, t.life, t.shutdown, t.cfg.ID, wait); err != nil {
			answerAll(responders, rejection(t.cfg.ID, err))
			return err
		}
		t.h.Sometimes("storage: an append is tried again after somebody else's", true)
	}
}

// write makes one attempt to write rows: they get the present time, or where the clock is behind the
// upper, the upper. When it finds another upper it takes that over, and nothing was written. The
// error is the reason to end.
func (t *AppendOnlyTask) write(rows []RowDiff) (outcome, error) {
	time := max(t.cfg.Now(), t.upper)
	return t.compareAndAppend(stamp(rows, time), time+1)
}

// tickUpper moves the upper to now, so that the collection stays readable at recent times. It tries
// once.
func (t *AppendOnlyTask) tickUpper() error {
	now := t.cfg.Now()
	if t.readOnly || now <= t.upper {
		return nil
	}
	result, err := t.compareAndAppend(nil, now)
	if result == ambiguous && err == nil {
		return t.fetchUpper()
	}
	return err
}

func (t *AppendOnlyTask) compareAndAppend(updates []persist.Update, upper uint64) (outcome, error) {
	err := t.cfg.Writer.CompareAndAppend(t.life, updates, persist.At(t.upper), persist.At(upper))
	mismatch, result := classify(err)
	switch result {
	case written:
		t.upper = upper
	case mismatched:
		return result, t.adopt(mismatch.Current)
	case invalid:
		panic("storage: collection " + string(t.cfg.ID) + ": " + err.Error())
	case failed:
		return result, t.failure(err)
	}
	return result, nil
}

// failure is the reason to end for an error of the shard.
func (t *AppendOnlyTask) failure(err error) error {
	if t.life.Err() != nil {
		return &Aborted{ID: t.cfg.ID}
	}
	return err
}
