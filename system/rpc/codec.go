package rpc

import (
	"math"

	"github.com/fxamacker/cbor/v2"
)

// Strings travel as byte strings, so that they may hold any bytes.
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
		panic("rpc: " + err.Error()) // the options above are constants
	}
	return m
}

// request and response are the two kinds of message. A connection carries requests one way
// and responses the other, so nothing needs to tell them apart.
type request struct {
	_      struct{} `cbor:",toarray"`
	ID     uint64   // unique among the calls of one connection
	Method string
	Body   cbor.RawMessage
}

type response struct {
	_       struct{} `cbor:",toarray"`
	ID      uint64
	Code    string // empty for success
	Message string
	Body    cbor.RawMessage // absent (CBOR null) for an error
}

var null = cbor.RawMessage{0xf6}
