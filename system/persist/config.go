package persist

import (
	"math/rand/v2"
	"time"
)

// Config are the times and sizes of a [Client]. The zero value means the defaults.
type Config struct {
	// ReaderLease is how long a reader that is not heard of keeps its hold. Default 15 min.
	ReaderLease time.Duration
	// HeartbeatInterval is how often it is looked whether a client's readers have to let themselves be
	// heard of: when a third of the lease is over or half of it would be by the next time, and when
	// they have something to give up. Default half of ReaderLease.
	HeartbeatInterval time.Duration
	// WriterLease is how long the shard remembers a writer that is not heard of, which bounds
	// how long an append may go on retrying and still be settled. Default 15 min.
	WriterLease time.Duration
	// RetryMin and RetryMax are the first and the longest wait before an operation of a store
	// is retried; waits double, and each is shortened at random by up to a half. Defaults
	// 4 ms and 16 s.
	RetryMin, RetryMax time.Duration
	// PollMin and PollMax are the first and the longest wait between two looks at an upper
	// that is waited for. Defaults 20 ms and 1 s.
	PollMin, PollMax time.Duration
	// FetchParallelism is how many blobs are fetched at a time. Default 4.
	FetchParallelism int

	// DowngradeInterval is how long MaybeDowngradeSince and listeners leave their hold where
	// it is. Default a quarter of ReaderLease.
	DowngradeInterval time.Duration
	// CriticalDowngradeInterval is the same for MaybeCompareAndDowngradeSince. Default 30 s.
	CriticalDowngradeInterval time.Duration
	// RollupInterval is after how many versions of a shard its complete state is kept again,
	// so that who opens the shard has no more than about that many to replay. Default 64.
	RollupInterval int
	// CollectInterval is how many versions there have to be that nobody needs before they and
	// their blobs are deleted. Default 64.
	CollectInterval int
	// MergeBatches is how many batches next to each other, and alike in size, are merged into
	// one. More make snapshots slower, fewer rewrite updates more often. Default 8, at least 2.
	MergeBatches int
	// MergeUpdates is the size of the largest merge, which is done in memory. Default 1048576.
	MergeUpdates int
	// MaintenanceTimeout is after how long a rollup or a collection that was asked for, and is not
	// done, is taken for lost with the process that was asked. Too short costs work done twice.
	// Default 1 min.
	MaintenanceTimeout time.Duration
	// NoMaintenance leaves rollups, collection and merges to other processes.
	NoMaintenance bool

	// PartUpdates is how many updates go into one blob. Default 65536.
	PartUpdates int
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.ReaderLease, 15*time.Minute)
	set(&c.HeartbeatInterval, c.ReaderLease/2)
	set(&c.WriterLease, 15*time.Minute)
	set(&c.RetryMin, 4*time.Millisecond)
	set(&c.RetryMax, 16*time.Second)
	set(&c.PollMin, 20*time.Millisecond)
	set(&c.PollMax, time.Second)
	set(&c.DowngradeInterval, c.ReaderLease/4)
	set(&c.CriticalDowngradeInterval, 30*time.Second)
	set(&c.MaintenanceTimeout, time.Minute)
	count := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	count(&c.FetchParallelism, 4)
	count(&c.PartUpdates, 1<<16)
	count(&c.RollupInterval, 64)
	count(&c.CollectInterval, 64)
	count(&c.MergeBatches, 8)
	count(&c.MergeUpdates, 1<<20)
	c.MergeBatches = max(2, c.MergeBatches)
	return c
}

// eager makes maintenance frequent, and its steps small. It is a version of the shard itself, or two, which must not be
// worth maintenance in their turn: a client would be busy with that alone, for good.
func (c Config) eager(random *rand.Rand) Config {
	c.RollupInterval = 3 + random.IntN(6)
	c.CollectInterval = 3 + random.IntN(6)
	c.MergeBatches = 2 + random.IntN(3)
	c.PartUpdates = 1 + random.IntN(16)
	c.MaintenanceTimeout = time.Duration(1+random.IntN(8)) * time.Second
	return c
}

func (c Config) policy() policy {
	if c.NoMaintenance {
		return policy{}
	}
	return policy{
		rollup: SeqNo(c.RollupInterval), collect: SeqNo(c.CollectInterval),
		merge: c.MergeBatches, mergeUpdates: c.MergeUpdates,
		timeout: uint64(c.MaintenanceTimeout.Milliseconds()),
	}
}
