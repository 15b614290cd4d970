package storage

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// TaskConfig is what a [DifferentialWriteTask] works on. Writer and OpenReader must be set; the
// zero value of the rest means the defaults.
type TaskConfig struct {
	// ID is the collection that is written to.
	ID GlobalID
	// Writer writes its shard. The task is its only user.
	Writer *persist.WriteHandle
	// OpenReader opens a reader of the same shard. It is called each time the task has to
	// find out what is in the shard; the reader is closed afterwards.
	OpenReader func(context.Context) (*persist.ReadHandle, error)
	// ReadOnly tasks follow their commands and never touch the shard.
	ReadOnly bool
	// Introspection says what has to be done before the first write.
	Introspection Introspection
	// Now is the present time in milliseconds. Default is the host's clock.
	Now func() uint64
	// UpperTickInterval is how often the upper is moved to now. Default 1 s.
	UpperTickInterval time.Duration
	// BatchDuration is how long a batch of commands lasts at least, which bounds the rate of
	// writes. Default 1 s.
	BatchDuration time.Duration
	// BatchSize bounds the commands of a batch. Default 4096.
	BatchSize int
	// Retry spaces the attempts of a write that finds the upper changed.
	Retry RetryConfig
}

// RetryConfig is the schedule of a write's retries. The first is immediate.
type RetryConfig struct {
	// Tries is how many retries there are. Default 20.
	Tries int
	// Initial and Max are the times from the first retry to the second, and the longest
	// between two; they grow by a quarter. Defaults 1 s and 3 s.
	Initial, Max time.Duration
}

func (c TaskConfig) withDefaults(h host.Host) TaskConfig {
	if c.Now == nil {
		c.Now = func() uint64 { return uint64(max(0, h.Clock().Now().UnixMilli())) }
	}
	if c.UpperTickInterval <= 0 {
		c.UpperTickInterval = time.Second
	}
	if c.BatchDuration <= 0 {
		c.BatchDuration = time.Second
	}
	if c.BatchSize <= 0 {
		c.BatchSize = 4096
	}
	if c.Retry.Tries <= 0 {
		c.Retry.Tries = 20
	}
	if c.Retry.Initial <= 0 {
		c.Retry.Initial = time.Second
	}
	if c.Retry.Max <= 0 {
		c.Retry.Max = 3 * time.Second
	}
	return c
}
