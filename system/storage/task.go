package storage

import (
	"context"
	"errors"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// DifferentialWriteTask makes what is in a persist shard match what it should be, and moves
// the shard's upper on. See the package's documentation.
//
// Whenever the shard's upper is currentUpper, its contents and toWrite add up to desired.
type DifferentialWriteTask struct {
	h    host.Host
	cfg  TaskConfig
	life context.Context // done when the task is aborted

	id         GlobalID
	writer     *persist.WriteHandle
	openReader func(context.Context) (*persist.ReadHandle, error)
	readOnly   bool
	now        func() uint64
	ticker     *clock.Ticker
	mailbox    *mailbox
	shutdown   *host.Chan[struct{}] // closed to shut down
	allow      *host.Chan[struct{}] // closed to end read-only mode

	// desired is the collection as it should be.
	desired []RowDiff
	// toWrite is what has to be written to make it so.
	toWrite []RowDiff
	// currentUpper is the shard's upper as far as is known. It begins as 0, so that on a shard
	// that was written to before, the first write finds a mismatch, and the task learns of
	// what is there.
	currentUpper uint64
}

// run is the task. It returns why it ended, after answering all there is to answer.
func (t *DifferentialWriteTask) run() (reason error) {
	defer func() { t.mailbox.end(t.rejection(reason)) }()
	allow := never
	if t.readOnly {
		allow = t.allow.OnRecv(nil, nil)
	} else {
		if err := t.prepare(t.cfg.Introspection); err != nil {
			return t.failure(err)
		}
	}
	// The first tick is due at once. A ticker's channel holds one tick: those missed while
	// something else was done do not pile up.
	first := host.NewChan[struct{}](t.h, "first upper tick", 1)
	first.Send(struct{}{})
	var cmd command
	var ok bool
	cases := []host.Case{
		host.OnDone(t.life),
		t.shutdown.OnRecv(nil, nil),
		t.mailbox.commands.OnRecv(&cmd, &ok),
		first.OnRecv(nil, nil),
		t.tick(),
		allow,
	}
	for {
		// Before the commands, which may never cease to come, and after a shutdown.
		if t.readOnly && t.allow.Closed() && !t.shutdown.Closed() {
			cases[len(cases)-1] = never
			if err := t.allowWrites(); err != nil {
				return err
			}
		}
		var err error
		switch host.SelectFirst(t.h, cases...) {
		case 0:
			return &Aborted{ID: t.id}
		case 1:
			return ErrShutdown
		case 2:
			if !ok {
				return ErrSenderDropped
			}
			first.TryRecv() // the tick is reset: it is not due any more
			err = t.handleUpdates(t.mailbox.more(cmd, t.cfg.BatchSize))
		case 3, 4:
			err = t.tickUpper()
		}
		if err != nil {
			return err
		}
	}
}

// never is the case of what has happened already, and happens once.
var never = (*host.Chan[struct{}])(nil).OnRecv(nil, nil)

// allowWrites ends read-only mode. What commands have made of the collection meanwhile is written at
// once, in place of what the shard holds.
func (t *DifferentialWriteTask) allowWrites() error {
	t.h.Sometimes("storage: writes were allowed to a collection with rows", len(t.desired) > 0)
	t.readOnly = false
	if err := t.prepare(t.cfg.Introspection); err != nil {
		return t.failure(err)
	}
	return t.writeToPersist(nil)
}

func (t *DifferentialWriteTask) tick() host.Case { return host.OnTime(t.ticker.C, nil) }

// rejection is the answer to the commands that a task has not looked at when it ends.
func rejection(id GlobalID, reason error) error {
	if reason == nil || errors.Is(reason, ErrShutdown) || errors.Is(reason, ErrSenderDropped) || isAborted(reason) {
		return &IdentifierInvalid{ID: id}
	}
	return reason
}

func (t *DifferentialWriteTask) rejection(reason error) error { return rejection(t.id, reason) }

// failure is the reason to end for an error of the shard.
func (t *DifferentialWriteTask) failure(err error) error {
	if t.life.Err() != nil {
		return &Aborted{ID: t.id}
	}
	return err
}

func isAborted(err error) bool {
	var aborted *Aborted
	return errors.As(err, &aborted)
}

func isLeaseExpired(err error) bool { return errors.Is(err, persist.ErrLeaseExpired) }

func (t *DifferentialWriteTask) pause(d time.Duration) error {
	return pause(t.h, t.life, t.shutdown, t.id, d)
}

// pause waits for a duration, or until a task is shut down or aborted, in which case it tells why to
// end.
func pause(h host.Host, life context.Context, shutdown *host.Chan[struct{}], id GlobalID, d time.Duration) error {
	timer, cancel := h.Clock().WithTimeout(life, d)
	defer cancel()
	switch host.SelectFirst(h, host.OnDone(life), shutdown.OnRecv(nil, nil), host.OnDone(timer)) {
	case 0:
		return &Aborted{ID: id}
	case 1:
		return ErrShutdown
	}
	return nil
}
