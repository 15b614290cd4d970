package wal

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"coord/wal: a torn tail was cut off",
	"coord/wal: a write failed",
)
