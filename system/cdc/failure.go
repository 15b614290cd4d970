package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// lasting are the errors that making a processor anew does not mend, and their codes where they are stored.
var lasting = []struct {
	code     string
	sentinel error
}{
	{"cdc/history-gone", source.ErrGC},
	{"cdc/sink-gap", sink.ErrGap},
	{"cdc/sink-closed", sink.ErrClosed},
}

// lastingError is an error as it is stored, if it is one that lasts.
func lastingError(err error, addr string) (*model.RunningError, bool) {
	for _, l := range lasting {
		if errors.Is(err, l.sentinel) {
			return &model.RunningError{Addr: addr, Code: l.code, Message: err.Error()}, true
		}
	}
	return nil, false
}

// FailedError says why a changefeed is in model.StateFailed. It is ErrFeedFailed, and also the error that
// it met: source.ErrGC, sink.ErrGap or sink.ErrClosed.
type FailedError struct {
	Feed  model.ChangeFeedID
	Cause model.RunningError
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("cdc: changefeed %s failed on %s, resume it when the cause is removed or create it anew: %s (%s)",
		e.Feed, e.Cause.Addr, e.Cause.Message, e.Cause.Code)
}

// Is makes the error match what it stands for.
func (e *FailedError) Is(target error) bool {
	if target == ErrFeedFailed {
		return true
	}
	for _, l := range lasting {
		if l.sentinel == target {
			return l.code == e.Cause.Code
		}
	}
	return false
}

// failedPosition is what a capture stores of a changefeed that it can't go on with, for the owner.
type failedPosition struct {
	Feed model.ChangeFeedID `json:"feed"`
	// InfoRevision is when the changefeed's info was put that the capture went by: once that was put again,
	// or deleted, the failure is of no more interest.
	InfoRevision coord.Revision     `json:"info-revision"`
	Position     model.TaskPosition `json:"position"`
}

// tellFailure is the task that stores a failure, until that is done or of no more interest. It is under the
// session: the failure of a capture that is gone is not the changefeed's.
func (l *life) tellFailure(p failedPosition) {
	for l.ctx.Err() == nil {
		ctx, cancel := l.h.Clock().WithTimeout(l.ctx, l.cfg.Timeout)
		r, err := l.cfg.Coord.Txn(ctx, coord.Txn{
			If:   []coord.Compare{coord.ModifiedAt(InfoKey(p.Feed), p.InfoRevision)},
			Then: []coord.Op{coord.PutLeased(positionKey(l.id, p.Feed), encode(p), l.session.Lease())},
		})
		cancel()
		if err == nil {
			l.h.Sometimes("cdc: a failure is of no more interest", !r.Succeeded)
			return
		}
		if errors.Is(err, coord.ErrNoLease) {
			return
		}
		_ = host.Sleep(l.ctx, l.h, 50*time.Millisecond+time.Duration(l.h.Rand().Int64N(int64(100*time.Millisecond))))
	}
}

// fail marks a changefeed as failed, and stops it.
func (f *feed) fail(ctx context.Context, entry *feedEntry, cause model.RunningError) {
	f.stop()
	info := entry.info
	info.State, info.Error = model.StateFailed, &cause
	writes := []coord.Op{coord.Put(InfoKey(f.id), encode(info))}
	for _, failure := range entry.failures {
		writes = append(writes, coord.Delete(coord.One(failure.key)))
	}
	r, err := f.guarded(ctx, entry, writes...)
	if err != nil || !r.Succeeded {
		return // the next tick finds the same, or who else changed the info
	}
	f.o.h.Sometimes("cdc: a changefeed has failed", true)
	f.o.cfg.Observer.Observe(FeedFailed{
		Feed: f.id, Incarnation: f.incarnation, Epoch: f.o.epoch, Cause: cause, Revision: r.Revision,
	})
}
