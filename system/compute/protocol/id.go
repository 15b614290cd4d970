package protocol

import (
	"cmp"
	"fmt"

	"github.com/simrun-dev/simrun/system/persist"
)

// Frontier is a frontier of times. See [persist.Frontier].
type Frontier = persist.Frontier

// GlobalID names a collection that a dataflow computes. Ids are not used again.
type GlobalID uint64

func (id GlobalID) String() string { return fmt.Sprintf("c%d", uint64(id)) }

// ReplicaID names a replica, over all its lives.
type ReplicaID string

// PeekID names a peek. It is unique over all controllers' lives.
type PeekID string

// Epoch numbers the connections of a replica. Each one's is greater than all before: the controller's
// part grows from one life of the controller to the next, the replica's from one connection to the next
// within such a life.
type Epoch struct {
	_          struct{} `cbor:",toarray"`
	Controller int64
	Replica    uint64
}

// Compare orders epochs, by the controller's part first.
func (e Epoch) Compare(f Epoch) int {
	return cmp.Or(cmp.Compare(e.Controller, f.Controller), cmp.Compare(e.Replica, f.Replica))
}

func (e Epoch) String() string { return fmt.Sprintf("(%d, %d)", e.Controller, e.Replica) }
