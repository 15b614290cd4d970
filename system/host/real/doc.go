// Package real is a host.Host on the operating system: what code written against package host is
// deployed on.
//
//	h, err := real.New(real.Config{
//		Name:   "blob",
//		Dir:    "/var/lib/blob",
//		Listen: ":7100",
//		Peers:  real.NewBook(map[string]string{"blob": "10.0.0.7:7100", "api": "10.0.0.8:7100"}),
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	h.Go("serve", func() { persist.ServeBlob(h, "persist") })
//	<-interrupted
//	h.Close()
//
// # What stands for what
//
//   - A task is a goroutine, labelled with its name for profiles and stack dumps. A panic in one is
//     logged and ends the program, as any does.
//   - The clock is the machine's, and timers are package time's.
//   - Connections are TCP, datagrams UDP, all to the one address of [Config].Listen: which port of
//     package host is meant is said inside, so that ports have names and cost nothing.
//   - The disk is a directory. Sync and SyncDir are fsync.
//   - A [Host] is one life of the process. Lives are counted in the directory, and are told apart by
//     it. A directory belongs to one Host at a time.
//   - Checks are counted, and those that fail are logged and given to Config.OnViolation.
//
// # Death
//
// [Host.Close] ends a life as a crash does in simulation: what waits is unwound, running its deferred
// calls, and nothing that it still does has any effect. Connections that were closed before still
// deliver what was sent on them. It is the way to end a host in a test; a program may as well exit.
// What waits must be a task to be unwound: other goroutines, such as that of main, can use a host, but
// panic when it is closed while they wait.
//
// # The network is trusted
//
// Nothing is encrypted and nobody is asked who he is: who can reach the address can speak for any
// machine. Between machines that do not trust each other's network, tunnel it.
package real
