package wal

import (
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// Records are CBOR in its core deterministic form, with strings as byte strings, so that they may hold any
// bytes. Package persist keeps its versions and blobs in the same form. These options are part of the durable
// format, and therefore not shared with what goes over a network.
var (
	encoding = must(func() (cbor.EncMode, error) {
		opts := cbor.CoreDetEncOptions()
		opts.String = cbor.StringToByteString
		return opts.EncMode()
	})
	decoding = must(func() (cbor.DecMode, error) {
		return cbor.DecOptions{
			DupMapKey:          cbor.DupMapKeyEnforcedAPF,
			IndefLength:        cbor.IndefLengthForbidden,
			ByteStringToString: cbor.ByteStringToStringAllowed,
			MaxArrayElements:   math.MaxInt32,
			MaxMapPairs:        math.MaxInt32,
		}.DecMode()
	})
)

func must[M any](mode func() (M, error)) M {
	m, err := mode()
	if err != nil {
		panic("wal: " + err.Error()) // the options above are constants
	}
	return m
}

// Encode makes a record of a value: equal values have equal bytes. It panics for a value of a type that
// CBOR has nothing for.
func Encode(v any) []byte {
	p, err := encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wal: no record can be made of a %T: %v", v, err))
	}
	return p
}

// Decode reads a record that Encode made into the variable that v points to. It fails when the record is
// not one of such a value.
func Decode(record []byte, v any) error { return decoding.Unmarshal(record, v) }
