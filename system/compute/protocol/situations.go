package protocol

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"compute: a connection broke in the middle of a message",
	"compute: a silent peer was given up",
)
