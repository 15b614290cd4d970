package catalog

import (
	"strconv"

	"github.com/simrun-dev/simrun/system/sql"
)

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
	Node string
	Sink Name
	// Earlier are the sinks that it had as it was defined before, those that are tables yet: something may be
	// on its way into them as long as its node was not told.
	Earlier []Name
	// Sources is the table that it reads.
	Sources []TableID
	// ExpireAfter is in seconds; NoExpiry if the flow's rows never expire.
	ExpireAfter int64
	// Query is the text of the SELECT.
	Query   string
	Comment string
}

// The ExpireAfter of flows that have none, and the greatest there is: 35 million years, which in milliseconds
// can be taken from any time of day.
const (
	NoExpiry       = -1
	MaxExpireAfter = 1 << 50
)

// String is the statement that creates the flow.
func (f *Flow) String() string {
	s := "CREATE FLOW " + f.Name.SQL() + " SINK TO " + f.Sink.SQL()
	if f.ExpireAfter != NoExpiry {
		s += " EXPIRE AFTER " + strconv.FormatInt(f.ExpireAfter, 10)
	}
	if f.Comment != "" {
		s += " COMMENT " + (&sql.StringLit{Value: f.Comment}).String()
	}
	return s + " AS " + f.Query
}
