package persist

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

// DiskConsensus is a Consensus on one machine's disk. A log holds every change; a change is
// synced before it is answered, and before anyone can read it. All keys' retained versions are
// in memory as well.
//
// One task writes the log. What reaches it while it syncs becomes one record, and one sync.
type DiskConsensus struct {
	h         host.Host
	log       *wal.Log // of the writing task
	proposals *host.Chan[*proposal]
	closed    *host.Chan[struct{}] // closed when the writing task has ended
	// Of the writing task: the sizes in bytes of a log below which it is not worth rewriting, and
	// at which it is next looked at.
	minCompact, compactAt int64
	// slack is how many times as large as what is live the log has to be to be rewritten.
	slack int64

	mu        *host.Mutex
	registers registers // what is durable
}

// proposal is a change that a caller waits for.
type proposal struct {
	change   change
	expected SeqNo // of a changeSet
	answer   *host.Chan[proposalAnswer]
	result   proposalAnswer
}

type proposalAnswer struct {
	committed bool // of a changeSet
	dropped   int  // of a changeTruncate
	err       error
}

var consensusMagic = wal.Magic{'s', 'r', 'l', '1'}

const (
	consensusLogName = "consensus.log"
	// maxGroup bounds the changes of one record.
	maxGroup = 128
	// defaultMinCompact is the minCompact of a DiskConsensus.
	defaultMinCompact = 1 << 20
	// defaultSlack is the slack of a DiskConsensus.
	defaultSlack = 4
)

