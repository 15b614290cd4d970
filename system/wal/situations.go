package wal

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"wal: a torn tail was cut off",
	"wal: a write failed",
)
