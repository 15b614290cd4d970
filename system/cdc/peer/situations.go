package peer

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"cdc/peer: a message came again",
	"cdc/peer: a peer is no longer who it was",
	"cdc/peer: a queue is full",
	"cdc/peer: messages were sent again after a failure",
	"cdc/peer: somebody who is taken for gone is refused",
)
