package model

import "time"

type (
	// ChangeFeedID names a changefeed: the replication of an upstream store into a sink.
	ChangeFeedID = string
	// CaptureID names one life of a capture, a process that replicates. It is never used again.
	CaptureID = string
	// KeySpanID names a range of the upstream store's keys.
	KeySpanID = uint64
	// Ts is a point in time of the upstream store.
	Ts = uint64
)

// logicalBits is how many bits of a Ts count within a millisecond.
const logicalBits = 18

// ComposeTs returns the Ts of a time, in milliseconds since 1970, and a counter within it.
func ComposeTs(physical int64, logical uint64) Ts {
	return Ts(physical)<<logicalBits + logical
}

// PhysicalTs returns the first Ts of the millisecond of t.
func PhysicalTs(t time.Time) Ts { return ComposeTs(max(0, t.UnixMilli()), 0) }

// ExtractPhysical returns a Ts's milliseconds since 1970.
func ExtractPhysical(ts Ts) int64 { return int64(ts >> logicalBits) }
