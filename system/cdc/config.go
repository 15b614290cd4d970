package cdc

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/peer"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// Config is what a [Capture] works with. Coord, Upstream and Sinks must be set; the zero value of the
// rest means the defaults.
type Config struct {
	// Coord is the coordination service.
	Coord coord.Client
	// Upstream is the store whose changes are captured.
	Upstream source.Reader
	// Sinks opens the sink of a changefeed. Each processor has one of its own, and closes it. It must not wait for
	// long, and not beyond ctx: opening a key span is the time to. After an error it is called again, for ever,
	// unless the error is one of those that last: sink.ErrGap, sink.ErrClosed or source.ErrGC, by errors.Is; these
	// fail the changefeed.
	Sinks func(ctx context.Context, id model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error)
	// Port is where the capture listens. Default "cdc".
	Port string
	// Version is what the capture says it is.
	Version string

	// SessionTTL is how long the capture may go unheard before it is taken for dead. Default 10 s.
	SessionTTL time.Duration
	// OwnerInterval and ProcessorInterval are the times between ticks. Defaults 200 and 100 ms.
	OwnerInterval, ProcessorInterval time.Duration
	// ReportInterval is how often a processor tells how far it is. Default 100 ms.
	ReportInterval time.Duration
	// FlushInterval is how long a key span's rows are gathered before they are written. Default 100 ms.
	FlushInterval time.Duration
	// Timeout bounds single calls to the coordination service and the upstream store. Default 2 s.
	Timeout time.Duration
	// RestartDelay is about how long a capture waits after it lost its session, and a processor after it
	// failed: up to 32 times as long while it fails again and again, and the changefeed's checkpoint stands
	// still. Default 500 ms.
	RestartDelay time.Duration
	// SafepointTTL is how long the upstream store keeps history without hearing of an owner. Default
	// 24 h.
	SafepointTTL time.Duration
	// Peer are the limits of what captures tell each other.
	Peer peer.Config
	// MaxBuffered is how many rows of a key span that could be written are read ahead. Default 4096.
	MaxBuffered int

	// Observer is told what happens. Nil is nobody.
	Observer Observer
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.SessionTTL, 10*time.Second)
	set(&c.OwnerInterval, 200*time.Millisecond)
	set(&c.ProcessorInterval, 100*time.Millisecond)
	set(&c.ReportInterval, 100*time.Millisecond)
	set(&c.FlushInterval, 100*time.Millisecond)
	set(&c.Timeout, 2*time.Second)
	set(&c.RestartDelay, 500*time.Millisecond)
	set(&c.SafepointTTL, 24*time.Hour)
	if c.Port == "" {
		c.Port = "cdc"
	}
	if c.MaxBuffered <= 0 {
		c.MaxBuffered = 4096
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}
