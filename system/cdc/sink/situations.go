package sink

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"cdc/sink: a key span is opened that is further than its start",
	"cdc/sink: an ambiguous append is settled by the upper",
	"cdc/sink: another has written the key span meanwhile",
	"cdc/sink: some rows of a batch were there already",
)
