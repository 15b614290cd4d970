package scenarios

import "github.com/simrun-dev/simrun/system/host"

// Situations of change data capture that only a whole run shows. The numbers are those of reports to
// pingcap/tiflow: each is what somebody's system had come to when it went wrong.
const (
	// The owner resigns, and who comes next learns of key spans that run: they must not be dispatched again.
	situation544 = "scenarios/cdc: #544: an owner that follows one that resigned is told of key spans that run"
	// Had the capture kept the checkpoint of the earlier stay, it would be above what it has received since.
	situation4464 = "scenarios/cdc: #4464: a key span comes back to a capture on which it was further before"
	situation9830 = "scenarios/cdc: #9830: the owner is gone before a changefeed that was resumed has a new checkpoint"
	situation6538 = "scenarios/cdc: #6538: a new owner is told of key spans that another was removing, while transactions are being committed"
	situation9583 = "scenarios/cdc: #9583: an owner fails before it has stored a checkpoint, as the one before it did"
	situation6477 = "scenarios/cdc: #6477: a capture ends while key spans are being added to it"

	situationManyRows  = "scenarios/cdc: a key span is read from far behind"
	situationLateWrite = "scenarios/cdc: a write arrives at the sink after its capture is gone"
	situationPassed    = "scenarios/cdc: a write arrives at the sink after another capture's of the same key span"
	situationBelow     = "scenarios/cdc: a changefeed starts below the others"
	situationNoSpans   = "scenarios/cdc: no key span is left"
	situationGivenUp   = "scenarios/cdc: history that a changefeed has replicated is given up"
	situationLapsed    = "scenarios/cdc: the history that a changefeed needs is given up, since its owners were not heard of"
	situationRecreated = "scenarios/cdc: a changefeed is removed and created again with a lower start"
)

var _ = host.Declare(
	situation544, situation4464, situation9830, situation6538, situation9583, situation6477,
	situationManyRows, situationLateWrite, situationPassed, situationBelow, situationRecreated, situationGivenUp,
	situationNoSpans, situationLapsed,
)
