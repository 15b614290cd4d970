// Package shrink finds the smallest run that still fails as a given one does.
//
// A run is its seed, its settings, its strategy and its plan of faults. A [Search] leaves out faults
// (by delta debugging: Zeller and Hildebrandt, 2002), makes those that remain simpler, and makes the
// settings that are sizes smaller, each as long as the run still fails by the oracle that the first
// one failed by. Random choices have addresses, so that a fault less leaves all others as they were:
// without that, each step would be a run of another kind.
//
//	search := &shrink.Search{Scenario: s, Options: opt}
//	found, err := search.Run(ctx)
//
// What it finds has been run, and has failed; when ctx is done the search ends with the smallest so
// far.
package shrink
