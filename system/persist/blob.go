package persist

import "context"

// Blob is a linearizable store of values by key. Shards write each key once; the store itself
// allows a key to be overwritten. All methods may be called concurrently; errors are as
// described at [ErrDeterminate].
type Blob interface {
	// Get returns the value of a key; ok is false when it has none. It fails with ErrCorrupt
	// when what is stored is not what was set. The value is shared, and never changed.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)

	// Set sets the value of a key, wholly or not at all. It takes over the slice.
	Set(ctx context.Context, key string, value []byte) error

	// Delete removes a key; existed tells whether it was there, which it need not be, and size
	// how many bytes its value had.
	Delete(ctx context.Context, key string) (size int64, existed bool, err error)

	// List returns the keys that begin with prefix, and their sizes, sorted by key.
	List(ctx context.Context, prefix string) ([]BlobInfo, error)
}

// BlobInfo describes one value of a [Blob].
type BlobInfo struct {
	_    struct{} `cbor:",toarray"`
	Key  string
	Size int64 // in bytes
}
