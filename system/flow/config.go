package flow

import "time"

// Config are the sizes and times of a Manager. The zero value means the defaults, which are those of
// the original.
type Config struct {
	// Workers is how many workers a [Node] has. Default 2.
	Workers int
	// BroadcastCap is how many batches a flow may have before it that it has not read: as long as any
	// flow of a table has so many, the table's buffer is not emptied. Default 1024.
	BroadcastCap int
	// SendBufCap is how many batches a table's buffer holds. Whoever inserts into a full one waits.
	// Default 2048.
	SendBufCap int
	// SendBufRows is how many rows a table's buffer holds before whoever inserts has to wait. Default
	// 4 * BatchSize.
	SendBufRows int
	// InsertTimeout is how long an insert waits for room, whether its caller still waits for it or not. Then it
	// counts as not having come. Default 2 s.
	InsertTimeout time.Duration
	// HoldCap is how many batches are held back for a flow that does not have yet what its table held. When
	// there are more, the oldest are dropped, and the table has to be read again. Default 2048.
	HoldCap int
	// BatchSize is how many rows the run loop would like to have at a time. Default 524288.
	BatchSize int
	// RunInterval is how long the run loop waits at most. Default 1 s.
	RunInterval time.Duration
	// MaxErrors is how many errors of a flow are kept until they are logged. Default 100.
	MaxErrors int

	// CatchUpInterval is how often the node looks whether it has missed inserts. Default 2 s.
	CatchUpInterval time.Duration
	// EarlyInserts is how many inserts that came before their predecessors are kept of a table; others
	// are fetched when they are needed. Default 64.
	EarlyInserts int
	// CallTimeout is the time for a call of the frontend. Default 2 s.
	CallTimeout time.Duration

	// RefillAttempts is how often a refill is tried until its flow is given up for the time being.
	// Default 5.
	RefillAttempts int
	// RefillBackoff is how long a refill waits after its first failure; it doubles with each. Default
	// 100 ms.
	RefillBackoff time.Duration
	// ReconcileInterval is how often a [Node] compares what it runs with the catalog. Default 3 s.
	ReconcileInterval time.Duration
}

func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	wait := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Workers, 2)
	def(&c.BroadcastCap, 1024)
	def(&c.SendBufCap, 2048)
	wait(&c.InsertTimeout, 2*time.Second)
	def(&c.HoldCap, 2048)
	def(&c.BatchSize, 32*16384)
	def(&c.SendBufRows, 4*c.BatchSize)
	wait(&c.RunInterval, time.Second)
	def(&c.MaxErrors, 100)
	wait(&c.CatchUpInterval, 2*time.Second)
	def(&c.EarlyInserts, 64)
	wait(&c.CallTimeout, 2*time.Second)
	def(&c.RefillAttempts, 5)
	wait(&c.RefillBackoff, 100*time.Millisecond)
	wait(&c.ReconcileInterval, 3*time.Second)
	return c
}
