package protocol

import (
	"bytes"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// Dataflow describes a dataflow, which computes one collection: at every time from AsOf on it holds what
// the plan says of the inputs as of then.
type Dataflow struct {
	ID GlobalID `cbor:"1,keyasint"`
	// AsOf is the first time of the output. Empty means that it is not wanted any more.
	AsOf Frontier `cbor:"2,keyasint"`
	// Until ends the output: nothing at or beyond it is computed.
	Until Frontier `cbor:"3,keyasint"`
	// Shards and Indexes are what the plan reads, sorted by name.
	Shards  []ShardImport `cbor:"4,keyasint,omitempty"`
	Indexes []IndexImport `cbor:"5,keyasint,omitempty"`
	Plan    dataflow.Plan `cbor:"6,keyasint"`
	Sink    Sink          `cbor:"7,keyasint"`
	// Transient dataflows are scheduled at once and do not count among those that hydrate.
	Transient bool `cbor:"8,keyasint,omitempty"`
}

// ShardImport is a persist shard that a plan reads under a name.
type ShardImport struct {
	_      struct{} `cbor:",toarray"`
	Name   dataflow.SourceID
	Shard  persist.ShardID
	Schema dataflow.Schema
}

// IndexImport is an index of the same replica that a plan reads under a name.
type IndexImport struct {
	_      struct{} `cbor:",toarray"`
	Name   dataflow.SourceID
	ID     GlobalID
	Schema dataflow.Schema
}

// SinkKind is where a dataflow's output goes. The numbers are part of the protocol.
type SinkKind uint8

const (
	// Index keeps the output in memory, for peeks and other dataflows.
	Index SinkKind = iota + 1
	// Shard makes a persist shard hold the output.
	Shard
	// Subscribe sends the output to the controller.
	Subscribe
)

func (k SinkKind) String() string {
	return [...]string{"no sink", "index", "shard", "subscribe"}[min(k, Subscribe)]
}

// Sink is where a dataflow's output goes.
type Sink struct {
	_    struct{} `cbor:",toarray"`
	Kind SinkKind
	// Key are the columns by which an Index is looked up.
	Key []int
	// Shard is the shard of a Shard.
	Shard persist.ShardID
	// Snapshot is whether a Subscribe starts with the contents as of the dataflow's AsOf.
	Snapshot bool
}

// Catalog are the schemas of what the plan reads.
func (d *Dataflow) Catalog() dataflow.Catalog {
	catalog := dataflow.Catalog{}
	for _, s := range d.Shards {
		catalog[s.Name] = s.Schema
	}
	for _, i := range d.Indexes {
		catalog[i.Name] = i.Schema
	}
	return catalog
}

// WriteOnly tells whether nobody reads the collection from the replica.
func (d *Dataflow) WriteOnly() bool { return d.Sink.Kind != Index }

// SameAs tells whether two dataflows compute the same, from whatever time on.
func (d *Dataflow) SameAs(e *Dataflow) bool {
	timeless := func(d Dataflow) Dataflow {
		d.AsOf, d.Transient = Frontier{}, false
		return d
	}
	return bytes.Equal(mustEncode(timeless(*d)), mustEncode(timeless(*e)))
}

// Clone is a copy that can be changed without the original.
func (d *Dataflow) Clone() *Dataflow {
	c := *d
	c.Shards, c.Indexes = slices.Clone(d.Shards), slices.Clone(d.Indexes)
	return &c
}
