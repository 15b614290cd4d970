package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// recordLog is an append-only file of frames. A frame is written at once and synced before
// the next is written, so after a crash only the last can be incomplete: a torn tail, of which
// nobody was told that it is durable, and which is cut off. An invalid frame with valid ones
// after it has another cause, and is reported as ErrCorrupt rather than skipped.
//
// What can't be told from a torn tail is damage to the very last frame.
//
//	frame   = header payload
//	header  = magic (4 bytes) number (8) length of the payload (4) checksum (4), little-endian
//
// Numbers count up from frame to frame. The checksum is the CRC-32C of number, length and
// payload.
type recordLog struct {
	h    host.Host
	dir  string
	name string
	file host.File
	size int64  // up to the end of the last valid frame
	next uint64 // number of the next frame
	// dirty: an operation failed, and what lies after size is not known, nor whether the
	// file's name is durable.
	dirty bool
	// renamed: a renaming failed, and it is not known which file has the log's name. Both
	// have the same contents.
	renamed bool
}

const (
	frameMagic  = 0x316c7273 // "srl1"
	frameHeader = 20
)

var errLogDirty = errors.New("an earlier write failed and could not be undone yet")

// openRecordLog opens the log, made empty when there is none, and calls replay with the payload of
// each frame.
func openRecordLog(h host.Host, dir, name string, replay func(payload []byte) error) (*recordLog, error) {
	l := &recordLog{h: h, dir: dir, name: name, next: 1}
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
	if err != nil {
		file.Close()
		return nil, err
	}
	if err := l.recover(content, replay); err != nil {
		file.Close()
		return nil, err
	}
	if err := l.vouch(content[:l.size]); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// vouch makes sure that what was replayed is on the disk, and nothing after it. It is written again:
// after a sync that failed for an earlier process it may be in the system's memory only, where reads see
// it, and what the system has given up no other sync writes.
func (l *recordLog) vouch(replayed []byte) error {
	if _, err := l.file.WriteAt(replayed, 0); err != nil {
		return err
	}
	l.dirty = true // the tail has to go, and the name may be new
	return l.repair()
}

func (l *recordLog) path() string      { return join(l.dir, l.name) }
func (l *recordLog) temporary() string { return join(l.dir, l.name+".new") }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// recover replays the valid frames and sets size and next to where they end.
func (l *recordLog) recover(content []byte, replay func([]byte) error) error {
	first := true
	for {
		number, payload, ok := parseFrame(content[l.size:])
		if !ok || !first && number != l.next {
			break
		}
		if err := replay(payload); err != nil {
			return fmt.Errorf("%w: %s: frame %d: %w", ErrCorrupt, l.path(), number, err)
		}
		first = false
		l.next = number + 1
		l.size += frameHeader + int64(len(payload))
	}
	if l.size == int64(len(content)) {
		return nil
	}
	if at, number, found := findFrame(content[l.size:], l.next); found {
		return fmt.Errorf("%w: %s: no valid frame %d at byte %d, but frame %d follows at byte %d: restore the log from a copy",
			ErrCorrupt, l.path(), l.next, l.size, number, l.size+int64(at))
	}
	l.h.Sometimes("persist: a torn tail was cut off a log", true)
	l.h.Logf("persist: %s: %d bytes after frame %d were never acknowledged and are cut off", l.path(), int64(len(content))-l.size, l.next-1)
	return nil
}

// append makes payload durable. When it fails, undone tells whether it surely left nothing behind.
func (l *recordLog) append(payload []byte) (undone bool, err error) {
	if err := l.repair(); err != nil {
		return true, fmt.Errorf("%w: %w", errLogDirty, err)
	}
	frame := buildFrame(l.next, payload)
	_, err = l.file.WriteAt(frame, l.size)
	if l.h.Buggify("persist/dawdle before syncing a log") {
		l.h.Clock().Sleep(time.Duration(l.h.Rand().Int64N(int64(200 * time.Millisecond))))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		// After a failed sync nobody knows which of the bytes are on the disk, and a second
		// sync that succeeds does not say that they are. So the frame is taken back.
		l.h.Sometimes("persist: a write to a log failed", true)
		l.dirty = true
		return l.repair() == nil, err
	}
	l.size += int64(len(frame))
	l.next++
	return false, nil
}

// repair takes back whatever lies after the last valid frame and makes the name durable.
func (l *recordLog) repair() error {
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
func (l *recordLog) reopen() error {
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

// rewrite replaces the log by one of the given payloads, which must stand for the same. When it
// fails the log goes on, as the old one or as the new.
func (l *recordLog) rewrite(payloads [][]byte) error {
	// With a frame that is to be taken back the two logs would not be the same.
	if err := l.repair(); err != nil {
		return err
	}
	disk := l.h.Disk()
	file, err := disk.Open(l.temporary(), host.CreateTruncate)
	if err != nil {
		return err
	}
	next, size := l.next, int64(0)
	for _, payload := range payloads {
		frame := buildFrame(next, payload)
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
	// Until the directory is durable a crash may bring the old log back, which is as good as
	// the new one until the first frame is added. Adding one repairs first.
	l.dirty = true
	return l.repair()
}

func (l *recordLog) close() error { return l.file.Close() }

func buildFrame(number uint64, payload []byte) []byte {
	frame := make([]byte, frameHeader, frameHeader+len(payload))
	binary.LittleEndian.PutUint32(frame[0:], frameMagic)
	binary.LittleEndian.PutUint64(frame[4:], number)
	binary.LittleEndian.PutUint32(frame[12:], uint32(len(payload)))
	frame = append(frame, payload...)
	binary.LittleEndian.PutUint32(frame[16:], frameChecksum(frame))
	return frame
}

func frameChecksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[4:16], castagnoli), castagnoli, frame[frameHeader:])
}

// parseFrame reads the frame at the beginning of p, if there is a valid one.
func parseFrame(p []byte) (number uint64, payload []byte, ok bool) {
	if len(p) < frameHeader || binary.LittleEndian.Uint32(p) != frameMagic {
		return 0, nil, false
	}
	length := int64(binary.LittleEndian.Uint32(p[12:]))
	if length > int64(len(p)-frameHeader) {
		return 0, nil, false
	}
	frame := p[:frameHeader+length]
	if frameChecksum(frame) != binary.LittleEndian.Uint32(p[16:]) {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(p[4:]), frame[frameHeader:], true
}

// findFrame finds the first valid frame in p of a number from least on.
func findFrame(p []byte, least uint64) (at int, number uint64, found bool) {
	magic := binary.LittleEndian.AppendUint32(nil, frameMagic)
	for {
		i := bytes.Index(p[at:], magic)
		if i < 0 {
			return 0, 0, false
		}
		at += i
		if number, _, ok := parseFrame(p[at:]); ok && number >= least {
			return at, number, true
		}
		at++
	}
}
