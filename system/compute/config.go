package compute

import (
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/persist"
)

// Config is what a controller needs. Incarnation, Build and Persist must be set.
type Config struct {
	// Incarnation is higher than that of every controller of the instance before, and above zero. See
	// [NextIncarnation].
	Incarnation int64
	// Build must be that of the replicas.
	Build protocol.BuildInfo
	// Persist opens the shards whose sinces the controller holds.
	Persist *persist.Client
	// Holder names the critical sinces of the instance. Default "compute".
	Holder persist.CriticalID
	// Dynamic is configuration that can change. Nil is the defaults.
	Dynamic *DynamicConfig
	// MaintainInterval is how often the controller looks after its replicas and collections. Default 1 s.
	MaintainInterval time.Duration
	// Retention is for how many milliseconds shards can still be read, whoever needs it. Default 0.
	Retention uint64
	// SubscribeBacklog is how many bytes of a subscription's batches may wait to be taken, about, before it ends with
	// [ErrFellBehind]; one batch may always. Default 64 MiB.
	SubscribeBacklog int
	// CommandBacklog is how many commands may wait for a replica beside those that it is told first, before its
	// connection is given up for the next one, which is told only what still matters. Default 10,000.
	CommandBacklog int
	// Observer, if not nil, is told what happens.
	Observer Observer
}

func (c Config) withDefaults() Config {
	if c.Holder == "" {
		c.Holder = "compute"
	}
	if c.Dynamic == nil {
		c.Dynamic = &DynamicConfig{}
	}
	if c.MaintainInterval <= 0 {
		c.MaintainInterval = time.Second
	}
	if c.SubscribeBacklog <= 0 {
		c.SubscribeBacklog = 64 << 20
	}
	if c.CommandBacklog <= 0 {
		c.CommandBacklog = 10_000
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}

// DynamicConfig is configuration that takes effect while things run. The zero value is the defaults.
type DynamicConfig struct {
	concurrency atomic.Int64
	expiration  atomic.Bool
}

// defaultConcurrency is how many dataflows of a replica hydrate at once, unless that is set.
const defaultConcurrency = 4

// SetHydrationConcurrency sets how many dataflows of a replica may hydrate at once, n > 0. Fewer take effect
// as dataflows come to the end of it.
func (d *DynamicConfig) SetHydrationConcurrency(n int) { d.concurrency.Store(int64(n)) }

// HydrationConcurrency is how many dataflows of a replica may hydrate at once.
func (d *DynamicConfig) HydrationConcurrency() int {
	if n := d.concurrency.Load(); n > 0 {
		return int(n)
	}
	return defaultConcurrency
}

// SetExpiration sets whether replicas expire that have an expiration; it counts for connections made from
// then on. They do not unless it is set.
func (d *DynamicConfig) SetExpiration(on bool) { d.expiration.Store(on) }

// Expiration tells whether they do.
func (d *DynamicConfig) Expiration() bool { return d.expiration.Load() }

// ReplicaConfig is what the controller knows of a replica. Address must be set.
type ReplicaConfig struct {
	// Address is where it listens: "machine:port".
	Address string
	// Timely is how its worker is set up.
	Timely protocol.TimelyConfig
	// Logging is what it tells of itself.
	Logging protocol.LoggingConfig
	// Expiration, if not zero, is how long it may live before it starts from nothing, if
	// [DynamicConfig.Expiration]. It has to be much longer than it takes to hydrate all collections: else it
	// never is.
	Expiration time.Duration
	// ConnectTimeout bounds each attempt to connect. Default 5 s.
	ConnectTimeout time.Duration
	// Conn are the times of the connection: the replica's own.
	Conn protocol.ConnConfig
}

func (c ReplicaConfig) connectTimeout() time.Duration {
	if c.ConnectTimeout > 0 {
		return c.ConnectTimeout
	}
	return 5 * time.Second
}
