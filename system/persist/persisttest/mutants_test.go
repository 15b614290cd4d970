package persisttest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// mutant is a store with something broken, and the tests that must notice, as -run has them.
type mutant[S any] struct {
	caughtBy string
	wrap     func(host.Host, S) S
}

func consensusOf(wrap func(persist.Consensus) persist.Consensus) func(host.Host, persist.Consensus) persist.Consensus {
	return func(_ host.Host, c persist.Consensus) persist.Consensus { return wrap(c) }
}

var consensusMutants = map[string]mutant[persist.Consensus]{
	"the expected version does not matter": {"mismatches|contended", consensusOf(func(c persist.Consensus) persist.Consensus { return expectsNothing{c} })},
	"a lower head will do":                 {"mismatches", consensusOf(func(c persist.Consensus) persist.Consensus { return expectsAtMost{c} })},
	"an invalid number is a mismatch":      {"invalid", consensusOf(func(c persist.Consensus) persist.Consensus { return invalidMismatches{c} })},
	"numbers have no end":                  {"invalid|skip", consensusOf(func(c persist.Consensus) persist.Consensus { return endless{c} })},
	"invalid is worth another try":         {"invalid", consensusOf(func(c persist.Consensus) persist.Consensus { return transientInvalid{c} })},
	"check and set are two steps":          {"contended", func(h host.Host, c persist.Consensus) persist.Consensus { return twoSteps{c, h} }},
	"the head lags":                        {"seen|back", consensusOf(func(c persist.Consensus) persist.Consensus { return &lagging{Consensus: c} })},
	"the head is cached":                   {"seen", func(h host.Host, c persist.Consensus) persist.Consensus { return &cached{c, h, map[string]entry{}} }},
	"scan lags":                            {"seen|back", consensusOf(func(c persist.Consensus) persist.Consensus { return scanLags{c} })},
	"scan begins after":                    {"scan$", consensusOf(func(c persist.Consensus) persist.Consensus { return scanAfter{c} })},
	"scan has no limit":                    {"scan$", consensusOf(func(c persist.Consensus) persist.Consensus { return scanAll{c} })},
	"scan is cut at 500":                   {"many", consensusOf(func(c persist.Consensus) persist.Consensus { return scanCut{c} })},
	"scan gives the last":                  {"scan$", consensusOf(func(c persist.Consensus) persist.Consensus { return scanLast{c} })},
	"numbers sort as text":                 {"scan$", consensusOf(func(c persist.Consensus) persist.Consensus { return scanText{c} })},
	"truncate drops one too many":          {"truncate", consensusOf(func(c persist.Consensus) persist.Consensus { return dropsMore{c} })},
	"truncate drops nothing":               {"truncate|many", consensusOf(func(c persist.Consensus) persist.Consensus { return dropsNothing{c} })},
	"truncate may go beyond the head":      {"truncate", consensusOf(func(c persist.Consensus) persist.Consensus { return dropsHead{c} })},
	"truncate needs no key":                {"nothing", consensusOf(func(c persist.Consensus) persist.Consensus { return mindless{c} })},
	"truncate takes it all for a moment":   {"truncated", func(h host.Host, c persist.Consensus) persist.Consensus { return &blinking{Consensus: c, h: h} }},
	"keys are folded":                      {"keys", consensusOf(func(c persist.Consensus) persist.Consensus { return folded{c, strings.ToLower} })},
	"keys are cleaned":                     {"keys", consensusOf(func(c persist.Consensus) persist.Consensus { return folded{c, strings.TrimSpace} })},
	"keys end at zero":                     {"keys", consensusOf(func(c persist.Consensus) persist.Consensus { return folded{c, cString} })},
	"reading makes a key":                  {"nothing", consensusOf(func(c persist.Consensus) persist.Consensus { return &readingMakes{Consensus: c} })},
	"keys are not sorted":                  {"keys|truncate", consensusOf(func(c persist.Consensus) persist.Consensus { return unsorted{c} })},
	"long data is cut":                     {"data", consensusOf(func(c persist.Consensus) persist.Consensus { return cutting{c} })},
	"data is text":                         {"data", consensusOf(func(c persist.Consensus) persist.Consensus { return textual{c} })},
	"memory is used again":                 {"handed", consensusOf(func(c persist.Consensus) persist.Consensus { return &sharedBuffer{Consensus: c} })},
	"ended contexts don't matter":          {"ended", consensusOf(func(c persist.Consensus) persist.Consensus { return tireless{c} })},
	"who gives up is told no":              {"give", func(h host.Host, c persist.Consensus) persist.Consensus { return saysNo{c, h} }},
	"who gives up is told yes":             {"give", func(h host.Host, c persist.Consensus) persist.Consensus { return saysYes{c, h} }},
	"errors say nothing":                   {"give", func(h host.Host, c persist.Consensus) persist.Consensus { return saysNothing{c, h} }},
	"the last version is lost":             {"opened|crashed", func(h host.Host, c persist.Consensus) persist.Consensus { return &losesLast{Consensus: c, h: h} }},
	"truncation is forgotten":              {"opened", func(h host.Host, c persist.Consensus) persist.Consensus { return &resurrects{Consensus: c, h: h} }},
}

