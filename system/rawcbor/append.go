package rawcbor

import (
	"encoding/binary"
	"math"
)

// Major is the major type of an item, in the high bits of its first byte.
type Major byte

// The major types that a [Reader] knows.
const (
	Uint  Major = 0 << 5
	Bytes Major = 2 << 5
	Array Major = 4 << 5
	Map   Major = 5 << 5
)

// Null is the item null.
const Null byte = 0xf6

// AppendHead adds the head of an item: its major type and its argument, which is the number, the length in bytes, or
// how many elements or pairs follow, in as few bytes as possible.
func AppendHead(p []byte, major Major, n uint64) []byte {
	switch {
	case n < 24:
		return append(p, byte(major)|byte(n))
	case n <= math.MaxUint8:
		return append(p, byte(major)|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(p, byte(major)|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(p, byte(major)|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(p, byte(major)|27), n)
	}
}

// AppendString adds a string as a byte string.
func AppendString(p []byte, s string) []byte {
	return append(AppendHead(p, Bytes, uint64(len(s))), s...)
}
