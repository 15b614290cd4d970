package persist

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// registers are the versions of all keys: what a Consensus store holds in memory. Changing
// them takes two steps, so that a store can make a change durable between them: check, which
// tells whether a change is allowed, and apply.
type registers map[string][]Versioned

// change is one entry of a Consensus store's log.
type change struct {
	_    struct{} `cbor:",toarray"`
	Kind changeKind
	Key  string
	Versioned
}

type changeKind uint8

const (
	// changeSet adds the version.
	changeSet changeKind = 1
	// changeTruncate drops the versions below SeqNo.
	changeTruncate changeKind = 2
)

func (r registers) head(key string) Versioned {
	versions := r[key]
	if len(versions) == 0 {
		return Versioned{}
	}
	return versions[len(versions)-1]
}

func (r registers) scan(key string, from SeqNo, limit int) []Versioned {
	versions := r[key]
	versions = versions[indexOf(versions, from):]
	return slices.Clone(versions[:min(max(limit, 0), len(versions))])
}

func (r registers) keys() []string { return slices.Sorted(maps.Keys(r)) }

// apply makes a change that was allowed, and tells how many versions it dropped.
func (r registers) apply(c change) (dropped int) {
	versions := r[c.Key]
	switch c.Kind {
	case changeSet:
		r[c.Key] = append(versions, c.Versioned)
	case changeTruncate:
		dropped = indexOf(versions, c.SeqNo)
		// Copied: the dropped versions' memory would otherwise stay.
		r[c.Key] = slices.Clone(versions[dropped:])
	}
	return dropped
}

// indexOf is the index of the first version numbered from or above.
func indexOf(versions []Versioned, from SeqNo) int {
	return sort.Search(len(versions), func(i int) bool { return versions[i].SeqNo >= from })
}

// checkSet tells whether a key whose latest version is head takes next.
func checkSet(key string, head, expected SeqNo, next Versioned) (allowed bool, err error) {
	if next.SeqNo <= expected || next.SeqNo > MaxSeqNo {
		return false, fmt.Errorf("%w: %q: version %d after %d", ErrInvalidSeqNo, key, next.SeqNo, expected)
	}
	return head == expected, nil
}

// checkTruncate tells whether a key whose latest version is head can be truncated to seqno.
func checkTruncate(key string, head, seqno SeqNo) error {
	if head == 0 || seqno > head {
		return fmt.Errorf("%w: %q: cannot truncate to %d, the latest version is %d", ErrInvalidSeqNo, key, seqno, head)
	}
	return nil
}
