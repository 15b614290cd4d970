// Package reports brings results out: as JSON Lines for programs, as text for people.
//
// [JSONLines] writes one object a line, one per seed, as soon as the seed is done; [ReadResults]
// reads them back. [Terminal] prints what a person wants to see: a block for each run that
// failed ([Terminal.Failure]), what a campaign came to ([Terminal.Summary]), which planted bugs
// were caught ([Terminal.Mutants]).
//
// For others: [JUnit] for continuous integration, [GitHubAnnotations] and [GitHubSummary] for
// GitHub Actions, and [HTML], a page that stands by itself, with a space-time diagram of the runs
// that failed, each made of its events by a [Timeline].
//
// Everything here is a pure function of its input: no clock, no terminal queries, no files. The
// command line decides where output goes and whether it is coloured.
package reports
