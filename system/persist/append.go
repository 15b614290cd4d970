package persist

import (
	"context"
	"errors"
	"fmt"
)

// compareAndAppend appends b, once and only once however many attempts it takes, or answers
// *UpperMismatch when it surely is not in. It fails with ErrIndeterminate only when ctx ended,
// or with ErrAmbiguous, when it has to leave the question open.
//
// An attempt whose outcome is unknown may have appended the batch, and the next attempt then
// finds an upper that its own batch made. To tell its own from others', the shard remembers
// of each writer the token of its latest append that went in, and every attempt of a call
// carries the same token:
//
//   - The token is there: it went in.
//   - The writer is there with another token: it did not. A WriteHandle's calls take turns,
//     so only a later one would replace the token. An earlier one that was given up with an
//     attempt still on its way does not: that attempt was made for a version that was the
//     latest before this call's attempts, and Consensus takes only one of them. (The handle
//     goes on under a fresh writer id after such a call all the same, so that the argument
//     does not hang on how Consensus orders requests.)
//   - The writer is not there: it did not, as long as nobody can have taken the writer for
//     expired since the first attempt, or the upper is still short of the batch's; it did if
//     one of the batch's blobs is in the shard.
//
// By then no attempt of this call is on its way with a chance to succeed either, since the
// shard has moved past the versions that they were made for.
func (m *machine) compareAndAppend(ctx context.Context, b batch, id WriterID, token Token) error {
	var (
		lease       = uint64(m.cfg.WriterLease.Milliseconds())
		wait        = newBackoff(m.h, m.cfg.RetryMin, m.cfg.RetryMax)
		outstanding error  // of the first attempt whose outcome is unknown
		earliest    uint64 // when the earliest of those was made, ms
		fetched     SeqNo  // the latest version fetched to confirm a mismatch
	)
	// open is the answer when the call ends and leaves open what became of it.
	open := func(err error) error {
		if outstanding == nil {
			return err
		}
		return indeterminate("append", string(m.shard), fmt.Errorf("%w, after: %w", err, outstanding))
	}
	for {
		var result appendResult
		var attempt uint64
		s, err := m.command(ctx, func(next *state, now uint64) (v verdict) {
			attempt = now
			result, v = next.compareAndAppend(b, id, token, now, lease)
			return v
		})
		if errors.Is(err, ErrIndeterminate) {
			if outstanding == nil {
				outstanding, earliest = err, attempt
			}
			earliest = min(earliest, attempt) // the clock may have been set back
			if err := wait.wait(ctx); err != nil {
				return open(err)
			}
			if err := m.dawdle(ctx, "persist/dawdle before an append is retried"); err != nil {
				return open(err)
			}
			continue
		}
		if err != nil {
			return open(err)
		}
		switch result {
		case appended:
			m.h.Sometimes("persist: a stale cache made an append look mismatched", fetched != 0)
			return nil
		case alreadyAppended:
			m.h.Always("persist: an append finds its token only after an unknown outcome", outstanding != nil, "%s: writer %s, token %s", m.shard, id, token)
			m.h.Sometimes("persist: a retried append had gone in", true)
			return nil
		case invalidBounds:
			return open(&InvalidUsage{Cause: ErrInvalidBounds})
		case emptyInterval:
			return open(&InvalidUsage{Cause: ErrEmptyInterval})
		}

		if outstanding != nil {
			switch in, settled := s.settle(b, id, earliest, lease); {
			case !settled:
				m.h.Sometimes("persist: a writer was forgotten before its append was settled", true)
				return fmt.Errorf("%w: shard %q, [%v, %v), after: %w", ErrAmbiguous, m.shard, b.Lower, b.Upper, outstanding)
			case in:
				m.h.Sometimes("persist: a retried append was found by its blob", true)
				return nil
			}
			m.h.Sometimes("persist: a retried append had not gone in", true)
		}
		// The version may be a stale one, older than an append that the caller knows of.
		if fetched != 0 && s.SeqNo >= fetched {
			return &UpperMismatch{Expected: b.Lower, Current: s.upper()}
		}
		latest, err := m.refresh(ctx)
		if err != nil {
			return open(err)
		}
		fetched = latest.SeqNo
	}
}

// settle tells whether the append of b by the writer is in, where its token is not: attempts
// were made from the time earliest on, all for versions before s. Settled is false when that
// can't be told any more.
func (s *state) settle(b batch, id WriterID, earliest, lease uint64) (in, settled bool) {
	if _, ok := s.Writers[id]; ok {
		return false, true
	}
	// A shard that was finalised has forgotten its writers and its batches.
	if s.Final != 0 {
		return false, false
	}
	// No version up to s was made by a clock past s's Walltime.
	if !overdue(earliest, lease, s.Walltime) {
		return false, true
	}
	if s.upper().Before(b.Upper) {
		return false, true
	}
	for _, p := range b.Parts {
		if s.holdsPart(p.Key) {
			return true, true
		}
	}
	return false, false
}
