package persist

import (
	"math"

	"github.com/fxamacker/cbor/v2"
)

// What is stored is CBOR in its core deterministic form: equal values have equal bytes. Strings
// are byte strings, so that data may be any bytes. These options are part of the durable
// format, and therefore not shared with package rpc.
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
		panic("persist: " + err.Error()) // the options above are constants
	}
	return m
}

func mustEncode(v any) []byte {
	p, err := encoding.Marshal(v)
	if err != nil {
		panic("persist: " + err.Error()) // only this package's own types are encoded
	}
	return p
}
