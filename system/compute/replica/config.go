package replica

import (
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// Config is what a replica needs. Port, Build and Persist must be set.
type Config struct {
	// Port is where it listens.
	Port string
	// Build is what it greets controllers with.
	Build protocol.BuildInfo
	// Persist opens the shards that it reads and writes.
	Persist *persist.Client
	// Workers is how many share the replica's work, each with its part of the rows. Default 1.
	Workers int
	// InputBacklog is how many bytes of what was read from shards may wait to be worked off, about, before no more is
	// read. Default 64 MiB.
	InputBacklog int
	// ResponseBacklog is how many bytes of responses may wait to be sent on a connection, about, before peeks are answered
	// later. Subscribes that would make it twice as many end with an error, though one batch may always wait. When so many
	// bytes of frontiers wait the connection is given up. Default 64 MiB.
	ResponseBacklog int
	// Conn are the times of connections with controllers: those that controllers have.
	Conn protocol.ConnConfig
	// Observer, if not nil, is told what happens.
	Observer Observer
}

func (c Config) withDefaults() Config {
	c.Workers = max(c.Workers, 1)
	if c.InputBacklog <= 0 {
		c.InputBacklog = 64 << 20
	}
	if c.ResponseBacklog <= 0 {
		c.ResponseBacklog = 64 << 20
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}

// What parameters are until a controller sets them.
var defaults = protocol.Parameters{MaxResultSize: 16 << 20, ReportInterval: 10 * time.Millisecond, MaxBatchSize: protocol.MaxMessage}

const (
	// defaultBudget is that of a controller that sets none.
	defaultBudget = 10_000
	// greeting bounds how long a controller may take to say who it is.
	greeting = 5 * time.Second
	// retry is how long to wait before something is tried again that persist does not retry itself.
	retry = time.Second
)
