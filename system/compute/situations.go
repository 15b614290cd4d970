package compute

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"compute: a controller was fenced out",
	"compute: a dataflow waits for others to hydrate",
	"compute: a replica could not go on with a subscribe",
	"compute: a replica fell behind with commands",
	"compute: a replica of another version was met",
	"compute: a replica was reached only after several attempts",
	"compute: a response of an older incarnation was dropped",
	"compute: a response waits for a busy controller",
	"compute: a second answer to a peek was swallowed",
	"compute: a subscribe's batch came too late",
	"compute: a subscribe's batch was cut off",
	"compute: a subscription fell behind",
	"compute: responses of an ended connection are waiting",
	"compute: the answer of another replica than was asked was ignored",
)
