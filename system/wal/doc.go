// Package wal is a log of records on a host's disk, from which a service's state is made anew when
// its process starts.
//
//	log, err := wal.Open(h, "", "coord.log", magic, func(record []byte) error { return state.replay(record) })
//	undone, err := log.Append(record)   // durable when err is nil
//	err = log.Rewrite(snapshot)         // the same state in fewer bytes
//
// A record is written at once and synced before the next is written. So after a crash only the last
// can be incomplete: a torn tail, of which nobody was told that it is durable, and which is cut off.
// An invalid record with valid ones after it has another cause, and is reported as [ErrCorrupt]
// rather than skipped. What can't be told from a torn tail is damage to the very last record.
//
// A record has [MaxRecord] bytes at most. What they mean is up to the service; [Encode] makes them of
// values. A Log is used by one task.
package wal
