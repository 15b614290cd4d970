package rpc

import (
	"math"

	"github.com/fxamacker/cbor/v2"
)

// Strings travel as byte strings, so that they may hold any bytes.
var (
	encoding = mustMode(func() (cbor.UserBufferEncMode, error) {
		opts := cbor.CoreDetEncOptions()
		opts.String = cbor.StringToByteString
		return opts.UserBufferEncMode()
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
