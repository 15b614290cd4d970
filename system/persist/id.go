package persist

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

type (
	// ShardID names a shard. It is the key of the shard's state in Consensus and the prefix
	// of its keys in Blob.
	ShardID string
	// WriterID names a run of appends, one after the other, by one handle.
	WriterID string
	// ReaderID names a leased reader.
	ReaderID string
	// CriticalID names a critical since; it outlives processes.
	CriticalID string
	// Token names one call that changes a shard, with all its attempts.
	Token string
	// Opaque is what the holder of a critical since leaves with it, such as its epoch: a
	// later holder compares it, and so finds out that it was fenced out.
	Opaque uint64
)

// newID returns a name never used before. Randomness alone would do; the machine's name and
// its process's incarnation make ids readable in traces, and keep them apart even where two
// machines were seeded alike.
func newID(h host.Host, kind string) string {
	return fmt.Sprintf("%s-%s.%d-%016x", kind, h.Name(), h.Incarnation(), h.Rand().Uint64())
}
