package storage

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"storage: a collection was unregistered with commands waiting",
	"storage: a preparation was made anew because somebody else wrote",
	"storage: a sync found nothing to write",
	"storage: a tick found that somebody else wrote",
	"storage: a tick writes what differs",
	"storage: a write gave up because the upper kept changing",
	"storage: a write is tried again after somebody else's",
	"storage: a write of unknown outcome was settled by reading",
	"storage: an append gave up because the upper kept changing",
	"storage: an append is tried again after somebody else's",
	"storage: an append was left open",
	"storage: several appends were written at once",
	"storage: several commands were written at once",
	"storage: the reader of a sync lost its lease",
	"storage: writes were allowed to a collection with rows",
)
