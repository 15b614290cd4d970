package persist

import "fmt"

// version is what Consensus keeps of one version of a shard: how it differs from the one before.
// The first differs from nothing, and so is complete by itself.
type version struct {
	_     struct{} `cbor:",toarray"`
	SeqNo SeqNo
	// Sum is the checksum of the state that the version's differences lead to: whoever gets
	// anything else when replaying them has lost or damaged a piece.
	Sum uint32
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

// versionOf describes next by how it differs from base, which it follows.
func versionOf(base, next *state) version {
	v := version{SeqNo: next.SeqNo, Sum: next.checksum(), Diff: difference(base, next)}
	v.RollupAt, v.Rollup = next.newestRollup()
	return v
}

// replays tells whether the differences that v says make next of base do.
func (v version) replays(base, next *state) error {
	replayed := base.clone()
	if err := replayed.apply(v.Diff); err != nil {
		return err
	}
	if got := replayed.checksum(); got != v.Sum {
		return fmt.Errorf("replaying version %d makes %+v, not %+v", next.SeqNo, replayed, next)
	}
	return nil
}

// decodeVersion fails with ErrCorrupt.
func (h history) decodeVersion(stored Versioned) (version, error) {
	var v version
	if err := decoding.Unmarshal(stored.Data, &v); err != nil {
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
