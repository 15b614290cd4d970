package persist

import "context"

// SeqNo numbers the versions of a key in [Consensus]. Versions are numbered from 1 to
// [MaxSeqNo]; 0 stands for "no version".
type SeqNo uint64

// MaxSeqNo is the largest number of a version. Stores may keep numbers in signed columns.
const MaxSeqNo SeqNo = 1<<63 - 1

// Versioned is one version of a key. Its Data is shared, and never changed.
type Versioned struct {
	_     struct{} `cbor:",toarray"`
	SeqNo SeqNo
	Data  []byte
}

// Consensus is a linearizable register with retained history for each key. All methods may be
// called concurrently; errors are as described at [ErrDeterminate].
type Consensus interface {
	// Head returns the latest version of the key, of SeqNo 0 when it has none. It sees every
	// compare-and-set that was acknowledged before it was called.
	Head(ctx context.Context, key string) (Versioned, error)

	// CompareAndSet adds the version next if the key's latest version is numbered expected, 0
	// meaning that it has none, and tells whether it did. Unless next.SeqNo is greater than
	// expected and at most MaxSeqNo it fails with ErrInvalidSeqNo.
	CompareAndSet(ctx context.Context, key string, expected SeqNo, next Versioned) (committed bool, err error)

	// Scan returns the retained versions numbered from and above, in ascending order, at most
	// limit of them. There being none is not an error.
	Scan(ctx context.Context, key string, from SeqNo, limit int) ([]Versioned, error)

	// Truncate drops the versions numbered below seqno and returns how many it dropped. The
	// latest version always stays: it fails with ErrInvalidSeqNo when seqno is above it, or
	// the key has none.
	Truncate(ctx context.Context, key string, seqno SeqNo) (dropped int, err error)

	// ListKeys returns the keys that have versions, sorted.
	ListKeys(ctx context.Context) ([]string, error)
}
