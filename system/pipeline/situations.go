package pipeline

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach.
var _ = host.Declare(
	"pipeline: a capture writes to a dropped key span's shard that was finalised",
	"pipeline: a controller was replaced while it led",
	"pipeline: a dropped key span's shard is still held",
	"pipeline: a dropped key span's shard was finalised",
	"pipeline: a mirror found a table as a former one had left it",
	"pipeline: a mirror's reader of a key span has to be opened again",
	"pipeline: a sink was dropped",
	"pipeline: a sink's changes were forgotten before they were published",
	"pipeline: a table that flows read was dropped",
	"pipeline: an append of a mirror is left open",
	"pipeline: another mirror has appended to the table",
	"pipeline: another mirror has published a sink",
	"pipeline: the mirror's listener to a table failed",
)
