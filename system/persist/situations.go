package persist

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"persist: a collection found that others had been there",
	"persist: a command lost a race and was tried again",
	"persist: a listener had to wait for the upper",
	"persist: a listener met a batch of which it had emitted a part",
	"persist: a listener met a merged batch",
	"persist: a merge came too late",
	"persist: a reader noticed that its lease had expired",
	"persist: a reader's lease expired",
	"persist: a retried append had gone in",
	"persist: a retried append had not gone in",
	"persist: a retried append was found by its blob",
	"persist: a retried critical downgrade had gone in",
	"persist: a rollup came too late",
	"persist: a rollup was added",
	"persist: a shard was finalised",
	"persist: a snapshot had to wait for the upper",
	"persist: a stale cache made an append look mismatched",
	"persist: a state was rebuilt from a rollup",
	"persist: a torn tail was cut off a log",
	"persist: a write to a log failed",
	"persist: a writer was forgotten before its append was settled",
	"persist: a writer's lease expired",
	"persist: an append found that others had written a part of it",
	"persist: an append found that others had written all of it",
	"persist: an append was left open",
	"persist: batches to be merged were gone",
	"persist: batches were merged",
	"persist: batches were merged up to a since",
	"persist: blobs were collected",
	"persist: maintenance counts as applied because it may have been",
	"persist: maintenance was still busy when it was asked for again",
	"persist: several changes were synced at once",
	"persist: the consensus log was rewritten",
	"persist: the versions since the last look were dropped already",
	"persist: two initialised a shard at once",
	"persist: versions were dropped",
)
