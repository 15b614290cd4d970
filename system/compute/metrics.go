package compute

import (
	"sync/atomic"
	"time"
)

// ReplicaMetrics are figures of a replica, over all its connections. They may be read at any time.
type ReplicaMetrics struct {
	// CommandQueue is how many commands wait to be sent.
	CommandQueue atomic.Int64
	// HydrationQueue is how many dataflows wait to be scheduled.
	HydrationQueue atomic.Int64
	// Connects counts connections that were made, Attempts all that were tried.
	Connects, Attempts atomic.Int64
	// ConnectTime adds up what the attempts took that succeeded, in nanoseconds.
	ConnectTime atomic.Int64
	// Commands and Responses count what was sent and received.
	Commands, Responses atomic.Int64
}

func (m *ReplicaMetrics) connected(took time.Duration) {
	m.Connects.Add(1)
	m.ConnectTime.Add(int64(took))
}
