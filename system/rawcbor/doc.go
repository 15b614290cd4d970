// Package rawcbor reads and writes CBOR (RFC 8949) item by item, for the few types that so much of is read that
// going through reflection shows: the envelopes of package rpc and the versions of package persist.
//
// It knows what those are made of, in the core deterministic form that they are written in: unsigned integers, byte
// strings, arrays and maps of known length, and null. Anything else makes a [Reader] fail. Where a type is not read
// thousands of times a second, use a codec that goes by its fields.
package rawcbor
