package wal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/wal"
)

func TestRecords(t *testing.T) {
	type value struct {
		_ struct{} `cbor:",toarray"`
		S string
		M map[string]int
	}
	v := value{S: "\xff is no text", M: map[string]int{"b": 2, "a": 1, "c": 3}}
	record := wal.Encode(v)
	require.Equal(t, []byte("\x82\x4c\xff is no text\xa3\x41a\x01\x41b\x02\x41c\x03"), record)
	var back value
	require.NoError(t, wal.Decode(record, &back))
	require.Equal(t, v, back)
	for _, bad := range []string{
		"\x82\x41x\xa2\x41a\x01\x41a\x02", // a key twice
		"\x9f\x41x\xa0\xff",               // of indefinite length
		"\x82\x41x\xa0\x00",               // something after it
		"\x81\x41x",                       // too short an array
		"",
	} {
		require.Error(t, wal.Decode([]byte(bad), &back), "%x", bad)
	}
	require.Panics(t, func() { wal.Encode(func() {}) })
}