// OpenDiskConsensus opens the store in the directory of the host's disk, "" for the root. It
// fails with ErrCorrupt when the log is damaged elsewhere than at its end.
func OpenDiskConsensus(h host.Host, dir string) (*DiskConsensus, error) {
	d := &DiskConsensus{
		h: h, registers: registers{}, minCompact: defaultMinCompact, slack: defaultSlack,
		mu:        host.NewMutex(h, "disk consensus"),
		proposals: host.NewChan[*proposal](h, "disk consensus proposals", maxGroup),
		closed:    host.NewChan[struct{}](h, "disk consensus closed", 0),
	}
	d.compactAt = d.minCompact
	var err error
	if d.log, err = wal.Open(h, dir, consensusLogName, consensusMagic, d.replay); err != nil {
		if errors.Is(err, wal.ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, err
	}
	h.Go("disk consensus log", d.write)
	return d, nil
}

// Close ends the store once the changes proposed so far are answered. No method may be called
// afterwards.
func (d *DiskConsensus) Close() error {
	d.proposals.Close()
	d.closed.Recv()
	return d.log.Close()
}

func (d *DiskConsensus) replay(record []byte) error {
	var changes []change
	if err := wal.Decode(record, &changes); err != nil {
		return err
	}
	for _, c := range changes {
		d.registers.apply(c)
	}
	return nil
}

// Head is part of Consensus.
func (d *DiskConsensus) Head(ctx context.Context, key string) (Versioned, error) {
	if ctx.Err() != nil {
		return Versioned{}, determinate("head", key, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.registers.head(key), nil
}

// Scan is part of Consensus.
func (d *DiskConsensus) Scan(ctx context.Context, key string, from SeqNo, limit int) ([]Versioned, error) {
	if ctx.Err() != nil {
		return nil, determinate("scan", key, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.registers.scan(key, from, limit), nil
}

// ListKeys is part of Consensus.
func (d *DiskConsensus) ListKeys(ctx context.Context) ([]string, error) {
	if ctx.Err() != nil {
		return nil, determinate("list", "", ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.registers.keys(), nil
}

// VersionCounts is how many versions there are of each key: a measure of what is not collected.
func (d *DiskConsensus) VersionCounts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for key, versions := range d.registers {
		counts[key] = len(versions)
	}
	return counts
}

// CompareAndSet is part of Consensus.
func (d *DiskConsensus) CompareAndSet(ctx context.Context, key string, expected SeqNo, next Versioned) (bool, error) {
	answer, err := d.propose(ctx, "compare-and-set", &proposal{
		change:   change{Kind: changeSet, Key: key, Versioned: next},
		expected: expected,
	})
	return answer.committed, err
}

// Truncate is part of Consensus.
func (d *DiskConsensus) Truncate(ctx context.Context, key string, seqno SeqNo) (int, error) {
	answer, err := d.propose(ctx, "truncate", &proposal{
		change: change{Kind: changeTruncate, Key: key, Versioned: Versioned{SeqNo: seqno}},
	})
	return answer.dropped, err
}

func (d *DiskConsensus) propose(ctx context.Context, op string, p *proposal) (proposalAnswer, error) {
	if ctx.Err() != nil {
		return proposalAnswer{}, determinate(op, p.change.Key, ctx.Err())
	}
	p.answer = host.NewChan[proposalAnswer](d.h, "disk consensus answer", 1)
	if err := d.proposals.SendContext(ctx, p); err != nil {
		return proposalAnswer{}, determinate(op, p.change.Key, err)
	}
	answer, _, err := p.answer.RecvContext(ctx)
	if err != nil {
		return proposalAnswer{}, indeterminate(op, p.change.Key, err)
	}
	return answer, answer.err
}

// write is the writing task.
func (d *DiskConsensus) write() {
	defer d.closed.Close()
	for {
		group := d.proposals.RecvGroup(maxGroup)
		if group == nil {
			return
		}
		d.h.Sometimes("persist: several changes were synced at once", len(group) > 1)
		d.commit(group)
		for _, p := range group {
			p.answer.Send(p.result)
		}
		d.compact()
	}
}

// commit decides the group's proposals, each on what those before it leave behind, and makes
// those that are allowed durable. As the verdicts build on each other, none is given when that fails.
func (d *DiskConsensus) commit(group []*proposal) {
	heads := map[string]SeqNo{}
	var allowed []*proposal
	var changes []change
	for _, p := range group {
		key := p.change.Key
		head, ok := heads[key]
		if !ok {
			d.mu.Lock()
			head = d.registers.head(key).SeqNo
			d.mu.Unlock()
		}
		switch p.change.Kind {
		case changeSet:
			p.result.committed, p.result.err = checkSet(key, head, p.expected, p.change.Versioned)
			if !p.result.committed {
				continue
			}
			heads[key] = p.change.SeqNo
		case changeTruncate:
			if p.result.err = checkTruncate(key, head, p.change.SeqNo); p.result.err != nil {
				continue
			}
		}
		allowed = append(allowed, p)
		changes = append(changes, p.change)
	}
	if len(changes) == 0 {
		return
	}
	if undone, err := d.log.Append(wal.Encode(changes)); err != nil {
		for _, p := range group {
			if undone {
				p.result = proposalAnswer{err: determinate("log", p.change.Key, err)}
			} else {
				p.result = proposalAnswer{err: indeterminate("log", p.change.Key, err)}
			}
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range allowed {
		p.result.dropped = d.registers.apply(p.change)
	}
}

// compact rewrites the log once most of it is versions dropped since. The log is a number of times
// what is live then, and comes back only after it grew as much again.
func (d *DiskConsensus) compact() {
	if d.slack == defaultSlack && d.h.Buggify("persist/small consensus log") {
		d.minCompact, d.slack, d.compactAt = 1<<10, 2, 1<<10
	}
	if d.log.Size() < d.compactAt {
		return
	}
	records, live := d.liveRecords()
	d.compactAt = max(d.minCompact, d.slack*live)
	if d.log.Size() < d.compactAt {
		return
	}
	before := d.log.Size()
	if err := d.log.Rewrite(records...); err != nil {
		d.h.Logf("persist: rewriting the consensus log: %v", err)
		d.compactAt = 2 * before
		return
	}
	d.h.Sometimes("persist: the consensus log was rewritten", true)
	d.h.Logf("persist: rewrote the consensus log, %d bytes before, %d now", before, d.log.Size())
}

// liveRecords are the log that makes the registers from nothing, one record for each key, and its
// size.
func (d *DiskConsensus) liveRecords() (records [][]byte, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range d.registers.keys() {
		var changes []change
		for _, v := range d.registers[key] {
			changes = append(changes, change{Kind: changeSet, Key: key, Versioned: v})
		}
		record := wal.Encode(changes)
		records = append(records, record)
		size += int64(len(record)) + wal.Overhead
	}
	return records, size
}