var blobMutants = map[string]mutant[persist.Blob]{
	"deleting what is missing fails":             {"set,_get|nothing", blobOf(func(b persist.Blob) persist.Blob { return needsKey{b} })},
	"delete knows no size":                       {"set,_get", blobOf(func(b persist.Blob) persist.Blob { return noSize{b} })},
	"delete leaves it there":                     {"set,_get", blobOf(func(b persist.Blob) persist.Blob { return keeps{b} })},
	"empty values are none":                      {"empty", blobOf(func(b persist.Blob) persist.Blob { return noEmpty{b} })},
	"values are written once":                    {"set,_get", blobOf(func(b persist.Blob) persist.Blob { return once{b} })},
	"what was longer stays":                      {"set,_get|whole", blobOf(func(b persist.Blob) persist.Blob { return overlays{b} })},
	"values are set in two steps":                {"whole", func(h host.Host, b persist.Blob) persist.Blob { return inHalves{b, h} }},
	"a key is gone while it is set":              {"whole", func(h host.Host, b persist.Blob) persist.Blob { return deletesFirst{b, h} }},
	"large values are cut":                       {"values_of", blobOf(func(b persist.Blob) persist.Blob { return cutsLarge{b} })},
	"keys are paths":                             {"keys_of", blobOf(func(b persist.Blob) persist.Blob { return foldedBlob{b, cleanPath} })},
	"keys are escaped once too often":            {"keys_of", blobOf(func(b persist.Blob) persist.Blob { return foldedBlob{b, unescape} })},
	"keys are of one case":                       {"keys_of|set,_get", blobOf(func(b persist.Blob) persist.Blob { return foldedBlob{b, strings.ToUpper} })},
	"a prefix is a directory":                    {"list", blobOf(func(b persist.Blob) persist.Blob { return directories{b} })},
	"a prefix is anywhere":                       {"list", blobOf(func(b persist.Blob) persist.Blob { return infix{b} })},
	"a prefix is not the key itself":             {"list|seen", blobOf(func(b persist.Blob) persist.Blob { return properPrefix{b} })},
	"listings are not sorted":                    {"list|keys_of", blobOf(func(b persist.Blob) persist.Blob { return backwards{b} })},
	"listings have no sizes":                     {"list|empty|values_of", blobOf(func(b persist.Blob) persist.Blob { return sizeless{b} })},
	"listings lag":                               {"seen|many", blobOf(func(b persist.Blob) persist.Blob { return &staleList{Blob: b} })},
	"reads are cached":                           {"seen", blobOf(func(b persist.Blob) persist.Blob { return &cachedBlob{b, map[string][]byte{}} })},
	"memory of values is used again":             {"handed", blobOf(func(b persist.Blob) persist.Blob { return &sharedValues{Blob: b} })},
	"an ended context does not matter":           {"ended", blobOf(func(b persist.Blob) persist.Blob { return tirelessBlob{b} })},
	"a setter who gives up is told no":           {"give", func(h host.Host, b persist.Blob) persist.Blob { return blobSaysNo{b, h} }},
	"a setter who gives up is told yes":          {"give", func(h host.Host, b persist.Blob) persist.Blob { return blobSaysYes{b, h} }},
	"a set is acknowledged before it is durable": {"opened|crashed", func(h host.Host, b persist.Blob) persist.Blob { return &losesSet{Blob: b} }},
	"a deletion is forgotten":                    {"opened|crashed", func(h host.Host, b persist.Blob) persist.Blob { return &undeletes{Blob: b} }},
}

