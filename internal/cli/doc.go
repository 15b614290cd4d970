// Package cli is simrun's command line.
//
// A [Command] is the whole of it over a list of scenarios: [Command.Run] takes arguments and
// returns an exit status, reads and writes only what it was given, and so can be run in a test.
// [Main] connects one to the process: its arguments, streams, signals and exit status.
//
// Each command has a file of its own, run.go for `simrun run`. What several have in common: the
// flags that choose how a scenario is run (settings.go), which also turn back into a command that
// reproduces a run; lists of seeds (seeds.go); the files that a campaign leaves behind
// (artifacts.go); planted bugs, for which the command line builds itself anew and hands over
// (mutant.go). The skeleton of `simrun new` is in skeleton/.
//
// An error that is the caller's to mend is a usageError and ends in status 2. Errors are one line
// on standard error.
package cli
