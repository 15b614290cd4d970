package sim

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/system/host"
)

// DiskConfig is how long operations take.
type DiskConfig struct {
	Read, Write, Sync Dist
}

// DefaultDisk is a solid-state disk of a busy machine.
func DefaultDisk() DiskConfig {
	return DiskConfig{
		Read:  Between(50*time.Microsecond, 200*time.Microsecond),
		Write: Between(20*time.Microsecond, 100*time.Microsecond),
		Sync:  Exp(300*time.Microsecond, 700*time.Microsecond),
	}
}

func (c *DiskConfig) setDefaults() {
	d := DefaultDisk()
	for _, f := range []struct{ have, want *Dist }{{&c.Read, &d.Read}, {&c.Write, &d.Write}, {&c.Sync, &d.Sync}} {
		if *f.have == (Dist{}) {
			*f.have = *f.want
		}
	}
}

// disk is a machine's file system: what its processes see, and what of that a crash would leave.
//
// The model is that of host.Disk. A file's contents and a directory's entries each have a present
// state and a durable one; an operation changes the present state and is remembered until a sync
// carries it over to the durable one. At a crash each remembered write is kept, lost or torn at a
// sector, on its own; of the remembered changes of each directory a prefix is kept, since file
// systems journal those in order.
type disk struct {
	timing  *Stream // what an operation's duration is
	outcome *Stream // what a crash leaves
	dir     map[string]*inode
	dirs    map[string]int // how many files are in each directory, and below
	stable  map[string]*inode
	dirOps  []dirOp

	rules    []*DiskRule
	failing  uint64 // stream key of which operations fail
	ops      uint64 // so far; an operation's number addresses that decision
	unsynced Unsynced
}

type inode struct {
	data    []byte
	stable  []byte
	pending []write
}

type write struct {
	off      int64
	data     []byte
	truncate bool // off is the new length
}

// dirOp is a change of entries: the name now stands for the inode, or for none.
type dirOp struct {
	names  [2]string
	inodes [2]*inode
	n      int // 2 for a rename, which is atomic
}

const sector = 512

// maxFile is how long a file can be: files are kept in memory, holes and all. More ends in
// host.ErrNoSpace.
const maxFile = 1 << 30

func newDisk(n *Node) *disk {
	return &disk{
		failing: n.w.streamKey("disk", n.name, "fail"),
		timing:  n.w.NewStream("disk", n.name, "time"),
		outcome: n.w.NewStream("disk", n.name, "crash"),
		dir:     map[string]*inode{},
		dirs:    map[string]int{},
		stable:  map[string]*inode{},
	}
}

func (f *inode) apply(to *[]byte, o write) {
	if o.truncate {
		*to = resize(*to, o.off)
		return
	}
	if end := o.off + int64(len(o.data)); end > int64(len(*to)) {
		*to = resize(*to, end)
	}
	copy((*to)[o.off:], o.data)
}

func resize(p []byte, size int64) []byte {
	if size <= int64(len(p)) {
		clear(p[size:])
		return p[:size]
	}
	return append(p, make([]byte, size-int64(len(p)))...)
}

func (f *inode) do(o write) {
	f.apply(&f.data, o)
	f.pending = append(f.pending, o)
}

// failSync is a sync that failed: the kernel has tried to write what was pending and will not try
// again, whether or not it got to the disk. Reads still see it; a later sync that succeeds says
// nothing about it. That is how Linux behaves, as PostgreSQL's developers found out in 2018.
func (f *inode) failSync(d *disk) {
	for _, o := range f.pending {
		if d.outcome.N(2) == 0 {
			f.apply(&f.stable, o)
		}
	}
	f.pending = f.pending[:0]
}

func (f *inode) sync() {
	for _, o := range f.pending {
		f.apply(&f.stable, o)
	}
	f.pending = f.pending[:0]
}

func (d *disk) change(o dirOp) {
	for i := range o.n {
		if d.dir[o.names[i]] != nil {
			d.countIn(o.names[i], -1)
		}
		if o.inodes[i] != nil {
			d.countIn(o.names[i], 1)
		}
		setEntry(d.dir, o.names[i], o.inodes[i])
	}
	d.dirOps = append(d.dirOps, o)
}

