package persist

import (
	"fmt"
	"hash/crc32"
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
	value := mustEncode(updates)
	return part{Key: key, Updates: len(updates), Checksum: crc32.Checksum(value, castagnoli)}, value
}

// decodePart returns the updates of a part's blob, or ErrCorrupt.
func decodePart(p part, value []byte) ([]Update, error) {
	if sum := crc32.Checksum(value, castagnoli); sum != p.Checksum {
		return nil, fmt.Errorf("%w: blob %q has checksum %08x, %08x was written", ErrCorrupt, p.Key, sum, p.Checksum)
	}
	var updates []Update
	if err := decoding.Unmarshal(value, &updates); err != nil {
		return nil, fmt.Errorf("%w: blob %q: %w", ErrCorrupt, p.Key, err)
	}
	return updates, nil
}

// asOf adds those of the batch's updates that count as of the time to into.
//
// What lies outside the batch's bounds does not count: a batch can be appended under narrower
// bounds than it was written for. The filter makes sense only while no times were moved.
func (b *batch) asOf(time uint64, updates []Update, into []Update) []Update {
	for _, u := range updates {
		if b.Since == (Frontier{}) && (!b.Lower.LessEqual(u.Time) || b.Upper.LessEqual(u.Time)) {
			continue
		}
		if u.Time <= time {
			into = append(into, Update{Data: u.Data, Time: time, Diff: u.Diff})
		}
	}
	return into
}
