// Package dataflowtest makes random data, expressions and plans that make sense, for properties
// of what is built on package dataflow. All functions draw from a rapid test, so that failures
// shrink.
//
// Values are from small domains, so that groups meet and comparisons are ties, with extremes
// among them, so that arithmetic overflows.
package dataflowtest
