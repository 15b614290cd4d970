// Package corpus keeps runs that have shown something: a directory has a folder for each scenario,
// and in it a small file for each run.
//
//	testdata/seeds/full/550.yaml
//
// A [Run] is all that decides a run, and no trace hash, since it is to outlive changes of the code.
// The plan of faults is in it because plans live longer than seeds: what a seed draws changes with
// the code. sim/simtest and the command line read and write the same files.
package corpus
