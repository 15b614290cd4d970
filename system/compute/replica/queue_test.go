package replica_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/persist"
)

// A batch that is too long ends its subscribe, and nothing else on the connection.
func TestBatchTooLong(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		c := l.dial(epoch(1, 1), protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxBatchSize: 1000}},
			index(1, 3), protocol.Schedule{ID: 1}, subscribe(2, 3), protocol.Schedule{ID: 2}, complete)
		of := func(wanted func(protocol.SubscribeResponse) bool) protocol.SubscribeResponse {
			return until(c, func(r protocol.SubscribeResponse) bool { return r.ID == 2 && wanted(r) })
		}
		of(func(r protocol.SubscribeResponse) bool { return r.Batch.Upper == persist.At(4) })
		rows := make([]int64, 100)
		for i := range rows {
			rows[i] = int64(i)
		}
		l.write(5, rows...)
		ended := of(func(r protocol.SubscribeResponse) bool { return r.Batch == nil })
		require.Contains(t, ended.Error, "which is more than 1000")
		require.Nil(t, ended.DroppedAt)
		l.write(6)
		until(c, func(f protocol.Frontiers) bool { return f.ID == 1 && f.Write == persist.At(7) })
		c.send(protocol.AllowCompaction{ID: 2, Frontier: persist.Empty()})
		next := of(func(protocol.SubscribeResponse) bool { return true })
		require.NotNil(t, next.DroppedAt, "of what has ended with an error there are no more batches: %v", next)
		require.Empty(t, next.Error)
	})
}

// fill writes so many rows, that an answer with all of them takes about 30 bytes each.
func (l *lab) fill(n int) {
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(1_000_000 + i)
	}
	l.write(3, rows...)
}

// Answers to peeks wait in the replica, a few at a time, while the controller does not take them, and come when it does.
func TestAnswersWaitForRoom(t *testing.T) {
	for _, shard := range []bool{false, true} {
		const limit, peeks = 100_000, 40
		withConfig(t, replica.Config{Workers: 3, ResponseBacklog: limit}, func(l *lab) {
			l.fill(3000)
			c := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
			until(c, func(f protocol.Frontiers) bool { return f.Output == persist.At(4) })
			target := protocol.PeekTarget{ID: 1, Schema: numbers}
			if shard {
				target.Shard = "s"
			}
			for i := range peeks {
				c.send(protocol.Peek{ID: protocol.PeekID(fmt.Sprint(i)), Target: target, Timestamp: 3})
			}
			l.host().Clock().Sleep(time.Second)
			require.Less(t, count[replica.Sent](l), peeks/2, "more than what is under way and the limit is not in memory")
			require.Positive(t, l.w.Sometimes()["compute: the answer to a peek waits for room"])
			answered := map[protocol.PeekID]bool{}
			for len(answered) < peeks {
				r := until(c, func(r protocol.PeekResponse) bool { return !answered[r.ID] })
				require.Len(t, r.Rows, 3000)
				answered[r.ID] = true
			}
		})
	}
}

// A subscribe whose batches find no room ends with an error, which the controller reads when it reads again.
func TestBatchFindsNoRoom(t *testing.T) {
	withConfig(t, replica.Config{ResponseBacklog: 100_000}, func(l *lab) {
		l.write(3)
		c := l.dial(epoch(1, 1), subscribe(1, 3), protocol.Schedule{ID: 1}, complete)
		until(c, func(r protocol.SubscribeResponse) bool { return r.Batch.Upper == persist.At(4) })
		rows := make([]int64, 1000)
		for i := range rows {
			rows[i] = int64(1_000_000 + i)
		}
		for at := range uint64(60) {
			l.write(4+at, rows...)
			l.host().Clock().Sleep(10 * time.Millisecond)
		}
		l.host().Clock().Sleep(3 * time.Second)
		ended := until(c, func(r protocol.SubscribeResponse) bool { return r.Batch == nil })
		require.Contains(t, ended.Error, "there is no room for a batch")
		c.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 9}})
		until(c, func(r protocol.PeekResponse) bool { return r.ID == "p" })
	})
}

