package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/examples/journal"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

type note struct{ N int }

// onDisk runs a function on a machine with a disk, once for each life of it; the power fails in
// between.
func onDisk(t testing.TB, lives ...func(h host.Host)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	life := 0
	n := w.NewNode("machine", func(h host.Host) {
		life++
		lives[life-1](h)
	})
	w.Go("power", func() {
		for range lives[1:] {
			w.Sleep(time.Hour)
			n.PowerOff()
			n.Restart()
		}
		w.Sleep(time.Hour)
	})
	require.NoError(t, w.Run())
	require.Equal(t, len(lives), life)
}

// open returns a journal and the records that were in it.
func open(h host.Host) (*journal.Journal[note], []int, error) {
	var were []int
	j, err := journal.Open(h.Disk(), "notes", func(n note) { were = append(were, n.N) })
	return j, were, err
}

func TestWhatWasAppendedIsThere(t *testing.T) {
	onDisk(t, func(h host.Host) {
		j, were, err := open(h)
		require.NoError(t, err)
		require.Empty(t, were)
		for n := range 3 {
			require.NoError(t, j.Append(note{n}))
		}
	}, func(h host.Host) {
		j, were, err := open(h)
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 2}, were)
		require.NoError(t, j.Append(note{3}))
	}, func(h host.Host) {
		_, were, err := open(h)
		require.NoError(t, err)
		require.Equal(t, []int{0, 1, 2, 3}, were)
	})
}

// What is not a whole record is cut off, wherever it ends, and what comes after it is readable.
func TestTornTail(t *testing.T) {
	for cut := int64(1); cut < 15; cut++ {
		onDisk(t, func(h host.Host) {
			j, _, err := open(h)
			require.NoError(t, err)
			require.NoError(t, j.Append(note{1}))
			require.NoError(t, j.Append(note{2}))
			file, err := h.Disk().Open("notes", host.ReadWrite)
			require.NoError(t, err)
			size, err := file.Size()
			require.NoError(t, err)
			require.NoError(t, file.Truncate(size-cut))
			j, were, err := open(h)
			require.NoError(t, err)
			require.Equal(t, []int{1}, were)
			require.NoError(t, j.Append(note{3}))
		}, func(h host.Host) {
			_, were, err := open(h)
			require.NoError(t, err)
			require.Equal(t, []int{1, 3}, were)
		})
	}
}

func TestOtherRecordsAreRefused(t *testing.T) {
	onDisk(t, func(h host.Host) {
		j, err := journal.Open(h.Disk(), "notes", func(string) {})
		require.NoError(t, err)
		require.NoError(t, j.Append("no note"))
		_, _, err = open(h)
		require.ErrorContains(t, err, "journal: notes: a record at byte 0: json: cannot unmarshal string")
	})
}

// After an error it takes no more.
func TestErrorsStay(t *testing.T) {
	onDisk(t, func(h host.Host) {
		j, _, err := open(h)
		require.NoError(t, err)
		require.NoError(t, j.Close())
		require.NoError(t, j.Err())
		first := j.Append(note{1})
		require.ErrorContains(t, first, "journal: append: ")
		require.Equal(t, first, j.Append(note{2}))
		require.Equal(t, first, j.Err())
	})
}

// A counter that survives its process.
func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	n := w.NewNode("machine", func(h host.Host) {
		count := 0
		j, err := journal.Open(h.Disk(), "count", func(n int) { count = n })
		if err != nil {
			panic(err)
		}
		defer j.Close()
		if err := j.Append(count + 1); err != nil {
			panic(err)
		}
		fmt.Println("life", count+1)
	})
	w.Go("power", func() {
		w.Sleep(time.Second)
		n.PowerOff()
		n.Restart()
		w.Sleep(time.Second)
	})
	fmt.Println(w.Run())
	// Output:
	// life 1
	// life 2
	// <nil>
}

// BenchmarkAppend is one record.
func BenchmarkAppend(b *testing.B) {
	onDisk(b, func(h host.Host) {
		j, _, err := open(h)
		require.NoError(b, err)
		b.ResetTimer()
		for i := range b.N {
			if err := j.Append(note{i}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
