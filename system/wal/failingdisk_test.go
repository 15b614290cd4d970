package wal_test

import "github.com/simrun-dev/simrun/system/host"

// hostWithDisk is a host with another disk.
type hostWithDisk struct {
	host.Host
	disk host.Disk
}

func (h hostWithDisk) Disk() host.Disk { return h.disk }

// failingDisk fails one operation in rate, of those that change something; writes are then
// done, done in part, or not done.
type failingDisk struct {
	host.Disk
	h    host.Host
	rate int // 0 for never
}

func (d *failingDisk) fails() bool { return d.rate > 0 && d.h.Rand().IntN(d.rate) == 0 }

func (d *failingDisk) Open(name string, flag host.OpenFlag) (host.File, error) {
	if flag != host.ReadWrite && d.fails() {
		return nil, host.ErrIO
	}
	f, err := d.Disk.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return &failingFile{f, d}, nil
}

func (d *failingDisk) Rename(from, to string) error {
	if d.fails() {
		if d.h.Rand().IntN(2) == 0 {
			_ = d.Disk.Rename(from, to)
		}
		return host.ErrIO
	}
	return d.Disk.Rename(from, to)
}

func (d *failingDisk) Remove(name string) error {
	if d.fails() {
		return host.ErrIO
	}
	return d.Disk.Remove(name)
}

func (d *failingDisk) SyncDir(dir string) error {
	if d.fails() {
		return host.ErrIO
	}
	return d.Disk.SyncDir(dir)
}

type failingFile struct {
	host.File
	d *failingDisk
}

func (f *failingFile) WriteAt(p []byte, off int64) (int, error) {
	if f.d.fails() {
		n, _ := f.File.WriteAt(p[:f.d.h.Rand().IntN(len(p)+1)], off)
		return n, host.ErrIO
	}
	return f.File.WriteAt(p, off)
}

func (f *failingFile) Truncate(size int64) error {
	if f.d.fails() {
		return host.ErrIO
	}
	return f.File.Truncate(size)
}

func (f *failingFile) Sync() error {
	if f.d.fails() {
		return host.ErrIO
	}
	return f.File.Sync()
}