// A controller that takes nothing is given up; one that comes after it is served.
func TestControllerThatDoesNotListen(t *testing.T) {
	withConfig(t, replica.Config{ResponseBacklog: 2000}, func(l *lab) {
		l.fill(12_000)
		c := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, complete)
		until(c, func(f protocol.Frontiers) bool { return f.Output == persist.At(4) })
		for i := range 5 { // which is more than is under way at most
			c.send(protocol.Peek{ID: protocol.PeekID(fmt.Sprint(i)), Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 3})
		}
		given := func() int { return l.w.Sometimes()["compute: a replica gave up a controller that does not listen"] }
		for at := uint64(4); given() == 0; at++ {
			require.Less(t, at, uint64(100), "frontiers pile up")
			l.write(at)
			l.host().Clock().Sleep(100 * time.Millisecond)
		}
		require.Equal(t, 1, given())
		next := l.dial(epoch(1, 2), index(1, 3), protocol.Schedule{ID: 1}, complete)
		until(next, func(f protocol.Frontiers) bool { return f.Output == persist.At(l.upper) })
	})
}

// While workers are busy shards are not read on, and in the end all of them were.
func TestReadingWaits(t *testing.T) {
	waited := 0
	for seed := range uint64(40) { // in some of which workers dawdle
		w := sim.New(sim.Config{Seed: seed, Buggify: true, MaxTime: time.Hour})
		l := &lab{t: t, w: w}
		l.run(replica.Config{Workers: 1 + 2*int(seed%2), InputBacklog: 300}, func(l *lab) {
			l.write(3, 7)
			c := l.dial(epoch(1, 1), index(1, 3), protocol.Schedule{ID: 1}, over(2, 1, 3), protocol.Schedule{ID: 2}, complete)
			for at := range int64(20) {
				l.write(uint64(4+at), at, at+1, at+2, at+3)
			}
			for done := map[protocol.GlobalID]bool{}; len(done) < 2; {
				f := until(c, func(f protocol.Frontiers) bool { return f.Output == persist.At(l.upper) })
				done[f.ID] = true
			}
			c.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 2, Schema: numbers}, Timestamp: l.upper - 1})
			require.Len(t, until(c, func(protocol.PeekResponse) bool { return true }).Rows, 23)
		})
		waited += w.Sometimes()["compute: reading a shard waits for busy workers"]
		w.Close()
	}
	require.Positive(t, waited)
}

// A controller's parameters end with what it wanted: the next one begins with the defaults.
func TestParametersAreNotInherited(t *testing.T) {
	inLab(t, func(l *lab) {
		l.write(3, 7)
		tight := protocol.UpdateConfiguration{Parameters: protocol.Parameters{MaxResultSize: 1, MaxBatchSize: 1}}
		first := l.dial(epoch(1, 1), tight, index(1, 3), protocol.Schedule{ID: 1}, complete)
		ask := func(c *client) protocol.PeekResponse {
			c.send(protocol.Peek{ID: "p", Target: protocol.PeekTarget{ID: 1, Schema: numbers}, Timestamp: 3})
			return until(c, func(protocol.PeekResponse) bool { return true })
		}
		require.Contains(t, ask(first).Error, "more than 1")
		second := l.dial(epoch(2, 1), index(1, 3), protocol.Schedule{ID: 1}, subscribe(2, 3), protocol.Schedule{ID: 2}, complete)
		until(second, func(r protocol.SubscribeResponse) bool { return r.Batch != nil && r.Batch.Upper == persist.At(4) })
		require.Empty(t, ask(second).Error)
		require.Equal(t, []protocol.GlobalID{1}, last[replica.Reconciled](l).Retained)
	})
}
