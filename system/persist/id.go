package persist

import (
	"fmt"
	"net/url"

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

// MaxShardID is how many bytes a ShardID may have at most, escaped as in the path of a URL. With the name
// of a blob behind it, it has to fit into the name of a file, of which file systems take 255 bytes.
const MaxShardID = 128

// check tells whether the shard can be stored.
func (id ShardID) check() error {
	switch size := len(url.PathEscape(string(id))); {
	case size == 0:
		return fmt.Errorf("%w: it is empty: give the shard a name", ErrBadShardID)
	case size > MaxShardID:
		return fmt.Errorf("%w: %q has %d bytes, escaped as in a URL, at most %d are possible: give the shard a shorter name", ErrBadShardID, id, size, MaxShardID)
	}
	return nil
}

// newID returns a name never used before. Randomness alone would do; the machine's name and
// its process's incarnation make ids readable in traces, and keep them apart even where two
// machines were seeded alike.
func newID(h host.Host, kind string) string {
	return fmt.Sprintf("%s-%s.%d-%016x", kind, h.Name(), h.Incarnation(), h.Rand().Uint64())
}
