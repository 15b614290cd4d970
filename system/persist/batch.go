package persist

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/simrun-dev/simrun/system/wal"
)

// batch describes the updates of the times in [Lower, Upper). Their data lies in the parts.
type batch struct {
	_     struct{} `cbor:",toarray"`
	Lower Frontier
	Upper Frontier
	// Since: times before it were moved forward to it. [0] for what a writer made; only
	// compaction makes others.
	Since Frontier
	Parts []part
}

// part is one blob with updates of a batch. Blobs are written once, under keys never used before.
type part struct {
	_        struct{} `cbor:",toarray"`
	Key      string
	Updates  int    // how many it has
	Checksum uint32 // CRC-32C of the blob: a store that mixes blobs up is found out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newBatch checks the updates of an append against its bounds and consolidates them.
func newBatch(updates []Update, lower, upper Frontier) (batch, []Update, error) {
	invalid := func(cause error, format string, args ...any) (batch, []Update, error) {
		return batch{}, nil, &InvalidUsage{Cause: cause, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case lower.IsEmpty():
		return invalid(ErrClosedLower, "new upper %v", upper)
	case upper.Before(lower):
		return invalid(ErrInvalidBounds, "[%v, %v)", lower, upper)
	case upper == lower && len(updates) > 0:
		return invalid(ErrEmptyInterval, "[%v, %v) with %d updates", lower, upper, len(updates))
	}
	for _, u := range updates {
		switch {
		case !lower.LessEqual(u.Time):
			return invalid(ErrUpdateNotBeyondLower, "%v in [%v, %v)", u, lower, upper)
		case upper.LessEqual(u.Time):
			return invalid(ErrUpdateBeyondUpper, "%v in [%v, %v)", u, lower, upper)
		}
	}
	return batch{Lower: lower, Upper: upper}, Consolidate(append([]Update(nil), updates...)), nil
}

// encodePart returns the part's description and the blob's value.
func encodePart(key string, updates []Update) (part, []byte) {
	value := wal.Encode(updates)
	return part{Key: key, Updates: len(updates), Checksum: crc32.Checksum(value, castagnoli)}, value
}

// decodePart returns the updates of a part's blob, or ErrCorrupt.
func decodePart(p part, value []byte) ([]Update, error) {
	if sum := crc32.Checksum(value, castagnoli); sum != p.Checksum {
		return nil, fmt.Errorf("%w: blob %q has checksum %08x, %08x was written", ErrCorrupt, p.Key, sum, p.Checksum)
	}
	var updates []Update
	if err := wal.Decode(value, &updates); err != nil {
		return nil, fmt.Errorf("%w: blob %q: %w", ErrCorrupt, p.Key, err)
	}
	return updates, nil
}

// has tells whether an update that lies in the batch's blobs is one of the batch's.
//
// What lies outside the batch's bounds is not: a batch can be appended under narrower bounds
// than it was written for. The filter makes sense only while no times were moved.
func (b *batch) has(u Update) bool {
	return b.Since != (Frontier{}) || b.Lower.LessEqual(u.Time) && !b.Upper.LessEqual(u.Time)
}

// asOf adds those of the batch's updates that count as of the time to into.
func (b *batch) asOf(time uint64, updates []Update, into []Update) []Update {
	for _, u := range updates {
		if b.has(u) && u.Time <= time {
			into = append(into, Update{Data: u.Data, Time: time, Diff: u.Diff})
		}
	}
	return into
}

// news adds to into those of the batch's updates that a listener has not emitted yet that
// began after the time asOf and has emitted everything before the frontier.
//
// It takes both conditions. A merge may have put what was emitted already into one batch with
// what was not: the frontier tells them apart. And where the listener has just begun, the
// frontier is asOf itself, to which a merge may have moved earlier updates.
func (b *batch) news(asOf uint64, frontier Frontier, updates []Update, into []Update) []Update {
	for _, u := range updates {
		if b.has(u) && u.Time > asOf && frontier.LessEqual(u.Time) {
			into = append(into, u)
		}
	}
	return into
}

// equal tells whether the two are one and the same: blobs are never shared, so what has equal
// parts was written by one append or merge. Those without parts can stand for each other.
func (b *batch) equal(c batch) bool {
	return b.Lower == c.Lower && b.Upper == c.Upper && b.Since == c.Since && slices.Equal(b.Parts, c.Parts)
}

// weight is how much the batch costs whoever reads it, in updates: an empty one counts as well.
func (b *batch) weight() int { return max(1, b.updates()) }

// updates is how many updates lie in the batch's blobs.
func (b *batch) updates() (n int) {
	for _, p := range b.Parts {
		n += p.Updates
	}
	return n
}
