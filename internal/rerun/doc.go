// Package rerun runs a seed again, to see more of it.
//
// [Once] repeats a run as a campaign would have it. [Examine] repeats it with its trace recorded
// and says what led to the failure: the faults in force, the last log lines, the last events.
// [Flags] are what, beside scenario and seed, decides a run, as the arguments of a command that
// repeats it. The command line and sim/simtest say the same about a failure because both say what
// is found here.
package rerun
