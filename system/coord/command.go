package coord

import (
	"fmt"
	"time"
)

// command is one entry of the log: what was to be done. What came of it follows from the state, so a
// transaction whose compares fail is logged like others.
type command struct {
	_      struct{} `cbor:",toarray"`
	Kind   commandKind
	Txn    *Txn
	Lease  LeaseID
	TTL    time.Duration
	Before Revision
	// Image is a whole state, in place of what came before.
	Image *image
}

// check tells whether this package can have written the command.
func (c command) check() error {
	switch {
	case c.Kind < commandTxn || c.Kind > commandImage:
		return fmt.Errorf("no command is of kind %d: was the log written by a later version?", c.Kind)
	case c.Kind == commandTxn && c.Txn == nil, c.Kind == commandImage && c.Image == nil:
		return fmt.Errorf("a command of kind %d without what it is about", c.Kind)
	case c.Kind == commandTxn:
		return c.Txn.check()
	case c.Kind == commandImage:
		return c.Image.check()
	}
	return nil
}

type commandKind uint8

const (
	commandTxn commandKind = iota + 1
	commandGrant
	commandRevoke
	commandCompact
	commandImage
)

// apply executes a command. The result is a transaction's.
func (s *state) apply(c command) (TxnResult, error) {
	switch c.Kind {
	case commandTxn:
		return s.txn(*c.Txn)
	case commandGrant:
		s.grant(c.Lease, c.TTL)
	case commandRevoke:
		s.revoke(c.Lease)
	case commandCompact:
		if c.Before > s.revision {
			return TxnResult{}, fmt.Errorf("%w: %d, the present one is %d", ErrFutureRevision, c.Before, s.revision)
		}
		s.compact(c.Before)
	}
	return TxnResult{}, nil
}
