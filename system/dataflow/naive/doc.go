// Package naive says what a plan means, in the plainest way: [Evaluate] computes its output as
// of a time from all updates of its inputs, one operator after the other on whole collections,
// with numbers of any size.
//
// It is the oracle for package dataflow and for what is built on it, and shares no code with the
// operators and functions there: only the encoding of rows, the order of data, and the form of
// plans.
package naive
