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
)

// ChangeFeedInfo says what a changefeed is to replicate.
type ChangeFeedInfo struct {
	// StartTs is the ts from which on changes are replicated, onto the contents as of it.
	StartTs Ts `json:"start-ts"`
	// TargetTs is where it ends; 0 is never.
	TargetTs Ts `json:"target-ts"`
	// SinkURI says where to; what it means is up to those who make the sinks.
	SinkURI string    `json:"sink-uri"`
	State   FeedState `json:"state"`
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
