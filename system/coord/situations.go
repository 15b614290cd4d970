package coord

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"coord: a campaign found its own key after an unknown outcome",
	"coord: a candidate's key came into being after it had left",
	"coord: a candidate's key was gone before it led",
	"coord: a client does not know what became of a transaction",
	"coord: a keep-alive came too late",
	"coord: a lease expired",
	"coord: a session gave itself up by its own clock",
	"coord: a session was told that it is gone",
	"coord: a watch went on after it was broken off",
	"coord: a watcher fell behind what is kept",
	"coord: history was compacted",
	"coord: several commands were synced at once",
	"coord: the key of a candidate that leaves is gone already",
	"coord: the log was rewritten",
	"coord: the outcome of commands is not known to the server",
)
