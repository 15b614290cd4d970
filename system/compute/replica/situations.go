package replica

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"compute: a connection ended in the middle of its initialisation",
	"compute: a dataflow begins to read late",
	"compute: a dataflow came to share the reading of a shard",
	"compute: a dataflow's work took several turns",
	"compute: a peek has to wait for its time",
	"compute: a peek was cancelled after it was answered",
	"compute: a reconciliation dropped a dataflow",
	"compute: a reconciliation forgot peeks",
	"compute: a reconciliation retained a dataflow",
	"compute: a replica gave up a controller that does not listen",
	"compute: a replica has come to its expiration",
	"compute: a replica ignored a command of an older connection",
	"compute: a replica refused a stale epoch",
	"compute: a replica was asked to be another instance",
	"compute: a retained dataflow had to begin later",
	"compute: a worker was sent rows of a dataflow that it did not know yet",
	"compute: another replica had written to the shard",
	"compute: reading a shard waits for busy workers",
	"compute: the answer to a peek waits for room",
)
