package protocol

import "github.com/simrun-dev/simrun/system/dataflow"

// Log is a collection in which a replica tells of itself: an index that is there as long as the replica is one of an
// instance with [LoggingConfig.Interval], and that can be peeked. Its times are the milliseconds of the replica's
// own clock, in steps of the interval. Its numbers are part of the protocol.
type Log uint8

const (
	// LogFrontiers is how far collections are: worker, collection, and its write, input and output frontiers
	// of the worker's share; NULL is the empty frontier.
	LogFrontiers Log = iota + 1
	// LogOperators is what dataflows hold: worker, collection, stage, the operator's place in it and its kind,
	// and its records and bytes. An index is the operator "arrange" of the last stage.
	LogOperators
	// LogPeeks is peeks that are under way: worker, the peek's id, its target and time. The target of the peek of a
	// shard is the collection that is written to it.
	LogPeeks
)

// Logs are all there are.
var Logs = []Log{LogFrontiers, LogOperators, LogPeeks}

// firstLog is beyond all ids that controllers give.
const firstLog GlobalID = 1 << 62

// ID is the collection's.
func (l Log) ID() GlobalID { return firstLog + GlobalID(l) }

// IsLog tells whether a collection is a log.
func (id GlobalID) IsLog() bool { return id >= firstLog }

// Schema is that of the log's rows.
func (l Log) Schema() dataflow.Schema {
	integer := dataflow.Type(dataflow.KindInt64)
	text := dataflow.Type(dataflow.KindString)
	frontier := dataflow.ColumnType{Kind: dataflow.KindInt64, Nullable: true}
	column := func(name string, t dataflow.ColumnType) dataflow.Column { return dataflow.Column{Name: name, Type: t} }
	switch l {
	case LogFrontiers:
		return dataflow.NewSchema(
			column("worker", integer), column("collection", integer),
			column("write", frontier), column("input", frontier), column("output", frontier),
		)
	case LogOperators:
		return dataflow.NewSchema(
			column("worker", integer), column("collection", integer), column("stage", integer), column("place", integer),
			column("operator", text), column("records", integer), column("bytes", integer),
		)
	case LogPeeks:
		return dataflow.NewSchema(column("worker", integer), column("peek", text), column("collection", integer), column("time", integer))
	}
	panic("compute protocol: there is no such log")
}
