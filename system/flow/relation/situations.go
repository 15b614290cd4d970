package relation

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"relation: a change was decided anew because somebody else was faster",
	"relation: a reader lost its lease and the relation was read anew",
)
