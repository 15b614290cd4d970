package persist

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/wal"
)

// aVersion has something of all that a version can have.
func aVersion() version {
	return version{
		SeqNo: 300, Sum: 1 << 60, RollupAt: 70_000, Rollup: rollup{Key: "s/r", Checksum: 1 << 31},
		Diff: diff{
			Walltime: 1 << 40, Since: At(9), Asked: asked{Rollup: 1, Merge: 2, Collect: 3, Collected: 4, RollupTime: 5, CollectTime: 6}, Final: 7,
			Batches: &splice{At: 1, Remove: 2, Insert: []batch{
				{Lower: At(10), Upper: At(300), Since: At(1), Parts: []part{{Key: "s/1", Updates: 70_000, Checksum: 8}, {Key: "s/2"}}},
				{Lower: At(300), Upper: Empty()},
				{Parts: []part{}},
			}},
			Writers:  &mapDiff[WriterID, writerState]{Set: map[WriterID]writerState{"w1": {LastToken: "t1", LastUpper: At(5), Heartbeat: 6, Lease: 7}, "w2": {}}},
			Readers:  &mapDiff[ReaderID, readerState]{Set: map[ReaderID]readerState{}, Drop: []ReaderID{"r1", "r2"}},
			Critical: &mapDiff[CriticalID, criticalState]{Set: map[CriticalID]criticalState{"c": {Since: Empty(), Opaque: 1 << 50, LastToken: "t"}}, Drop: []CriticalID{}},
			Rollups:  &mapDiff[SeqNo, rollup]{Set: map[SeqNo]rollup{1: {Key: "s/r1", Checksum: 2}}, Drop: []SeqNo{3}},
		},
	}
}

func TestVersionsDecodedByHandAreThoseOfReflection(t *testing.T) {
	for _, v := range []version{{}, aVersion()} {
		record := wal.Encode(v)
		var got version
		require.NoError(t, got.decode(record))
		require.Equal(t, v, got)
		for size := range len(record) {
			require.ErrorIs(t, new(version).decode(record[:size]), errNoVersion, "cut at %d", size)
		}
		require.ErrorIs(t, new(version).decode(append(record, 0)), errNoVersion)
	}
}

// A damaged record is none, or the same version whoever decodes it.
func TestDamagedVersions(t *testing.T) {
	whole := wal.Encode(aVersion())
	rapid.Check(t, func(t *rapid.T) {
		record := append([]byte(nil), whole...)
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			record[rapid.IntRange(0, len(record)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		var v, reflected version
		if v.decode(record) == nil {
			require.NoError(t, wal.Decode(record, &reflected))
			require.Equal(t, reflected, v)
		}
	})
}

// A key that is set twice leaves open to what.
func TestVersionThatSetsAKeyTwice(t *testing.T) {
	v := version{Diff: diff{Rollups: &mapDiff[SeqNo, rollup]{Set: map[SeqNo]rollup{1: {}, 2: {}}}}}
	record := wal.Encode(v)
	require.NoError(t, new(version).decode(record))
	// The entry of 2, which is encoded last: its key, and a rollup of three bytes; then the keys dropped, which is null.
	record[len(record)-5] = 1
	require.ErrorIs(t, new(version).decode(record), errNoVersion)
}

func BenchmarkDecodeVersion(b *testing.B) {
	appended := version{SeqNo: 300, Sum: 1 << 60, RollupAt: 256, Rollup: rollup{Key: "s/00000000000001000000", Checksum: 1 << 31}, Diff: diff{
		Walltime: 1 << 40, Since: At(1 << 30),
		Batches: &splice{At: 6, Insert: []batch{{Lower: At(1 << 31), Upper: At(1<<31 + 9), Parts: []part{{Key: "s/00000000000001000001", Updates: 3, Checksum: 1 << 31}}}}},
		Writers: &mapDiff[WriterID, writerState]{Set: map[WriterID]writerState{"w-capture-1.1-0123456789abcdef": {
			LastToken: "t-capture-1.1-0123456789abcdef", LastUpper: At(1<<31 + 9), Heartbeat: 1 << 40, Lease: 900_000,
		}}},
	}}
	record := wal.Encode(appended)
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, new(version).decode(record))
		}
	})
	b.Run("by reflection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, wal.Decode(record, new(version)))
		}
	})
}
