// Package simvet finds, in code that is to run in a simulation, what the simulator cannot decide:
// goroutines, the real clock, the real world, and order that comes from a map. What code on a host
// must not do, and what it does instead, is in the documentation of package host; this package is
// that list as analyzers of golang.org/x/tools/go/analysis, one for each family, so that each can
// be switched off:
//
//	simgo       go statements, and calls that start goroutines
//	simtime     time.Now, time.Sleep, timers and tickers; the machine's time zone
//	simcontext  contexts made by package context
//	simrand     global math/rand, crypto/rand, maphash, libraries that make identifiers of them
//	simchan     select, and sending to, receiving from, ranging over and closing a bare channel
//	simsync     sync.WaitGroup.Wait, sync.Cond.Wait, and a sync.Mutex held while a task waits
//	simmap      ranging over a map where the order can show
//	simio       files, sockets, processes, environment, standard output, package log
//	simignore   comments that switch a check off without a reason, or without need
//
// `simrun vet PACKAGES` runs them all, and so does `go vet -vettool=$(which simrun) PACKAGES`; any
// other driver of analyzers can, with [Analyzers]; a test can call [Check]. Packages are checked as they
// are named, not with what they import: name each one that the simulated code is made of. Test files,
// which run outside of the simulation as often as inside, are passed over without the flag -tests.
//
// # A finding that is none
//
// A comment at the end of the line, or alone on the line above, switches checks off there, and says
// why. One before the package clause does so for the file.
//
//	//simvet:ignore simmap the callbacks only count
//	for _, f := range callbacks {
//
// # What the order of a map can show
//
// Of loops over maps only those are reported that do something whose outcome differs with the order:
// they send, log, draw random numbers or call what might; build a string, add up floating-point
// numbers, fill a slice that is not sorted afterwards; keep the last entry, or leave with the first
// that fits. Counting, adding whole numbers, filling or emptying another map, changing each entry on
// its own, and taking the largest of values that differ, come out the same in every order. To tell,
// the analyzer looks into the functions that the loop calls, those of other packages too.
//
// A check that reports every map gets switched off, as that of the Cosmos SDK was. Where this one can't
// know, at a call through a function value or an interface, it reports. Where the order shows only if
// two entries fill the same place of another map, or are equal in a sort, it does not.
//
// What no analyzer here sees: misuses inside of packages that were not named, state that worlds share
// through package variables, addresses that are printed or compared, sync.Pool. For those there is
// `simrun verify`.
package simvet
