package protocol_test

import (
	"testing"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// BenchmarkHistory keeps the history of an instance with 100 dataflows, one of which is compacted each time.
func BenchmarkHistory(b *testing.B) {
	var h protocol.History
	for id := range protocol.GlobalID(100) {
		h.Push(flow(id, 0))
	}
	b.ReportAllocs()
	for i := range b.N {
		h.Push(protocol.AllowCompaction{ID: protocol.GlobalID(i % 100), Frontier: persist.At(uint64(i / 100))})
	}
}

// BenchmarkEncodeBatch encodes and decodes a batch of 1,000 updates.
func BenchmarkEncodeBatch(b *testing.B) {
	batch := &protocol.SubscribeBatch{Upper: persist.At(9)}
	for n := range int64(1000) {
		batch.Updates = append(batch.Updates, dataflow.Update{Row: row(n), Time: 3, Diff: 1})
	}
	p := protocol.EncodeResponse(protocol.SubscribeResponse{ID: 1, Batch: batch})
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protocol.DecodeResponse(protocol.EncodeResponse(protocol.SubscribeResponse{ID: 1, Batch: batch})); err != nil {
			b.Fatal(err)
		}
	}
}
