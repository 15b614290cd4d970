package catalog

// FlowID numbers flows. A number is never used again; a flow that is replaced keeps its own.
type FlowID uint64

// Flow is the definition of a flow.
type Flow struct {
	_    struct{} `cbor:",toarray"`
	ID   FlowID
	Name Name
	// Revision is that of the catalog at which the flow was created or replaced.
	Revision uint64
	// Node is the flow node that runs it.
	Node    string
	Sink    Name
	Sources []TableID
	// ExpireAfter is in seconds; NoExpiry if the flow's rows never expire.
	ExpireAfter int64
	// Query is the text of the SELECT.
	Query   string
	Comment string
}

// NoExpiry is the ExpireAfter of flows that have none.
const NoExpiry = -1