func (d *disk) countIn(name string, n int) {
	for dir := parent(name); dir != ""; dir = parent(dir) {
		d.dirs[dir] += n
	}
}

// clashes tells whether a file can't have the name, since a directory has it, or a file has that of
// one of its directories.
func (d *disk) clashes(name string) bool {
	for dir := parent(name); dir != ""; dir = parent(dir) {
		if d.dir[dir] != nil {
			return true
		}
	}
	return d.dirs[name] > 0
}

func setEntry(m map[string]*inode, name string, f *inode) {
	if f == nil {
		delete(m, name)
	} else {
		m[name] = f
	}
}

func (o *dirOp) isIn(dir string) bool {
	return parent(o.names[0]) == dir || o.n == 2 && parent(o.names[1]) == dir
}

func (o *dirOp) concerns(name string) bool {
	return o.names[0] == name || o.n == 2 && o.names[1] == name
}

func (d *disk) syncDir(dir string) { d.settleDir(dir, len(d.dirOps)) }

// settleDir makes the first n changes of a directory durable.
func (d *disk) settleDir(dir string, n int) {
	for ; n > 0; n-- {
		i := slices.IndexFunc(d.dirOps, func(o dirOp) bool { return o.isIn(dir) })
		if i < 0 {
			return
		}
		d.settle(i)
	}
}

// settle makes one change durable. Changes in other directories that came before, of names that
// this one changes as well, have become meaningless.
func (d *disk) settle(i int) {
	o := d.dirOps[i]
	rest := d.dirOps[:0]
	for k, e := range d.dirOps {
		superseded := k < i && (e.concerns(o.names[0]) || o.n == 2 && e.concerns(o.names[1]))
		if k != i && !superseded {
			rest = append(rest, e)
		}
	}
	d.dirOps = rest
	for k := range o.n {
		setEntry(d.stable, o.names[k], o.inodes[k])
	}
}

// crash leaves what was synced, and of the rest what the seed says.
func (d *disk) crash() {
	for _, dir := range d.changedDirs() {
		count := 0
		for _, o := range d.dirOps {
			if o.isIn(dir) {
				count++
			}
		}
		keep := int(d.outcome.N(uint64(count) + 1))
		switch d.unsynced {
		case UnsyncedLost:
			keep = 0
		case UnsyncedKept:
			keep = count
		}
		d.settleDir(dir, keep)
	}
	d.dirOps = nil
	names := make([]string, 0, len(d.stable))
	for name := range d.stable {
		names = append(names, name)
	}
	sort.Strings(names)
	d.dir = make(map[string]*inode, len(names))
	d.dirs = map[string]int{}
	for _, name := range names {
		f := d.stable[name]
		d.dir[name] = f
		d.countIn(name, 1)
		for _, o := range f.pending {
			d.crashWrite(f, o)
		}
		f.pending = nil
		f.data = slices.Clone(f.stable)
	}
}