func blobOf(wrap func(persist.Blob) persist.Blob) func(host.Host, persist.Blob) persist.Blob {
	return func(_ host.Host, b persist.Blob) persist.Blob { return wrap(b) }
}

// The broken Consensus stores.

type expectsNothing struct{ persist.Consensus }

func (c expectsNothing) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	head, err := c.Head(ctx, key)
	if err == nil && next.SeqNo > head.SeqNo && next.SeqNo > expected {
		expected = head.SeqNo
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type expectsAtMost struct{ persist.Consensus }

func (c expectsAtMost) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	head, err := c.Head(ctx, key)
	if err == nil && head.SeqNo < expected && expected < next.SeqNo {
		expected = head.SeqNo
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type invalidMismatches struct{ persist.Consensus }

func (c invalidMismatches) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	committed, err := c.Consensus.CompareAndSet(ctx, key, expected, next)
	if errors.Is(err, persist.ErrInvalidSeqNo) && next.SeqNo <= persist.MaxSeqNo {
		err = nil
	}
	return committed, err
}

type endless struct{ persist.Consensus }

func (c endless) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	committed, err := c.Consensus.CompareAndSet(ctx, key, expected, next)
	if errors.Is(err, persist.ErrInvalidSeqNo) && next.SeqNo > persist.MaxSeqNo && expected < persist.MaxSeqNo {
		return false, nil
	}
	return committed, err
}

type transientInvalid struct{ persist.Consensus }

func (c transientInvalid) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	committed, err := c.Consensus.CompareAndSet(ctx, key, expected, next)
	if err != nil {
		err = &persist.StoreError{Op: "compare-and-set", Key: key, Kind: persist.ErrDeterminate, Err: err}
	}
	return committed, err
}

type twoSteps struct {
	persist.Consensus
	h host.Host
}

func (c twoSteps) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	head, err := c.Head(ctx, key)
	if err != nil || head.SeqNo != expected {
		return c.Consensus.CompareAndSet(ctx, key, expected, next)
	}
	c.h.Clock().Sleep(50 * time.Microsecond)
	if head, err = c.Head(ctx, key); err == nil && head.SeqNo == next.SeqNo {
		return true, nil // written over what another wrote meanwhile
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type lagging struct {
	persist.Consensus
	calls int
}

func (c *lagging) Head(ctx context.Context, key string) (persist.Versioned, error) {
	v, err := c.Consensus.Head(ctx, key)
	if c.calls++; c.calls%10 == 0 && err == nil && v.SeqNo > 0 {
		versions, err := c.Scan(ctx, key, 0, 1<<30)
		if err == nil && len(versions) > 1 {
			return versions[len(versions)-2], nil
		}
	}
	return v, err
}

type entry struct {
	v  persist.Versioned
	at time.Time
}

type cached struct {
	persist.Consensus
	h     host.Host
	heads map[string]entry
}

func (c *cached) Head(ctx context.Context, key string) (persist.Versioned, error) {
	now := c.h.Clock().Now()
	if e, ok := c.heads[key]; ok && now.Sub(e.at) < time.Millisecond {
		return e.v, nil
	}
	v, err := c.Consensus.Head(ctx, key)
	if err == nil {
		c.heads[key] = entry{v, now}
	}
	return v, err
}

type scanLags struct{ persist.Consensus }

func (c scanLags) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	versions, err := c.Consensus.Scan(ctx, key, from, limit)
	if n := len(versions); n > 0 && from > 0 && limit > 1 || n > 30 {
		versions = versions[:n-1]
	}
	return versions, err
}

