package frontend

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"frontend: a dropped table's shard is still held",
	"frontend: a dropped table's shard was finalised",
	"frontend: a flow was taken back because its node refused it",
)
