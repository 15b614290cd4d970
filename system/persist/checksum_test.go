package persist

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever of a state is changed, its checksum is another.
func TestChecksumCoversAll(t *testing.T) {
	full := func() *state {
		return &state{
			SeqNo: 7, Walltime: 70, Since: At(3),
			Batches: []batch{
				{Upper: At(5), Since: At(2), Parts: []part{{Key: "s/1", Updates: 1, Checksum: 11}, {Key: "s/2", Updates: 2, Checksum: 12}}},
				{Lower: At(5), Upper: At(9), Parts: []part{{Key: "s/3", Updates: 3, Checksum: 13}}},
			},
			Writers:  map[WriterID]writerState{"w": {LastToken: "t", LastUpper: At(9), Heartbeat: 60, Lease: 10}},
			Readers:  map[ReaderID]readerState{"r": {Hold: 4, Since: At(3), Heartbeat: 61, Lease: 11}},
			Critical: map[CriticalID]criticalState{"c": {Since: At(4), Opaque: 2, LastToken: "u"}},
			Rollups:  map[SeqNo]rollup{3: {Key: "s/v", Checksum: 14}},
			Asked:    asked{Rollup: 3, Merge: 4, Collect: 2, Collected: 1, RollupTime: 30, CollectTime: 40},
		}
	}
	sum := func(s *state) uint64 { s.tally = s.count(); return s.checksum() }
	want := sum(full())
	require.Equal(t, want, sum(full()))
	for name, change := range map[string]func(s *state){
		"seqno":         func(s *state) { s.SeqNo++ },
		"walltime":      func(s *state) { s.Walltime++ },
		"since":         func(s *state) { s.Since = Empty() },
		"final":         func(s *state) { s.Final = 7 },
		"asked rollup":  func(s *state) { s.Asked.Rollup++ },
		"asked merge":   func(s *state) { s.Asked.Merge++ },
		"asked collect": func(s *state) { s.Asked.Collect++ },
		"collected":     func(s *state) { s.Asked.Collected++ },
		"rollup time":   func(s *state) { s.Asked.RollupTime++ },
		"collect time":  func(s *state) { s.Asked.CollectTime++ },
		"batch lower":   func(s *state) { s.Batches[1].Lower = At(6) },
		"batch upper":   func(s *state) { s.Batches[1].Upper = Empty() },
		"batch since":   func(s *state) { s.Batches[0].Since = At(1) },
		"batch gone":    func(s *state) { s.Batches = s.Batches[:1] },
		"batch twice":   func(s *state) { s.Batches = append(s.Batches, s.Batches[1]) },
		"part key":      func(s *state) { s.Batches[0].Parts[1].Key = "s/4" },
		"part updates":  func(s *state) { s.Batches[0].Parts[1].Updates++ },
		"part checksum": func(s *state) { s.Batches[0].Parts[1].Checksum++ },
		"part gone":     func(s *state) { s.Batches[0].Parts = s.Batches[0].Parts[:1] },
		"writer id":     func(s *state) { s.Writers = map[WriterID]writerState{"x": s.Writers["w"]} },
		"writer token": func(s *state) {
			s.Writers["w"] = writerState{LastToken: "", LastUpper: At(9), Heartbeat: 60, Lease: 10}
		},
		"writer upper": func(s *state) {
			s.Writers["w"] = writerState{LastToken: "t", LastUpper: At(8), Heartbeat: 60, Lease: 10}
		},
		"writer heartbeat": func(s *state) {
			s.Writers["w"] = writerState{LastToken: "t", LastUpper: At(9), Heartbeat: 61, Lease: 10}
		},
		"writer lease": func(s *state) {
			s.Writers["w"] = writerState{LastToken: "t", LastUpper: At(9), Heartbeat: 60, Lease: 11}
		},
		"reader id":        func(s *state) { s.Readers = map[ReaderID]readerState{"x": s.Readers["r"]} },
		"reader hold":      func(s *state) { s.Readers["r"] = readerState{Hold: 5, Since: At(3), Heartbeat: 61, Lease: 11} },
		"reader since":     func(s *state) { s.Readers["r"] = readerState{Hold: 4, Since: At(4), Heartbeat: 61, Lease: 11} },
		"reader heartbeat": func(s *state) { s.Readers["r"] = readerState{Hold: 4, Since: At(3), Heartbeat: 62, Lease: 11} },
		"reader lease":     func(s *state) { s.Readers["r"] = readerState{Hold: 4, Since: At(3), Heartbeat: 61, Lease: 12} },
		"critical id":      func(s *state) { s.Critical = map[CriticalID]criticalState{"x": s.Critical["c"]} },
		"critical since":   func(s *state) { s.Critical["c"] = criticalState{Since: At(5), Opaque: 2, LastToken: "u"} },
		"critical opaque":  func(s *state) { s.Critical["c"] = criticalState{Since: At(4), Opaque: 3, LastToken: "u"} },
		"critical token":   func(s *state) { s.Critical["c"] = criticalState{Since: At(4), Opaque: 2, LastToken: "t"} },
		"rollup version":   func(s *state) { s.Rollups = map[SeqNo]rollup{4: s.Rollups[3]} },
		"rollup key":       func(s *state) { s.Rollups[3] = rollup{Key: "s/w", Checksum: 14} },
		"rollup checksum":  func(s *state) { s.Rollups[3] = rollup{Key: "s/v", Checksum: 15} },
	} {
		changed := full()
		change(changed)
		require.NotEqual(t, want, sum(changed), name)
		require.False(t, full().equal(changed), name)
	}
}

// What nobody could replay is found before it is committed.
func TestUnreplayableVersions(t *testing.T) {
	base := &state{SeqNo: 3, Batches: []batch{{Upper: At(5)}}}
	base.tally = base.count()
	next := base.clone()
	next.SeqNo += 2
	_, err := versionOf(base, next)
	require.ErrorContains(t, err, "replaying version 5 makes")
	next = base.clone()
	next.SeqNo++
	next.Batches = append(next.Batches, batch{Lower: At(6), Upper: At(7)})
	_, err = versionOf(base, next)
	require.ErrorContains(t, err, "replaying version 4 fails: batch 1 begins at [6], the one before ends at [5]")
}
