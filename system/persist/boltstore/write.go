//simvet:ignore simchan,simsync callers and the writing goroutine are those of a real host

package boltstore

import (
	"context"
	"fmt"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/simrun-dev/simrun/system/persist"
)

// proposal is a change that a caller waits for.
type proposal struct {
	op     string
	key    string
	apply  func(tx *bolt.Tx, r *result) (changed bool, err error) // an error ends the transaction
	taken  atomic.Bool                                            // by the writing goroutine, or by a caller who does not wait any more
	done   chan struct{}
	result result
}

type result struct {
	committed bool // of a compare-and-set
	dropped   int  // of a truncate
	err       error
}

// CompareAndSet is part of persist.Consensus. It fails with ErrTooLarge also.
func (s *Store) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	if next.SeqNo <= expected || next.SeqNo > persist.MaxSeqNo {
		return false, fmt.Errorf("%w: %q: version %d after %d", persist.ErrInvalidSeqNo, key, next.SeqNo, expected)
	}
	if err := oversized(key, next.Data); err != nil {
		return false, err
	}
	r, err := s.propose(ctx, "compare-and-set", key, func(tx *bolt.Tx, r *result) (bool, error) {
		head, b, err := headOf(tx, key)
		if err != nil {
			r.err = corrupt(s.path, err)
			return false, nil
		}
		if head != expected {
			return false, nil
		}
		if b == nil {
			if b, err = tx.Bucket(versionsBucket).CreateBucket(bucketName(key)); err != nil {
				return false, err
			}
		}
		r.committed = true
		return true, b.Put(encodeNumber(next.SeqNo), encodeData(key, next))
	})
	return r.committed, err
}

// Truncate is part of persist.Consensus.
func (s *Store) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (int, error) {
	r, err := s.propose(ctx, "truncate", key, func(tx *bolt.Tx, r *result) (bool, error) {
		head, b, err := headOf(tx, key)
		if err != nil {
			r.err = corrupt(s.path, err)
			return false, nil
		}
		if head == 0 || seqno > head {
			r.err = fmt.Errorf("%w: %q: cannot truncate to %d, the latest version is %d", persist.ErrInvalidSeqNo, key, seqno, head)
			return false, nil
		}
		// Collected first: a cursor skips entries when others are deleted.
		for _, number := range numbersBelow(b, seqno) {
			if err := b.Delete(number); err != nil {
				return false, err
			}
			r.dropped++
		}
		return r.dropped > 0, nil
	})
	return r.dropped, err
}

// headOf is the number of a key's latest version, and the bucket that it is in; 0 and nil when there
// is none.
func headOf(tx *bolt.Tx, key string) (persist.SeqNo, *bolt.Bucket, error) {
	b := versionsOf(tx, key)
	if b == nil {
		return 0, nil, nil
	}
	number, data := b.Cursor().Last()
	v, err := decode(key, number, data)
	return v.SeqNo, b, err
}

// propose has a change made, and waits for it.
func (s *Store) propose(ctx context.Context, op, key string, apply func(*bolt.Tx, *result) (bool, error)) (result, error) {
	if ctx.Err() != nil {
		return result{}, determinate(op, key, ctx.Err())
	}
	leave, err := s.enter()
	if err != nil {
		return result{}, s.refusal(op, key, err)
	}
	defer leave()
	p := &proposal{op: op, key: key, apply: apply, done: make(chan struct{})}
	select {
	case s.proposals <- p:
	case <-ctx.Done():
		return result{}, determinate(op, key, ctx.Err())
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.taken.CompareAndSwap(false, true) {
			return result{}, determinate(op, key, ctx.Err())
		}
		return result{}, indeterminate(op, key, ctx.Err())
	}
	if p.result.err != nil {
		return result{}, p.result.err
	}
	return p.result, nil
}

// write is the writing goroutine.
func (s *Store) write() {
	defer close(s.ended)
	for p := range s.proposals {
		group := s.take(nil, p)
		for more := true; more && len(group) < maxGroup; {
			select {
			case p, ok := <-s.proposals:
				if more = ok; ok {
					group = s.take(group, p)
				}
			default:
				more = false
			}
		}
		if len(group) > 0 {
			s.change(group)
		}
		for _, p := range group {
			close(p.done)
		}
	}
}

// take adds p to the group, if its caller still waits.
func (s *Store) take(group []*proposal, p *proposal) []*proposal {
	if p.taken.CompareAndSwap(false, true) {
		group = append(group, p)
	}
	return group
}

// change decides the group's proposals, each on what those before it leave behind, and makes those
// that are allowed durable. As the verdicts build on each other, none is given when that fails.
func (s *Store) change(group []*proposal) {
	refuse := func(kind func(op, key string, cause error) error, why error) {
		for _, p := range group {
			p.result = result{err: kind(p.op, p.key, why)}
		}
	}
	if why := s.failure.Load(); why != nil {
		refuse(s.refusal, *why)
		return
	}
	var id int
	var err error
	committing := false
	panicked := guard(func() {
		var tx *bolt.Tx
		if tx, err = s.db.Begin(true); err != nil {
			return
		}
		defer tx.Rollback()
		id = tx.ID()
		changed := false
		for _, p := range group {
			c, applyErr := p.apply(tx, &p.result)
			if err = applyErr; err != nil {
				return
			}
			changed = changed || c
		}
		if !changed {
			return
		}
		committing = true
		s.durable.Lock()
		defer s.durable.Unlock()
		err = s.commit(tx)
	})
	switch {
	case panicked != nil:
		// What panics does so at pages that make no sense. Of the group nothing has been committed
		// unless it did so at the very end, which bbolt does not.
		why := corrupt(s.path, panicked)
		s.fail(why)
		s.panicked = true
		refuse(func(_, _ string, why error) error { return why }, why)
	case err != nil && !committing:
		refuse(determinate, err)
	case err != nil:
		if kind, why := s.judge(id, err); kind == persist.ErrDeterminate {
			refuse(determinate, why)
		} else {
			s.fail(fmt.Errorf("%w (%w)", ErrFailed, err))
			refuse(indeterminate, why)
		}
	}
}

// judge tells what is known of a commit that failed. Its last step is to write the page that makes the
// rest count, and to sync it. If the file, as the system has it in memory, does not have that page,
// the disk never will: surely not done. If it has, the sync is what failed.
func (s *Store) judge(id int, cause error) (kind, why error) {
	seen := id
	panicked := guard(func() {
		if tx, err := s.db.Begin(false); err == nil {
			seen = tx.ID()
			tx.Rollback()
		}
	})
	if panicked == nil && seen < id {
		return persist.ErrDeterminate, cause
	}
	return persist.ErrIndeterminate, cause
}
