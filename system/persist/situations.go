package persist

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"persist: a command lost a race and was tried again",
	"persist: a reader noticed that its lease had expired",
	"persist: a reader's lease expired",
	"persist: a retried append had gone in",
	"persist: a retried append had not gone in",
	"persist: a retried append was found by its blob",
	"persist: a retried critical downgrade had gone in",
	"persist: a snapshot had to wait for the upper",
	"persist: a stale cache made an append look mismatched",
	"persist: a torn tail was cut off a log",
	"persist: a write to a log failed",
	"persist: a writer was forgotten before its append was settled",
	"persist: a writer's lease expired",
	"persist: an append was left open",
	"persist: several changes were synced at once",
	"persist: the consensus log was rewritten",
	"persist: two initialised a shard at once",
)
