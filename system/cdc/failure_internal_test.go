package cdc

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// A processor whose failure lasts rests until the changefeed's info was put again, another for a while.
func TestRest(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	require.True(t, rest{}.over(&feedEntry{infoRev: 5}, now))
	for _, c := range []struct {
		rest rest
		info coord.Revision
		want bool
	}{
		{rest{until: now.Add(1)}, 5, false},
		{rest{until: now}, 5, true},
		{rest{until: now, told: 5}, 5, false},
		{rest{until: now, told: 5}, 6, true},
		{rest{until: now.Add(1), told: 5}, 6, false},
	} {
		require.Equal(t, c.want, c.rest.over(&feedEntry{infoRev: c.info}, now), "%+v", c)
	}
}

// Failures in a row have a processor rest twice as long each time, up to a bound, until the checkpoint moves.
func TestRestGrows(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	var r rest
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 32, 32} {
		r = r.again(7, now, time.Second)
		require.Equal(t, now.Add(seconds*time.Second), r.until)
	}
	r = r.again(8, now, time.Second)
	require.Equal(t, now.Add(time.Second), r.until)
	r = r.again(8, now, time.Second)
	require.Equal(t, now.Add(2*time.Second), r.until)
}

// Of failures those count that are about the changefeed as it is now.
func TestPictureOfFailures(t *testing.T) {
	position := func(capture, feed string, info coord.Revision, cause *model.RunningError) coord.KeyValue {
		p := failedPosition{Feed: feed, InfoRevision: info, Position: model.TaskPosition{Error: cause}}
		return coord.KeyValue{Key: positionKey(capture, feed), Value: encode(p), ModRevision: 9}
	}
	cause := &model.RunningError{Addr: "a:cdc", Code: "cdc/sink-gap", Message: "a gap"}
	p, bad := pictureOf([]coord.KeyValue{
		{Key: InfoKey("a/b"), Value: encode(model.ChangeFeedInfo{State: model.StateNormal}), CreateRevision: 3, ModRevision: 7},
		position("c1", "a/b", 6, cause), // before it was stopped and resumed
		position("c2", "a/b", 7, nil),
		position("c3", "a/b", 7, cause),
		position("c4", "gone", 7, cause),
		{Key: positionKey("c5", "a/b"), Value: "{"},
	}, 9)
	require.Equal(t, []string{positionKey("c5", "a/b")}, bad)
	f := p.feeds["a/b"]
	require.Equal(t, coord.Revision(3), f.incarnation)
	require.Equal(t, []failure{{positionKey("c3", "a/b"), *cause}}, f.failures)
}

func TestLastingErrors(t *testing.T) {
	for _, err := range []error{&source.GCError{Asked: 1, Safepoint: 2}, sink.ErrGap, sink.ErrClosed} {
		stored, lasts := lastingError(fmt.Errorf("key span 1: %w", err), "a:cdc")
		require.True(t, lasts)
		failed := &FailedError{Feed: "feed", Cause: *stored}
		require.ErrorIs(t, failed, ErrFeedFailed)
		for _, l := range lasting {
			require.Equal(t, l.code == stored.Code, failed.Is(l.sentinel), "%v is %v", err, l.sentinel)
		}
	}
	for _, err := range []error{errDuplicate, errAnswerLost, source.ErrNoSpan, source.ErrUnknown, nil} {
		_, lasts := lastingError(err, "a:cdc")
		require.False(t, lasts, "%v may be over the next time", err)
	}
}
