package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// ErrCorrupt: the log is damaged elsewhere than at its end, or holds a record that makes no sense.
// Restore it from a copy.
var ErrCorrupt = errors.New("wal: the log is corrupt")

// ErrTooLong: a record is longer than MaxRecord. Nothing was written.
var ErrTooLong = errors.New("wal: the record is too long")

// errDirty is inside the errors of an Append that was not tried.
var errDirty = errors.New("an earlier write failed and could not be undone yet")

// Log is an append-only file of records.
type Log struct {
	h     host.Host
	dir   string
	name  string
	magic Magic
	file  host.File
	size  int64  // up to the end of the last valid record
	next  uint64 // number of the next record
	// dirty: an operation failed, and neither what lies after size is known, nor whether the file's
	// name is durable.
	dirty bool
	// renamed: a renaming failed, and it is not known which file has the log's name. Both stand for
	// the same state.
	renamed bool
}

// Open opens the log of that name in a directory, "" for the root, making an empty one when there is
// none, and calls replay with each record in order. It fails with ErrCorrupt, also when replay fails or
// the records have another magic, or with the disk's error.
func Open(h host.Host, dir, name string, magic Magic, replay func(record []byte) error) (*Log, error) {
	l := &Log{h: h, dir: dir, name: name, magic: magic, next: 1}
	disk := h.Disk()
	if err := disk.Remove(l.temporary()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := disk.Open(l.path(), host.Create)
	if err != nil {
		return nil, err
	}
	l.file = file
	content, err := host.ReadFile(disk, l.path())
	if err == nil {
		err = l.recover(content, replay)
	}
	if err == nil {
		err = l.vouch(content[:l.size])
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// vouch makes sure that what was replayed is on the disk, and nothing after it. It is written again:
// after a sync that failed for an earlier process it may be in the system's memory only, where reads see
// it, and what the system has given up no other sync writes.
func (l *Log) vouch(replayed []byte) error {
	if _, err := l.file.WriteAt(replayed, 0); err != nil {
		return err
	}
	l.dirty = true // the tail has to go, and the name may be new
	return l.repair()
}

// Size is the log's length in bytes.
func (l *Log) Size() int64 { return l.size }

// Close closes the log's file.
func (l *Log) Close() error { return l.file.Close() }

func (l *Log) path() string { return join(l.dir, l.name) }

func (l *Log) temporary() string { return join(l.dir, l.name+".new") }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// recover replays the valid records and sets size and next to where they end.
func (l *Log) recover(content []byte, replay func([]byte) error) error {
	for first := true; ; first = false {
		number, payload, ok := l.magic.parseFrame(content[l.size:])
		if !ok || !first && number != l.next {
			break
		}
		if err := replay(payload); err != nil {
			return fmt.Errorf("%w: %s: record %d: %w", ErrCorrupt, l.path(), number, err)
		}
		l.next = number + 1
		l.size += Overhead + int64(len(payload))
	}
	if l.size == int64(len(content)) {
		return nil
	}
	if l.size == 0 && len(content) >= len(l.magic) {
		other := Magic(content[:len(l.magic)])
		if _, _, ok := other.parseFrame(content); ok {
			return fmt.Errorf("%w: %s: it begins with a record of a log of magic %q, this one's is %q: open it as the service that wrote it",
				ErrCorrupt, l.path(), other[:], l.magic[:])
		}
	}
	if at, number, found := l.magic.findFrame(content[l.size:], l.next); found {
		return fmt.Errorf("%w: %s: no valid record %d at byte %d, but record %d follows at byte %d: restore the log from a copy",
			ErrCorrupt, l.path(), l.next, l.size, number, l.size+int64(at))
	}
	l.h.Sometimes("wal: a torn tail was cut off", true)
	l.h.Logf("wal: %s: %d bytes after record %d were never acknowledged and are cut off", l.path(), int64(len(content))-l.size, l.next-1)
	return nil
}

// Append makes a record durable. When it fails, undone tells whether it surely left nothing behind:
// otherwise the record may turn up when the log is next opened, unless a later Append succeeds first. It
// fails with ErrTooLong or the disk's error.
func (l *Log) Append(record []byte) (undone bool, err error) {
	if err := l.fits(record); err != nil {
		return true, err
	}
	if err := l.repair(); err != nil {
		return true, fmt.Errorf("%w: %w", errDirty, err)
	}
	frame := l.magic.buildFrame(l.next, record)
	_, err = l.file.WriteAt(frame, l.size)
	if err == nil && l.h.Buggify("wal/a sync takes long") {
		delay := time.Duration(l.h.Rand().Int64N(int64(2 * time.Second)))
		if delay%16 != 0 {
			delay /= 16 // one in sixteen is longer than clients wait
		}
		l.h.Clock().Sleep(delay)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		// After a failed sync nobody knows which of the bytes are on the disk, and a second sync that
		// succeeds does not say that they are. So the record is taken back.
		l.h.Sometimes("wal: a write failed", true)
		l.dirty = true
		return l.repair() == nil, err
	}
	l.size += int64(len(frame))
	l.next++
	return false, nil
}

// fits tells whether a frame can hold the record.
func (l *Log) fits(record []byte) error {
	if len(record) > MaxRecord {
		return fmt.Errorf("%w: %s: %d bytes, %d are the most", ErrTooLong, l.path(), len(record), MaxRecord)
	}
	return nil
}

// repair takes back whatever lies after the last valid record and makes the name durable.
func (l *Log) repair() error {
	if !l.dirty {
		return nil
	}
	if l.renamed {
		if err := l.reopen(); err != nil {
			return err
		}
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	if err := l.h.Disk().SyncDir(l.dir); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

// reopen opens whichever file has the log's name.
func (l *Log) reopen() error {
	file, err := l.h.Disk().Open(l.path(), host.ReadWrite)
	if err != nil {
		return err
	}
	content, err := host.ReadFile(l.h.Disk(), l.path())
	if err != nil {
		file.Close()
		return err
	}
	l.file.Close()
	l.file, l.size = file, 0
	if err := l.recover(content, func([]byte) error { return nil }); err != nil {
		return err
	}
	l.renamed = false
	return nil
}

// Rewrite replaces the log by one of the given records, which must stand for the same state. When it
// fails the log goes on, as the old one or as the new. It fails with ErrTooLong or the disk's error.
func (l *Log) Rewrite(records ...[]byte) error {
	for _, record := range records {
		if err := l.fits(record); err != nil {
			return err
		}
	}
	// With a record that is to be taken back the two logs would not stand for the same.
	if err := l.repair(); err != nil {
		return err
	}
	disk := l.h.Disk()
	file, err := disk.Open(l.temporary(), host.CreateTruncate)
	if err != nil {
		return err
	}
	next, size := l.next, int64(0)
	for _, record := range records {
		frame := l.magic.buildFrame(next, record)
		if _, err := file.WriteAt(frame, size); err != nil {
			file.Close()
			return err
		}
		next++
		size += int64(len(frame))
	}
	if err := file.Sync(); err != nil {
		file.Close()
		return err
	}
	if err := disk.Rename(l.temporary(), l.path()); err != nil {
		file.Close()
		l.dirty, l.renamed = true, true
		return err
	}
	l.file.Close()
	l.file, l.next, l.size = file, next, size
	// Until the directory is durable a crash may bring the old log back, which is as good as the new
	// one until a record is added. Adding one repairs first.
	l.dirty = true
	return l.repair()
}
