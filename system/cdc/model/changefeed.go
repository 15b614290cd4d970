package model

import "math"

// FeedState is what is to become of a changefeed.
type FeedState string

// The states of a changefeed.
const (
	// StateNormal: it is replicated.
	StateNormal FeedState = "normal"
	// StateStopped: it is not, and holds its place; it may be resumed.
	StateStopped FeedState = "stopped"
	// StateFinished: it has come to its TargetTs.
	StateFinished FeedState = "finished"
	// StateFailed: it met an error that trying again does not mend, which is in its Error. It is not
	// replicated and holds its place; it may be resumed when the cause is removed.
	StateFailed FeedState = "failed"
)

// ChangeFeedInfo says what a changefeed is to replicate.
type ChangeFeedInfo struct {
	// StartTs is the ts from which on changes are replicated, onto the contents as of it. It is not beyond what is
	// resolved upstream when the changefeed is created.
	StartTs Ts `json:"start-ts"`
	// TargetTs is where it ends, after StartTs; 0 is never.
	TargetTs Ts `json:"target-ts"`
	// SinkURI says where to; what it means is up to those who make the sinks.
	SinkURI string    `json:"sink-uri"`
	State   FeedState `json:"state"`
	// Error is why it is in StateFailed, nil in every other state.
	Error *RunningError `json:"error,omitempty"`
	// Hold is under what name its creator holds history upstream until an owner does. Creating a
	// changefeed sets it.
	Hold string `json:"hold,omitempty"`
}

// Target is TargetTs, or the largest Ts when there is none.
func (i ChangeFeedInfo) Target() Ts {
	if i.TargetTs == 0 {
		return math.MaxUint64
	}
	return i.TargetTs
}

// ChangeFeedStatus is how far a changefeed has come.
type ChangeFeedStatus struct {
	// CheckpointTs: everything up to it is durable in the sink. It never regresses.
	CheckpointTs Ts `json:"checkpoint-ts"`
	// ResolvedTs: every capture has received everything up to it. It is never below CheckpointTs,
	// and may go back to it.
	ResolvedTs Ts `json:"resolved-ts"`
}
