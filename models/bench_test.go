package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkShard10k judges 10,000 operations of 5 clients on 10 shards, 5 of 100 appends with
// unknown outcomes.
func BenchmarkShard10k(b *testing.B) {
	h := generate(mixture{shards: 10, clients: 5, ops: 10_000, unknown: 5, tagged: true}, seededChooser(1))
	for _, o := range []Oracle{Linearizable{History: h}, Definite{History: h}} {
		b.Run(o.Name(), func(b *testing.B) { benchmarkOracle(b, o) })
	}
}

// BenchmarkShard10kHolds has since changes as well.
func BenchmarkShard10kHolds(b *testing.B) {
	h := generate(mixture{shards: 10, clients: 8, ops: 10_000, unknown: 5, tagged: true, holds: true}, seededChooser(1))
	benchmarkOracle(b, Linearizable{History: h})
}

// BenchmarkOneShard10k is the hardest: nothing to partition by, and every operation among all
// others.
func BenchmarkOneShard10k(b *testing.B) {
	h := generate(mixture{shards: 1, clients: 8, ops: 10_000, unknown: 5, tagged: true}, seededChooser(1))
	benchmarkOracle(b, Linearizable{History: h})
}

// BenchmarkFailing judges a history that fails at its very end.
func BenchmarkFailing(b *testing.B) {
	r := recording{History: generate(mixture{shards: 1, clients: 8, ops: 10_000, unknown: 5, tagged: true}, seededChooser(1))}
	r.at = r.last
	r.end(r.begin(1, KindFetchUpper, FetchUpper{"s0"}), Ok, Upper{At(0)})
	require.Equal(b, VerdictFail, Linearizable{History: r.History}.Judge().Verdict)
	b.ReportAllocs()
	for b.Loop() {
		Linearizable{History: r.History}.Judge()
	}
}

func benchmarkOracle(b *testing.B, o Oracle) {
	b.Helper()
	j := o.Judge()
	require.Equal(b, VerdictPass, j.Verdict, "%v", j.Violations)
	b.ReportAllocs()
	for b.Loop() {
		o.Judge()
	}
	b.ReportMetric(float64(b.N*j.Judged)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkResponders(b *testing.B) {
	w := generateTasks(seededChooser(1), 5000)
	require.Equal(b, VerdictPass, Responders{w.TaskLog}.Judge().Verdict)
	b.ReportAllocs()
	for b.Loop() {
		Responders{w.TaskLog}.Judge()
	}
}
