package coord

import (
	"fmt"
	"math"
	"time"

	"github.com/fxamacker/cbor/v2"
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

// What is stored is CBOR in its core deterministic form, with strings as byte strings, so that they
// may hold any bytes. These options are part of the durable format, and therefore not shared with
// package rpc.
var (
	encoding = mustMode(func() (cbor.EncMode, error) {
		opts := cbor.CoreDetEncOptions()
		opts.String = cbor.StringToByteString
		return opts.EncMode()
	})
	decoding = mustMode(func() (cbor.DecMode, error) {
		return cbor.DecOptions{
			DupMapKey:          cbor.DupMapKeyEnforcedAPF,
			IndefLength:        cbor.IndefLengthForbidden,
			ByteStringToString: cbor.ByteStringToStringAllowed,
			MaxArrayElements:   math.MaxInt32,
			MaxMapPairs:        math.MaxInt32,
		}.DecMode()
	})
)

func mustMode[M any](mode func() (M, error)) M {
	m, err := mode()
	if err != nil {
		panic("coord: " + err.Error()) // the options above are constants
	}
	return m
}

func mustEncode(v any) []byte {
	p, err := encoding.Marshal(v)
	if err != nil {
		panic("coord: " + err.Error()) // only this package's own types are encoded
	}
	return p
}
