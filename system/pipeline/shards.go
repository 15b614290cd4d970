package pipeline

import (
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/persist"
)

// rawPrefix is that of the shards that captures write.
const rawPrefix = "raw"

// RawShard is what captures write a key span to: as of T, what the span held at T.
func RawShard(span model.KeySpanID) persist.ShardID { return sink.ShardOf(rawPrefix, span) }

// TableShard holds, as of T, what a table's part of the source held at T: all key spans together, as rows. Its
// upper is one past the global checkpoint, as far as the mirror has come.
func TableShard(name string) persist.ShardID { return persist.ShardID("table/" + name) }

// SinkShard holds, as of T, the latest result of a flow whose mark is not beyond T, with its mark.
func SinkShard(name string) persist.ShardID { return persist.ShardID("sink/" + name) }

// ViewShard is what a materialized view is written to.
func ViewShard(name string) persist.ShardID { return persist.ShardID("view/" + name) }

// SystemShard is an introspection collection, kept by a storage.DifferentialWriteTask of the leading
// controller.
func SystemShard(name string) persist.ShardID { return persist.ShardID("sys/" + name) }

// The introspection collections. Rows are packed strings.
const (
	// SystemReplicas has a row (replica, "connected" or "away", "hydrated" or "behind") for each replica.
	SystemReplicas = "replicas"
	// SystemSpans has a row (key span, capture) for each key span that runs, as the owner has it.
	SystemSpans = "spans"
	// SystemFlows has a row (flow, sink, node) for each flow.
	SystemFlows = "flows"
)

// SystemCollections are their names.
func SystemCollections() []string { return []string{SystemFlows, SystemReplicas, SystemSpans} }
