// Package host is what a process may ask of the machine it runs on: the time,
// randomness, tasks and ways for them to wait for each other, the network, the
// disk, and a log.
//
// Code written against [Host] runs unchanged in two worlds. In simulation
// (package sim) a host is a node of a simulated cluster: one seed decides its
// clock, its scheduling, what the network does to its messages and what a crash
// leaves on its disk. In production a host is the operating system (package
// real). That the two keep the same promises is tested by package hosttest.
//
// # What code on a host must not do
//
// A simulated world runs in one thread: whatever blocks that thread blocks the
// world, and whatever the seed does not decide makes a failure impossible to
// replay. So code on a host uses
//
//   - Host.Go instead of the go statement,
//   - [Chan] and [Select] instead of channels and the select statement,
//   - [Mutex] and [WaitGroup] instead of their counterparts in sync, wherever the
//     holder may wait for something,
//   - Host.Clock instead of package time's clock, Host.Rand instead of the
//     global random source,
//   - Host.Net and Host.Disk instead of packages net and os; code that wants a
//     net.Conn gets one from [NetConn],
//   - [WithCancel], and the clock's WithTimeout and WithDeadline, instead of
//     package context's constructors (context.WithValue is fine),
//   - sorted keys instead of ranging over a map where the order can show.
//
// # Waiting
//
// A task that waits is parked by its [Runtime], the small interface on which
// everything in this package that blocks is built. [Chan], [Select], [Mutex] and
// [WaitGroup] are written once, here, against Runtime; a new kind of host gets
// them by implementing it.
//
// # Checks that stay in production code
//
// Always, Sometimes, Reachable and Unreachable state what must hold, and what
// rare situations tests ought to reach. Buggify asks the simulator whether to
// take a rare but legal path. On a production host they cost next to nothing and
// Buggify is always false. The idea is FoundationDB's and Antithesis's.
package host
