// Package boltstore is a persist.Consensus in one file, kept by bbolt (go.etcd.io/bbolt): the store
// for a program that has its shards on its own machine.
//
//	consensus, err := boltstore.Open("/var/lib/app/consensus.db", boltstore.Options{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer consensus.Close()
//	h, err := real.New(real.Config{Name: "app", Dir: "/var/lib/app/host"})
//	...
//	blob, err := persist.OpenDiskBlob(h, "blob")
//	client := persist.NewClient(h, blob, consensus, persist.Config{})
//
// The other half, Blob, needs no package of its own: persist.DiskBlob on a real host is a directory
// of files, each written under another name, synced, renamed, and its directory synced.
//
// # Only outside of simulations
//
// The file, the goroutine that writes it and the waiting for it are the operating system's: a
// [Store] belongs on host/real and nowhere else. In a simulation persist.DiskConsensus does the
// same on the simulated disk. Which is why every file that does so says to simvet that it may.
//
// # What is promised
//
//   - A change is answered once it is synced, and nobody can read it before: a crash of the machine
//     takes back nothing that was seen. bbolt alone shows a commit to readers while it is being
//     synced, and what a killed process left unsynced to the next; see Store.begin and Open.
//   - One task writes. The changes that reach it while it syncs become one transaction.
//   - Failures are determinate wherever the file tells that they are, see Store.judge. Only a sync
//     of the last page that fails leaves a change open; then the store fails for good ([ErrFailed]),
//     since no later sync would say what became of the pages of the one that failed.
//   - A file that another process has open is [ErrInUse], after Options.Timeout.
//   - Every version has a checksum, and [Open] reads all of them. What is damaged is
//     persist.ErrCorrupt, then or when it is read, and never a fault that ends the program. What
//     can't be told from a commit torn by a crash is damage to the newest of the two pages that
//     bbolt begins with: the store then is as it was one commit before.
package boltstore
