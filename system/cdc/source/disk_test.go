package source_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/wal"
)

// unsynced is a host on whose disk nothing can be synced while it is set to fail.
type unsynced struct {
	host.Host
	fail bool
}

type unsyncedDisk struct {
	host.Disk
	h *unsynced
}

type unsyncedFile struct {
	host.File
	h *unsynced
}

func (h *unsynced) Disk() host.Disk { return unsyncedDisk{h.Host.Disk(), h} }

func (d unsyncedDisk) Open(name string, flag host.OpenFlag) (host.File, error) {
	f, err := d.Disk.Open(name, flag)
	return unsyncedFile{f, d.h}, err
}

func (f unsyncedFile) Sync() error {
	if f.h.fail {
		return host.ErrIO
	}
	return f.File.Sync()
}

// A record that is read at the start may never have got to the disk: nobody is told of it before it has.
func TestCommitsThatAreFoundAreDurableBeforeTheyAreTold(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		h := &unsynced{Host: w.Host()}
		told := 0
		open := func() (*source.Store, error) {
			return source.Open(h, "", source.Config{OnCommit: func(source.Commit) { told++ }})
		}
		s, err := open()
		require.NoError(t, err)
		_, err = s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		require.Equal(t, 1, told)
		require.NoError(t, s.Close())
		h.fail = true
		_, err = open()
		require.ErrorIs(t, err, host.ErrIO)
		require.Equal(t, 1, told)
		h.fail = false
		s, err = open()
		require.NoError(t, err)
		require.Equal(t, 2, told)
		require.NoError(t, s.Close())
	})
}

// A store can be closed while it does not know what became of a write, and says so.
func TestCloseWhileAWriteIsNotSettled(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		h := &unsynced{Host: w.Host()}
		s, err := source.Open(h, "", source.Config{})
		require.NoError(t, err)
		_, err = s.AddSpan(background, 1, "", "")
		require.NoError(t, err)
		w.Sleep(100 * time.Millisecond) // in which ts are reserved
		before, err := s.Now(background)
		require.NoError(t, err)
		h.fail = true
		var failed [2]error
		for i := range failed {
			w.Go("commit", func() { _, failed[i] = s.Commit(background, "", []source.Mutation{source.Put("a", "1")}) })
			w.Sleep(time.Second)
		}
		closed := false
		w.Go("close", func() {
			_ = s.Close()
			closed = true
		})
		w.Sleep(time.Second)
		require.True(t, closed)
		for _, err := range failed {
			require.Error(t, err)
		}
		require.ErrorIs(t, failed[0], source.ErrUnknown)
		require.ErrorIs(t, failed[1], source.ErrNotDone)
		h.fail = false
		s, err = source.Open(h, "", source.Config{})
		require.NoError(t, err)
		now, err := s.Now(background)
		require.NoError(t, err)
		require.GreaterOrEqual(t, now, before)
		require.NoError(t, s.Close())
	})
}

// The log of another service is not taken for one of a store.
func TestLogOfAnotherService(t *testing.T) {
	inWorld(t, 1, func(w *sim.World) {
		other, err := coord.Open(w.Host(), "", coord.StoreConfig{})
		require.NoError(t, err)
		require.NoError(t, other.Compact(background, 1))
		require.NoError(t, other.Close())
		require.NoError(t, w.Host().Disk().Rename("coord.log", "source.log"))
		_, err = source.Open(w.Host(), "", source.Config{})
		require.ErrorIs(t, err, source.ErrCorrupt)
		require.ErrorContains(t, err, "magic")
	})
}

// A record that is whole, and makes no sense, is damage too: by another version of the service, say.
func TestRecordsThatMakeNoSense(t *testing.T) {
	for name, record := range map[string][]byte{
		"no array":       {0x01},
		"unknown kind":   {0x81, 0x87, 0x18, 0x63, 0x00, 0x40, 0xf6, 0xf6, 0x00, 0xf6},
		"no kind":        {0x81, 0x87, 0x00, 0x00, 0x40, 0xf6, 0xf6, 0x00, 0xf6},
		"add of nothing": {0x81, 0x87, 0x02, 0x01, 0x40, 0xf6, 0xf6, 0x00, 0xf6},
		"drop of none":   {0x81, 0x87, 0x03, 0x01, 0x40, 0xf6, 0xf6, 0x00, 0xf6},
		"empty image":    {0x81, 0x87, 0x07, 0x00, 0x40, 0xf6, 0xf6, 0x00, 0xf6},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *sim.World) {
				log, err := wal.Open(w.Host(), "", "source.log", wal.Magic{'s', 'r', 'c', '1'}, nil)
				require.NoError(t, err)
				_, err = log.Append(record)
				require.NoError(t, err)
				require.NoError(t, log.Close())
				_, err = source.Open(w.Host(), "", source.Config{})
				require.ErrorIs(t, err, source.ErrCorrupt)
			})
		})
	}
}