type scanAfter struct{ persist.Consensus }

func (c scanAfter) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	if from > 0 && from < persist.MaxSeqNo {
		from++
	}
	return c.Consensus.Scan(ctx, key, from, limit)
}

type scanAll struct{ persist.Consensus }

func (c scanAll) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	if limit > 0 {
		limit = 1 << 30
	}
	return c.Consensus.Scan(ctx, key, from, limit)
}

type scanCut struct{ persist.Consensus }

func (c scanCut) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	return c.Consensus.Scan(ctx, key, from, min(limit, 500))
}

type scanLast struct{ persist.Consensus }

func (c scanLast) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	versions, err := c.Consensus.Scan(ctx, key, from, 1<<30)
	if limit = max(0, limit); len(versions) > limit {
		versions = versions[len(versions)-limit:]
	}
	if len(versions) == 0 {
		versions = nil
	}
	return versions, err
}

type scanText struct{ persist.Consensus }

func (c scanText) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	versions, err := c.Consensus.Scan(ctx, key, from, limit)
	slices.SortFunc(versions, func(a, b persist.Versioned) int { return strings.Compare(string(a.Data), string(b.Data)) })
	return versions, err
}

type dropsMore struct{ persist.Consensus }

func (c dropsMore) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	head, err := c.Head(ctx, key)
	if err == nil && seqno > 0 && seqno < head.SeqNo {
		seqno++
	}
	return c.Consensus.Truncate(ctx, key, seqno)
}

type dropsNothing struct{ persist.Consensus }

func (c dropsNothing) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	dropped, err := c.Consensus.Truncate(ctx, key, min(seqno, 1))
	if err != nil || seqno <= 1 {
		return dropped, err
	}
	versions, err := c.Scan(ctx, key, 0, 1<<30)
	for _, v := range versions {
		if v.SeqNo < seqno {
			dropped++
		}
	}
	return dropped, err
}

type dropsHead struct{ persist.Consensus }

func (c dropsHead) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	head, err := c.Head(ctx, key)
	if err == nil && head.SeqNo > 0 {
		seqno = min(seqno, head.SeqNo)
	}
	return c.Consensus.Truncate(ctx, key, seqno)
}

type mindless struct{ persist.Consensus }

func (c mindless) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	if head, err := c.Head(ctx, key); err == nil && head.SeqNo == 0 {
		return 0, nil
	}
	return c.Consensus.Truncate(ctx, key, seqno)
}

type blinking struct {
	persist.Consensus
	h    host.Host
	gone bool
}

func (c *blinking) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	c.gone = true
	c.h.Clock().Sleep(15 * time.Microsecond)
	c.gone = false
	return c.Consensus.Truncate(ctx, key, seqno)
}

func (c *blinking) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	if c.gone {
		return nil, ctx.Err()
	}
	return c.Consensus.Scan(ctx, key, from, limit)
}

// folded takes some keys for others.
type folded struct {
	persist.Consensus
	fold func(string) string
}

func (c folded) Head(ctx context.Context, key string) (persist.Versioned, error) {
	return c.Consensus.Head(ctx, c.fold(key))
}

func (c folded) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	return c.Consensus.CompareAndSet(ctx, c.fold(key), expected, next)
}

func (c folded) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	return c.Consensus.Scan(ctx, c.fold(key), from, limit)
}

func cString(key string) string {
	key, _, _ = strings.Cut(key, "\x00")
	return key
}

type readingMakes struct {
	persist.Consensus
	read []string
}

func (c *readingMakes) Head(ctx context.Context, key string) (persist.Versioned, error) {
	v, err := c.Consensus.Head(ctx, key)
	if v.SeqNo == 0 {
		c.read = append(c.read, key)
	}
	return v, err
}

