package persist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// DiskBlob is a Blob on one machine's disk: a file for each value. A value is written to a
// file of another name, synced, renamed, and its directory synced before Set returns, so that
// a crash leaves the old value or the new one.
//
//	file = checksum (4 bytes, little-endian) value
//
// The checksum is the CRC-32C of key and value, so that a value found under another's name is
// taken for corrupt too.
type DiskBlob struct {
	h   host.Host
	dir string

	// mu is held from when a name changes until the change is durable. A reader that gets it
	// sees nothing that a crash could still take back.
	mu    *host.Mutex
	dirty bool // a change of a name could not be made durable yet
	temps uint64
}

const (
	blobSuffix   = ".blob"
	blobIncoming = "incoming"
	blobHeader   = 4
)

// OpenDiskBlob opens the store in the directory of the host's disk, which is its own.
func OpenDiskBlob(h host.Host, dir string) (*DiskBlob, error) {
	d := &DiskBlob{h: h, dir: dir, mu: host.NewMutex(h, "disk blob"), dirty: true}
	// What was on its way in when the process died is of no use.
	incoming, err := h.Disk().List(join(dir, blobIncoming))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range incoming {
		if err := h.Disk().Remove(join(join(dir, blobIncoming), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return d, nil
}

func (d *DiskBlob) path(key string) string { return join(d.dir, url.PathEscape(key)+blobSuffix) }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// settle makes the names in the directory durable, if they may not be. The caller holds mu.
func (d *DiskBlob) settle() error {
	if !d.dirty {
		return nil
	}
	if err := d.h.Disk().SyncDir(d.dir); err != nil {
		return err
	}
	d.dirty = false
	return nil
}

// Get is part of Blob.
func (d *DiskBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if ctx.Err() != nil {
		return nil, false, determinate("get", key, ctx.Err())
	}
	content, err := d.read(d.path(key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, determinate("get", key, err)
	case len(content) < blobHeader:
		return nil, false, fmt.Errorf("%w: blob %q is %d bytes", ErrCorrupt, key, len(content))
	}
	value := content[blobHeader:]
	if sum := blobChecksum(key, value); sum != binary.LittleEndian.Uint32(content) {
		return nil, false, fmt.Errorf("%w: blob %q has checksum %08x, %08x was written", ErrCorrupt, key, sum, binary.LittleEndian.Uint32(content))
	}
	return value, true, nil
}

// read returns a file's contents. A file that was opened under mu stays what it was, so the
// reading itself keeps nobody waiting.
func (d *DiskBlob) read(name string) ([]byte, error) {
	d.mu.Lock()
	err := d.settle()
	var file host.File
	if err == nil {
		file, err = d.h.Disk().Open(name, host.ReadWrite)
	}
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	if n, err := file.ReadAt(content, 0); int64(n) < size {
		return nil, err
	}
	return content, nil
}

// Set is part of Blob.
func (d *DiskBlob) Set(ctx context.Context, key string, value []byte) error {
	if ctx.Err() != nil {
		return determinate("set", key, ctx.Err())
	}
	temporary, err := d.writeTemporary(key, value)
	if err != nil {
		d.h.Disk().Remove(temporary) // or the next start does
		return determinate("set", key, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty = true
	if err := d.h.Disk().Rename(temporary, d.path(key)); err != nil {
		return indeterminate("set", key, err)
	}
	if err := d.settle(); err != nil {
		return indeterminate("set", key, err)
	}
	return nil
}

// writeTemporary writes and syncs a file with the value, under a name of its own.
func (d *DiskBlob) writeTemporary(key string, value []byte) (name string, err error) {
	d.mu.Lock()
	d.temps++
	name = join(join(d.dir, blobIncoming), strconv.FormatUint(d.temps, 10))
	d.mu.Unlock()
	file, err := d.h.Disk().Open(name, host.CreateTruncate)
	if err != nil {
		return name, err
	}
	defer file.Close()
	content := binary.LittleEndian.AppendUint32(make([]byte, 0, blobHeader+len(value)), blobChecksum(key, value))
	if _, err := file.WriteAt(append(content, value...), 0); err != nil {
		return name, err
	}
	return name, file.Sync()
}

func blobChecksum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

// Delete is part of Blob.
func (d *DiskBlob) Delete(ctx context.Context, key string) (int64, bool, error) {
	if ctx.Err() != nil {
		return 0, false, determinate("delete", key, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.settle(); err != nil {
		return 0, false, determinate("delete", key, err)
	}
	size, err := d.size(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, determinate("delete", key, err)
	}
	d.dirty = true
	if err := d.h.Disk().Remove(d.path(key)); err != nil {
		return 0, false, indeterminate("delete", key, err)
	}
	if err := d.settle(); err != nil {
		return 0, false, indeterminate("delete", key, err)
	}
	return size, true, nil
}

// size is the size of the value in the file.
func (d *DiskBlob) size(name string) (int64, error) {
	file, err := d.h.Disk().Open(name, host.ReadWrite)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Size()
	return max(0, size-blobHeader), err
}

// List is part of Blob.
func (d *DiskBlob) List(ctx context.Context, prefix string) ([]BlobInfo, error) {
	if ctx.Err() != nil {
		return nil, determinate("list", prefix, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.settle(); err != nil {
		return nil, determinate("list", prefix, err)
	}
	names, err := d.h.Disk().List(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, determinate("list", prefix, err)
	}
	var infos []BlobInfo
	for _, name := range names {
		escaped, ok := strings.CutSuffix(name, blobSuffix)
		if !ok {
			continue
		}
		key, err := url.PathUnescape(escaped)
		if err != nil || !strings.HasPrefix(key, prefix) {
			continue
		}
		size, err := d.size(join(d.dir, name))
		if err != nil {
			return nil, determinate("list", prefix, err)
		}
		infos = append(infos, BlobInfo{Key: key, Size: size})
	}
	slices.SortFunc(infos, func(a, b BlobInfo) int { return strings.Compare(a.Key, b.Key) })
	return infos, nil
}
