package sink

import (
	"encoding/binary"
	"fmt"
)

// Encode returns a row as a datum of a shard: the length of the key, as a varint, the key, the value.
func Encode(key, value string) string {
	p := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(key)+len(value)), uint64(len(key)))
	return string(append(append(p, key...), value...))
}

// Decode undoes [Encode].
func Decode(datum string) (key, value string, err error) {
	n, size := binary.Uvarint([]byte(datum))
	if size <= 0 || n > uint64(len(datum)-size) {
		return "", "", fmt.Errorf("sink: %q is not a row", datum)
	}
	end := size + int(n)
	return datum[size:end], datum[end:], nil
}
