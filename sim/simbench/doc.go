// Package simbench measures the kernel's speed, in one process and in turns, so that ratios hold on
// a machine that is busy with other things: what is compared is run alternately, and the median of
// several rounds counts.
//
// Its names are those of `simrun bench`, which prints them as JSON Lines.
package simbench
