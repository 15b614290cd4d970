package replica_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/compute/replica"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// slowConsensus is a consensus that takes its time, and gives up at once when its caller does.
type slowConsensus struct {
	persist.Consensus
	h host.Host
}

func (s slowConsensus) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	wait, cancel := s.h.Clock().WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	host.Select(s.h, host.OnDone(wait))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return s.Consensus.CompareAndSet(ctx, key, expected, next)
}

// TestForgottenSinkRests: a process that forgets everything ends what is under way, and a worker may be told of it only
// later. Until then its sinks must not try again and again, each time in vain.
func TestForgottenSinkRests(t *testing.T) {
	late := 0
	for seed := uint64(1); seed <= 12; seed++ {
		w := sim.New(sim.Config{Seed: seed, Buggify: true, MaxTime: time.Hour, MaxEvents: 1_000_000})
		l := &lab{t: t, w: w}
		w.NewNode("replica", func(h host.Host) {
			l.blob, l.cons = persist.NewMemBlob(h), persist.NewMemConsensus(h)
			client := persist.NewClient(h, l.blob, slowConsensus{l.cons, h}, persist.Config{})
			_, err := replica.Serve(h, replica.Config{Port: "compute", Build: build, Persist: client, Workers: 3, Observer: l})
			require.NoError(t, err)
			_, err = client.OpenCritical(background, "s", "test", 1)
			require.NoError(t, err)
			l.write(3, 7)
			for n := uint64(1); n < 40; n += 2 {
				sink := index(protocol.GlobalID(n), 3)
				sink.Dataflow.Sink = protocol.Sink{Kind: protocol.Shard, Shard: persist.ShardID(fmt.Sprint("out ", n))}
				l.dial(epoch(1, n), sink, protocol.Schedule{ID: sink.Dataflow.ID}, complete, protocol.AllowWrites{})
				for last[replica.Appending](l).ID != sink.Dataflow.ID {
					h.Clock().Sleep(time.Millisecond)
				}
				l.dial(epoch(1, n+1), protocol.CreateInstance{Logging: protocol.LoggingConfig{Interval: time.Hour}}, complete)
				for halts := count[replica.Halted](l); count[replica.Halted](l) == halts; {
					h.Clock().Sleep(time.Millisecond)
				}
			}
			w.Stop()
		})
		w.Go("test", func() { w.Sleep(time.Hour) })
		require.NoError(t, w.Run(), "seed %d", seed)
		for _, s := range w.BuggifySites() {
			if s.Active && s.Name == "compute/a worker is told late" {
				late++
			}
		}
		w.Close()
	}
	require.NotZero(t, late, "no worker was told late")
}

// count is how many observations there are of a kind.
func count[E replica.Event](l *lab) (n int) {
	for _, o := range l.observed {
		if _, ok := o.(E); ok {
			n++
		}
	}
	return n
}
