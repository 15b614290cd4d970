package coord_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/wal"
)

// A record that is whole, and makes no sense, is damage too: by another version of the service, say.
func TestRecordsThatMakeNoSense(t *testing.T) {
	// A record is an array of commands, one an array of kind, transaction, lease, time to live, revision and image.
	for name, record := range map[string][]byte{
		"no array":     {0x01},
		"no kind":      {0x81, 0x86, 0x00, 0xf6, 0x00, 0x00, 0x00, 0xf6},
		"unknown kind": {0x81, 0x86, 0x18, 0x63, 0xf6, 0x00, 0x00, 0x00, 0xf6},
		"no txn":       {0x81, 0x86, 0x01, 0xf6, 0x00, 0x00, 0x00, 0xf6},
		"no image":     {0x81, 0x86, 0x05, 0xf6, 0x00, 0x00, 0x00, 0xf6},
		// An operation is an array of kind, keys, value and lease.
		"no such operation": {0x81, 0x86, 0x01, 0x83, 0x80, 0x81, 0x84, 0x09, 0x82, 0x41, 'k', 0x40, 0x40, 0x00, 0x80, 0x00, 0x00, 0x00, 0xf6},
		// An image is an array of revisions, entries and leases, an entry one of key, value, revisions, version, lease.
		"key without lease": {0x81, 0x86, 0x05, 0xf6, 0x00, 0x00, 0x00, 0x84, 0x02, 0x01,
			0x81, 0x86, 0x41, 'k', 0x41, 'v', 0x02, 0x02, 0x01, 0x07, 0x80},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *sim.World) {
				log, err := wal.Open(w.Host(), "", "coord.log", wal.Magic{'w', 'a', 'l', '1'}, nil)
				require.NoError(t, err)
				_, err = log.Append(record)
				require.NoError(t, err)
				require.NoError(t, log.Close())
				_, err = coord.Open(w.Host(), "", coord.StoreConfig{})
				require.ErrorIs(t, err, coord.ErrCorrupt)
				if name != "no array" {
					require.NotContains(t, err.Error(), "cbor", "it is to be refused for what it says")
				}
			})
		})
	}
}
