package flow

import "github.com/simrun-dev/simrun/system/host"

// The rare situations of this package that simulations ought to reach. A test holds the list against
// the calls.
var _ = host.Declare(
	"flow: a buffer is not emptied because a flow is behind",
	"flow: a flow began anew during a flush",
	"flow: a flow can't begin anew",
	"flow: a flow was removed because the catalog has it no more",
	"flow: a flow was removed while a write of unknown outcome was on its way",
	"flow: a flow was replaced",
	"flow: a flush is for a definition that the node has not heard of",
	"flow: a flush waits for a refill",
	"flow: a flush waits for an insert",
	"flow: a refill came too late for what was held back",
	"flow: a refill had a change already that came later",
	"flow: a refill is tried again",
	"flow: a refill was given up for the time being",
	"flow: a request to create was carried out before",
	"flow: a row came too late and was dropped",
	"flow: a row of a result went",
	"flow: a sink had rows that its flow has not",
	"flow: a sink was made anew under its flow",
	"flow: a write of unknown outcome is repeated",
	"flow: an insert came early",
	"flow: an insert came twice",
	"flow: an insert waits for room in the buffer",
	"flow: an insert was given up while it waited for room",
	"flow: changes were held back during a refill",
	"flow: inserts were missed and fetched",
	"flow: results were left over for a sink that is gone",
	"flow: too much was missed and flows began anew",
)