// changedDirs are the directories with changes that are not durable, sorted.
func (d *disk) changedDirs() []string {
	var dirs []string
	for _, o := range d.dirOps {
		for i := range o.n {
			dirs = append(dirs, parent(o.names[i]))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// crashWrite decides what became of a write that was not synced.
func (d *disk) crashWrite(f *inode, o write) {
	fate := d.outcome.N(4)
	switch d.unsynced {
	case UnsyncedLost:
		fate = 0
	case UnsyncedTorn:
		fate = 1
	case UnsyncedKept:
		fate = 2
	}
	switch fate {
	case 0: // lost
	case 1: // torn: some of its sectors were written
		if o.truncate {
			return
		}
		for off, end := int64(0), int64(0); off < int64(len(o.data)); off = end {
			end = min(off+sector-(o.off+off)%sector, int64(len(o.data)))
			if d.outcome.N(2) == 0 {
				f.apply(&f.stable, write{off: o.off + off, data: o.data[off:end]})
			}
		}
	default:
		f.apply(&f.stable, o)
	}
}

func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return ""
}

// processDisk is a node's disk as one of its processes sees it.
type processDisk process

const (
	diskOpen = iota + 1
	diskRename
	diskRemove
	diskList
	diskSyncDir
	diskRead
	diskWrite
	diskTruncate
	diskSync
)

var diskOpNames = [...]string{
	0: "wipe", diskOpen: "open", diskRename: "rename", diskRemove: "remove", diskList: "list", diskSyncDir: "syncdir",
	diskRead: "read", diskWrite: "write", diskTruncate: "truncate", diskSync: "sync",
}

// take makes an operation take its time and puts it into the trace. It returns host.ErrIO when a
// rule makes the operation fail.
func (d *processDisk) take(op int, how Dist, size int, content uint64) error {
	p := (*process)(d)
	w, disk := p.w, p.node.disk
	w.checkAlive()
	t := w.cur
	if t == nil {
		panic("sim: code outside tasks can't use a disk: start a task with Go")
	}
	w.emit(EventDisk, p.node.number, uint64(op)<<48|uint64(size), content)
	disk.ops++
	span := how.Sample(disk.timing.Uint64())
	failed := false
	for i, r := range disk.rules {
		word := derive(w.choice(disk.failing, disk.ops), uint64(i))
		failed = failed || scale(word, million) < uint64(r.Fail)
		if r.Delay != (Dist{}) {
			span += r.Delay.Sample(mix(word))
		}
	}
	if w.sleep(t, int64(span)) && !t.co.yield(struct{}{}) {
		runtime.Goexit()
	}
	if failed {
		return host.ErrIO
	}
	return nil
}

// full tells whether the disk takes no more bytes.
func (d *disk) full() bool {
	for _, r := range d.rules {
		if r.Full {
			return true
		}
	}
	return false
}

func (d *processDisk) disk() *disk { return d.node.disk }

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func checkDir(op, dir string) error {
	if dir == "" {
		return nil
	}
	return host.CheckName(op, dir)
}

func (d *processDisk) Open(name string, flag host.OpenFlag) (host.File, error) {
	if err := host.CheckName("open", name); err != nil {
		return nil, err
	}
	if err := d.take(diskOpen, d.w.cfg.Disk.Read, int(flag), xxh3.HashString(name)); err != nil {
		return nil, pathError("open", name, err)
	}
	f := d.disk().dir[name]
	switch {
	case f == nil && flag == host.ReadWrite:
		return nil, pathError("open", name, fs.ErrNotExist)
	case f != nil && flag == host.CreateNew:
		return nil, pathError("open", name, fs.ErrExist)
	case f == nil && d.disk().clashes(name):
		return nil, pathError("open", name, fs.ErrExist)
	case f == nil && d.disk().full():
		return nil, pathError("open", name, host.ErrNoSpace)
	case f == nil:
		f = &inode{}
		d.disk().change(dirOp{names: [2]string{name}, inodes: [2]*inode{f}, n: 1})
	case flag == host.CreateTruncate && len(f.data) > 0:
		f.do(write{truncate: true})
	}
	return &file{d: d, name: name, inode: f}, nil
}

func (d *processDisk) Rename(oldName, newName string) error {
	if err := host.CheckName("rename", oldName); err != nil {
		return err
	}
	if err := host.CheckName("rename", newName); err != nil {
		return err
	}
	if err := d.take(diskRename, d.w.cfg.Disk.Write, 0, xxh3.HashString(oldName)^xxh3.HashString(newName)*golden); err != nil {
		return pathError("rename", oldName, err)
	}
	f := d.disk().dir[oldName]
	if f == nil {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	if d.disk().clashes(newName) {
		return pathError("rename", newName, fs.ErrExist)
	}
	if oldName != newName {
		d.disk().change(dirOp{names: [2]string{oldName, newName}, inodes: [2]*inode{nil, f}, n: 2})
	}
	return nil
}

func (d *processDisk) Remove(name string) error {
	if err := host.CheckName("remove", name); err != nil {
		return err
	}
	if err := d.take(diskRemove, d.w.cfg.Disk.Write, 0, xxh3.HashString(name)); err != nil {
		return pathError("remove", name, err)
	}
	if d.disk().dir[name] == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	d.disk().change(dirOp{names: [2]string{name}, n: 1})
	return nil
}

func (d *processDisk) List(dir string) ([]string, error) {
	if err := checkDir("list", dir); err != nil {
		return nil, err
	}
	if err := d.take(diskList, d.w.cfg.Disk.Read, 0, xxh3.HashString(dir)); err != nil {
		return nil, pathError("list", dir, err)
	}
	var names []string
	for name := range d.disk().dir {
		if parent(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	sort.Strings(names)
	return names, nil
}

func (d *processDisk) SyncDir(dir string) error {
	if err := checkDir("sync", dir); err != nil {
		return err
	}
	if err := d.take(diskSyncDir, d.w.cfg.Disk.Sync, 0, xxh3.HashString(dir)); err != nil {
		return pathError("sync", dir, err)
	}
	d.disk().syncDir(dir)
	return nil
}

type file struct {
	d      *processDisk
	name   string
	inode  *inode
	closed bool
}

func (f *file) check(op string) error {
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if err := f.d.take(diskRead, f.d.w.cfg.Disk.Read, len(p), uint64(off)); err != nil {
		return 0, pathError("read", f.name, err)
	}
	if off >= int64(len(f.inode.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.inode.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if err := f.check("write"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	f.d.w.checkAlive()
	disk := f.d.disk()
	tooLong := off > maxFile-int64(len(p))
	if tooLong || off+int64(len(p)) > int64(len(f.inode.data)) && disk.full() {
		if err := f.d.take(diskWrite, f.d.w.cfg.Disk.Write, 0, 0); err != nil {
			return 0, pathError("write", f.name, err)
		}
		return 0, pathError("write", f.name, host.ErrNoSpace)
	}
	if len(p) > 0 {
		// Before the time it takes, so that a crash meanwhile may leave part of it.
		f.inode.do(write{off: off, data: slices.Clone(p)})
	}
	if err := f.d.take(diskWrite, f.d.w.cfg.Disk.Write, len(p), xxh3.Hash(p)); err != nil {
		return int(disk.outcome.N(uint64(len(p)) + 1)), pathError("write", f.name, err)
	}
	return len(p), nil
}

func (f *file) Size() (int64, error) {
	if err := f.check("stat"); err != nil {
		return 0, err
	}
	return int64(len(f.inode.data)), nil
}

func (f *file) Truncate(size int64) error {
	if err := f.check("truncate"); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	if err := f.d.take(diskTruncate, f.d.w.cfg.Disk.Write, 0, uint64(size)); err != nil {
		return pathError("truncate", f.name, err)
	}
	if size > maxFile {
		return pathError("truncate", f.name, host.ErrNoSpace)
	}
	f.inode.do(write{off: size, truncate: true})
	return nil
}

func (f *file) Sync() error {
	if err := f.check("sync"); err != nil {
		return err
	}
	if err := f.d.take(diskSync, f.d.w.cfg.Disk.Sync, 0, 0); err != nil {
		f.inode.failSync(f.d.disk())
		return pathError("sync", f.name, err)
	}
	f.inode.sync()
	return nil
}

func (f *file) Close() error {
	if err := f.check("close"); err != nil {
		return err
	}
	f.closed = true
	return nil
}

// DiskFile returns the present contents of a file on the node's disk, or nil: for checks.
func (n *Node) DiskFile(name string) []byte {
	if f := n.disk.dir[name]; f != nil {
		return slices.Clone(f.data)
	}
	return nil
}

// DiskFiles are the files on the node's disk as its process sees them, by name, and their sizes in bytes: for checks.
func (n *Node) DiskFiles() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, name := range slices.Sorted(maps.Keys(n.disk.dir)) {
			if !yield(name, int64(len(n.disk.dir[name].data))) {
				return
			}
		}
	}
}

// Wipe empties the disk of a node that is down, as a replaced machine's is.
func (n *Node) Wipe() {
	if n.Up() {
		panic(fmt.Sprintf("sim: node %q is up: only a node that is down can be wiped", n.name))
	}
	n.w.emit(EventDisk, n.number, 0, 0)
	d := newDisk(n)
	d.timing, d.outcome, d.ops, d.rules, d.unsynced = n.disk.timing, n.disk.outcome, n.disk.ops, n.disk.rules, n.disk.unsynced
	n.disk = d
}
