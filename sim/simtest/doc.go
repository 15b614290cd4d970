// Package simtest runs scenarios inside go test.
//
//	func TestCounter(t *testing.T) {
//		simtest.Run(t, counter(), simtest.Seeds(200), simtest.Set("clients", "5"))
//	}
//
// [Run] runs a scenario for many seeds, as many at a time as there are cores. Each seed that fails
// is a subtest, whose output says what failed and when, the faults in force, the last log lines
// and events before it, and the command that runs the same seed again. A run that could not be
// judged, because no operation succeeded say, is a failure too. Run ends at the tenth failing
// seed, and in good order, with what it has, shortly before go test's -timeout.
//
// [Check] has rapid draw seed, settings and faults instead, and shrink what fails to a plan of few
// faults.
//
// # Corpus
//
// Run first repeats the runs that are in testdata/seeds/SCENARIO, a small file each: seed,
// settings, strategy, plan of faults. The plan is in it because plans live longer than seeds: what
// a seed draws changes with the code. With -simtest.keep seeds that fail are added.
//
// # Flags
//
//	-seed N             run this seed only
//	-seeds A-B          run these seeds only; also a list, 1-50,77
//	-simtest.keep       add seeds that fail to the corpus
//	-simtest.faults P   the fault profile, or a plan in one line, in place of the test's
//	-simtest.set K=V    a setting in place of the test's; may be repeated
//	-simtest.strategy S the scheduling strategy in place of the test's
//
// They are there in every test binary that imports this package, and go behind the packages in
// go test's command line. -seed and -seeds are short for -simtest.seed and -simtest.seeds; a
// package whose tests have a flag of that name themselves is tested with
// -tags simtest_longflags, which leaves the short names to them.
//
// With -v the summary of the campaign is printed: what failed how often, which faults took effect,
// which situations were reached. With -short a tenth of the seeds run, or what [Short] says.
package simtest
