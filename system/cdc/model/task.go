package model

// Statuses of a key span's operation.
const (
	OperDispatched uint64 = iota
	OperProcessed
	OperFinished
)

// KeySpanReplicaInfo is one key span that a capture replicates.
type KeySpanReplicaInfo struct {
	StartTs Ts     `json:"start-ts"`
	Start   []byte `json:"start"`
	End     []byte `json:"end"`
}

// KeySpanOperation is the adding or removing of a key span under way on a capture.
type KeySpanOperation struct {
	Delete bool   `json:"delete"`
	Flag   uint64 `json:"flag,omitempty"`
	// BoundaryTs is the ts from which a span is added, or up to which it is removed.
	BoundaryTs Ts     `json:"boundary_ts"`
	Status     uint64 `json:"status,omitempty"`
}

// TaskStatus is what a capture replicates of a changefeed, as its owner believes.
type TaskStatus struct {
	KeySpans  map[KeySpanID]*KeySpanReplicaInfo `json:"keyspans"`
	Operation map[KeySpanID]*KeySpanOperation   `json:"operation"`
}

// TaskPosition is how far a capture has come with a changefeed: the least over its key spans.
type TaskPosition struct {
	CheckPointTs Ts     `json:"checkpoint-ts"`
	ResolvedTs   Ts     `json:"resolved-ts"`
	Count        uint64 `json:"count"`
	// Error is what ended the capture's part of the changefeed and trying again does not mend, or nil.
	Error *RunningError `json:"error"`
}

// RunningError is an error that stopped a part of a changefeed.
type RunningError struct {
	Addr    string `json:"addr"`
	Code    string `json:"code"`
	Message string `json:"message"`
}
