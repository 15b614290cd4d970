// Package knob turns parts of the kernel off that users can't, to measure what they cost.
package knob

// NoHash makes worlds made from now on not fold their events into the trace hash.
var NoHash bool
