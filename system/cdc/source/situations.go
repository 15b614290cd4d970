package source

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"cdc/source: a key span's resolved ts is held up",
	"cdc/source: a reader was heard of just before it was forgotten",
	"cdc/source: a reader's safepoint expired",
	"cdc/source: resolved ts wait for a write of unknown outcome",
	"cdc/source: the log was rewritten",
)
