package persist

import "time"

// Config are the times of a [Client]. The zero value means the defaults.
type Config struct {
	// ReaderLease is how long a reader that is not heard of keeps its hold. Default 15 min.
	ReaderLease time.Duration
	// HeartbeatInterval is how often a reader lets itself be heard of. Default half of
	// ReaderLease.
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
	// FetchParallelism is how many batches a snapshot fetches at a time. Default 4.
	FetchParallelism int
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
	if c.FetchParallelism <= 0 {
		c.FetchParallelism = 4
	}
	return c
}
