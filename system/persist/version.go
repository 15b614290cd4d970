package persist

import "fmt"

// version is what Consensus keeps of one version of a shard: how it differs from the one before.
// The first differs from nothing, and so is complete by itself.
type version struct {
	_     struct{} `cbor:",toarray"`
	SeqNo SeqNo
	// Sum is the checksum of the state that the version's differences lead to: whoever gets
	// anything else when replaying them has lost or damaged a piece.
	Sum uint64
	// RollupAt is the newest version of which the state lists a rollup, 0 for none, and Rollup
	// where that lies: all it takes to begin a replay.
	RollupAt SeqNo
	Rollup   rollup
	Diff     diff
}

// rollup is a blob with the complete state of a version.
type rollup struct {
	_        struct{} `cbor:",toarray"`
	Key      string
	Checksum uint32 // CRC-32C of the blob
}

// versionOf describes next by how it differs from base, which it follows, and brings its tally up to
// date. It fails if the differences don't make next of base: then nobody could replay them.
func versionOf(base, next *state) (version, error) {
	v := version{SeqNo: next.SeqNo, Diff: difference(base, next)}
	v.RollupAt, v.Rollup = next.newestRollup()
	replayed, err := base.apply(v.Diff)
	if err != nil {
		return v, fmt.Errorf("replaying version %d fails: %w", next.SeqNo, err)
	}
	if !replayed.equal(next) {
		return v, fmt.Errorf("replaying version %d makes %+v, not %+v", next.SeqNo, replayed, next)
	}
	next.tally, next.encoded = replayed.tally, 0
	v.Sum = next.checksum()
	return v, nil
}

// follows applies the version to s, the one before. It fails with ErrCorrupt.
func (h history) follows(s *state, v version) (*state, error) {
	next, err := s.apply(v.Diff)
	if err != nil {
		return nil, h.corrupt(v.SeqNo, err)
	}
	if got := next.checksum(); got != v.Sum {
		return nil, h.corrupt(v.SeqNo, fmt.Errorf("replaying the differences leads to a state of checksum %016x, not %016x", got, v.Sum))
	}
	return next, nil
}

// decodeVersion fails with ErrCorrupt.
func (h history) decodeVersion(stored Versioned) (version, error) {
	var v version
	if err := v.decode(stored.Data); err != nil {
		return v, h.corrupt(stored.SeqNo, err)
	}
	if v.SeqNo != stored.SeqNo {
		return v, h.corrupt(stored.SeqNo, fmt.Errorf("it says that it is version %d", v.SeqNo))
	}
	return v, nil
}

func (h history) corrupt(at SeqNo, cause error) error {
	return fmt.Errorf("%w: version %d of shard %q: %w", ErrCorrupt, at, h.shard, cause)
}