func (c *readingMakes) ListKeys(ctx context.Context) ([]string, error) {
	keys, err := c.Consensus.ListKeys(ctx)
	keys = append(keys, c.read...)
	slices.Sort(keys)
	return slices.Compact(keys), err
}

type unsorted struct{ persist.Consensus }

func (c unsorted) ListKeys(ctx context.Context) ([]string, error) {
	keys, err := c.Consensus.ListKeys(ctx)
	slices.Reverse(keys)
	return keys, err
}

type cutting struct{ persist.Consensus }

func (c cutting) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	next.Data = next.Data[:min(len(next.Data), 1<<16)]
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type textual struct{ persist.Consensus }

func (c textual) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	next.Data = []byte(strings.ToValidUTF8(string(next.Data), "?"))
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type sharedBuffer struct {
	persist.Consensus
	buffer []byte
}

func (c *sharedBuffer) Head(ctx context.Context, key string) (persist.Versioned, error) {
	v, err := c.Consensus.Head(ctx, key)
	c.buffer = append(c.buffer[:0], v.Data...)
	v.Data = c.buffer
	return v, err
}

func (c *sharedBuffer) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	c.buffer = append(c.buffer[:0], next.Data...)
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type tireless struct{ persist.Consensus }

func (c tireless) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	return c.Consensus.CompareAndSet(context.WithoutCancel(ctx), key, expected, next)
}

// late does op after a while, and tells its context's error, if that ends in between.
func late(ctx context.Context, h host.Host, op func()) error {
	h.Clock().Sleep(time.Millisecond)
	op()
	return ctx.Err()
}

type saysNo struct {
	persist.Consensus
	h host.Host
}

func (c saysNo) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (committed bool, err error) {
	if ended := late(ctx, c.h, func() {
		committed, err = c.Consensus.CompareAndSet(context.WithoutCancel(ctx), key, expected, next)
	}); ended != nil {
		return false, &persist.StoreError{Op: "compare-and-set", Key: key, Kind: persist.ErrDeterminate, Err: ended}
	}
	return committed, err
}

type saysYes struct {
	persist.Consensus
	h host.Host
}

func (c saysYes) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	if late(ctx, c.h, func() {}) != nil {
		return true, nil
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

type saysNothing struct {
	persist.Consensus
	h host.Host
}

func (c saysNothing) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	if ended := late(ctx, c.h, func() {}); ended != nil {
		return false, ended
	}
	return c.Consensus.CompareAndSet(ctx, key, expected, next)
}

// losesLast forgets, when it starts again, what it was told last.
type losesLast struct {
	persist.Consensus
	h    host.Host
	undo func()
}

func (c *losesLast) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	before := snapshotOf(c.Consensus)
	committed, err := c.Consensus.CompareAndSet(ctx, key, expected, next)
	if committed {
		c.undo = func() { c.Consensus = restored(c.h, before) }
	}
	return committed, err
}

func (c *losesLast) restart() { c.undo() }

// resurrects has all versions again when it starts again.
type resurrects struct {
	persist.Consensus
	h      host.Host
	before map[string][]persist.Versioned
}

func (c *resurrects) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	c.before = snapshotOf(c.Consensus)
	return c.Consensus.Truncate(ctx, key, seqno)
}

func (c *resurrects) restart() {
	all := snapshotOf(c.Consensus)
	maps.Copy(all, c.before)
	c.Consensus = restored(c.h, all)
}

func snapshotOf(c persist.Consensus) map[string][]persist.Versioned {
	all := map[string][]persist.Versioned{}
	ctx := context.Background()
	keys, _ := c.ListKeys(ctx)
	for _, key := range keys {
		all[key], _ = c.Scan(ctx, key, 0, 1<<30)
	}
	return all
}

func restored(h host.Host, all map[string][]persist.Versioned) persist.Consensus {
	c := persist.NewMemConsensus(h)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		last := persist.SeqNo(0)
		for _, v := range all[key] {
			_, _ = c.CompareAndSet(context.Background(), key, last, v)
			last = v.SeqNo
		}
	}
	return c
}
