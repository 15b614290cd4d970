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
	// Observer, if not nil, is told what happens.
	Observer Observer
}

// What parameters are until a controller sets them.
var defaults = protocol.Parameters{MaxResultSize: 16 << 20, ReportInterval: 10 * time.Millisecond}

const (
	// defaultBudget is that of a controller that sets none.
	defaultBudget = 10_000
	// greeting bounds how long a controller may take to say who it is.
	greeting = 5 * time.Second
	// retry is how long to wait before something is tried again that persist does not retry itself.
	retry = time.Second
)
