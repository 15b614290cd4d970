package protocol

import (
	"time"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// Command is what a controller tells a replica: one of the types below. Commands are not changed
// once they were made.
type Command interface{ command() }

// CreateTimely is the first command of a connection.
type CreateTimely struct {
	Config TimelyConfig
	Epoch  Epoch
}

// TimelyConfig is how a replica's worker is set up.
type TimelyConfig struct {
	// Budget is about how many rows of work a dataflow does before the next one's turn.
	Budget int
}

// CreateInstance is the second command of a connection.
type CreateInstance struct {
	Logging LoggingConfig
	// Expiration, if not zero, is how long the replica may live at most: it forgets everything then,
	// and starts as new.
	Expiration time.Duration
}

// LoggingConfig is what a replica tells of itself.
type LoggingConfig struct {
	// Interval is how often it sends a [Status] of each collection, and writes its logs (see [Log]); zero is never.
	Interval time.Duration
}

// InitializationComplete ends the stage of initialisation.
type InitializationComplete struct{}

// AllowWrites lets the replica write to shards, as long as it lives. It comes once at most, after
// InitializationComplete.
type AllowWrites struct{}

// UpdateConfiguration changes parameters at once and for everything.
type UpdateConfiguration struct{ Parameters Parameters }

// Parameters are those of a replica that can change. Zero fields leave what is.
type Parameters struct {
	// MaxResultSize bounds the rows of a peek's answer, in bytes. What is longer makes an error of the answer, as does
	// what is too long for a message.
	MaxResultSize int `cbor:"1,keyasint,omitempty"`
	// ReportInterval is how long a replica collects changes of frontiers before it sends them.
	ReportInterval time.Duration `cbor:"2,keyasint,omitempty"`
	// MaxBatchSize bounds a batch of a subscribe, in bytes, about. A longer one ends the subscribe with an error, as
	// does one that is too long for a message.
	MaxBatchSize int `cbor:"3,keyasint,omitempty"`
}

// Merge is p with what q sets.
func (p Parameters) Merge(q Parameters) Parameters {
	if q.MaxResultSize != 0 {
		p.MaxResultSize = q.MaxResultSize
	}
	if q.ReportInterval != 0 {
		p.ReportInterval = q.ReportInterval
	}
	if q.MaxBatchSize != 0 {
		p.MaxBatchSize = q.MaxBatchSize
	}
	return p
}

// CreateDataflow creates a dataflow. What it imports exists, and can be read as of its AsOf.
type CreateDataflow struct{ Dataflow *Dataflow }

// Schedule lets a dataflow run.
type Schedule struct{ ID GlobalID }

// AllowCompaction lets a collection forget its history before a frontier, which may be beyond its upper
// and never goes back. The empty frontier drops the collection.
type AllowCompaction struct {
	ID       GlobalID
	Frontier Frontier
}

// Peek reads a collection as of a time, once its upper is past it. The replica answers with one
// [PeekResponse].
type Peek struct {
	ID     PeekID
	Target PeekTarget
	// Key, if not nil, restricts the peek of an index to the rows with that key.
	Key *dataflow.Row
	// Timestamp is the time; the target can be read as of it.
	Timestamp uint64
	// Plan, if not nil, is applied to the rows. It reads [PeekSource].
	Plan *dataflow.Plan
}

// PeekSource is the name under which the plan of a peek reads the rows that were found.
const PeekSource dataflow.SourceID = "peeked"

// PeekTarget is an index, or a shard if that is not "".
type PeekTarget struct {
	ID    GlobalID
	Shard persist.ShardID
	// Schema is that of the rows.
	Schema dataflow.Schema
}

// CancelPeek says that a peek's answer is not wanted any more.
type CancelPeek struct{ ID PeekID }

func (CreateTimely) command()           {}
func (CreateInstance) command()         {}
func (InitializationComplete) command() {}
func (AllowWrites) command()            {}
func (UpdateConfiguration) command()    {}
func (CreateDataflow) command()         {}
func (Schedule) command()               {}
func (AllowCompaction) command()        {}
func (Peek) command()                   {}
func (CancelPeek) command()             {}
