package rpc

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"rpc: a connection waits for a worker",
	"rpc: a request was executed and its answer lost",
	"rpc: a silent connection was given up",
)
