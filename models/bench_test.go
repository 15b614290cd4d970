package models

import (
	"bytes"
	"fmt"
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

// BenchmarkRegister10k judges 10,000 operations of 10 clients on 10 keys, 2 of 100 with unknown
// outcomes, as `simrun check` is to in seconds.
func BenchmarkRegister10k(b *testing.B) {
	h := manyKeys(10_000, 10)
	benchmarkOracle(b, CASRegisters(h))
}

// BenchmarkRegisterOneKey10k has nothing to partition by.
func BenchmarkRegisterOneKey10k(b *testing.B) {
	benchmarkOracle(b, CASRegisters(manyKeys(10_000, 1)))
}

// manyKeys is a history of compare-and-set registers.
func manyKeys(ops, keys int) *History {
	m := machine{invent: func(choose chooser, _ int) (string, any) {
		key := fmt.Sprint(choose(keys))
		switch choose(4) {
		case 0:
			return KindWrite, Put{key, Int(int64(choose(5)))}
		case 1:
			return KindCAS, CompareAndSet{key, Int(int64(choose(5))), Int(int64(choose(5)))}
		}
		return KindRead, Get{key}
	}, apply: applyCell}
	return m.play(seededChooser(1), 10, ops, 2, 0)
}

// BenchmarkQueue10k and its like judge without a search.
func BenchmarkQueue10k(b *testing.B) {
	benchmarkOracle(b, Queues(machine{invent: inventQueue(1 << 30), apply: applyQueue}.play(seededChooser(1), 10, 10_000, 0, 0)))
}

func BenchmarkCounter10k(b *testing.B) {
	benchmarkOracle(b, Counters(machine{invent: inventCounter(1), apply: applyCounter}.play(seededChooser(1), 10, 10_000, 5, 0)))
}

// BenchmarkRead10k reads JSON Lines.
func BenchmarkRead10k(b *testing.B) {
	m := casRegisterModel()
	var file bytes.Buffer
	require.NoError(b, m.WriteHistory(&file, manyKeys(10_000, 10)))
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		_, err := m.Read(bytes.NewReader(file.Bytes()), FormatAuto)
		require.NoError(b, err)
	}
}
