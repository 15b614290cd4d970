// Package mutants measures the tests: it plants known bugs in system/, one at a time, and sees
// whether a campaign finds them.
//
// A [Mutant] is a patch file, patches/NNN-name.patch: a header that says which real bug it stands
// for, and a unified diff. The source tree is never touched: [Mutant.Overlay] writes the patched
// files to a directory of their own, and [Tree.Build] has `go build -overlay` read those instead.
// A [Hunt] builds the command line with one mutant after the other, runs the mutant's scenario
// until the first seed that fails, and repeats that seed: an [Outcome] says which oracle
// objected, after how many seeds, and whether the failure can be replayed.
//
// A mutant that survives is a hole in the oracles or in the faults. A patch that no longer
// applies, or no longer compiles, is an error: the mutant must be carried along with the code
// that it breaks.
//
// The idea is mutation testing with a list kept by hand: bugs that people did write, as in the
// track record of etcd's robustness tests, rather than operators swapped by a machine.
package mutants
