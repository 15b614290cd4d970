package sim

import "slices"

// DiskRule is something that is wrong with a machine's disk while it is in force.
type DiskRule struct {
	// Fail is how many operations, in parts per million, end in host.ErrIO. What a failed write or
	// sync did to the disk is not known.
	Fail int
	// Full makes everything that needs more room end in host.ErrNoSpace.
	Full bool
	// Delay is added to the time of each operation.
	Delay Dist
}

// AddDiskRule puts a rule in force until remove is called.
func (n *Node) AddDiskRule(r DiskRule) (remove func()) {
	rule := &r
	n.disk.rules = append(n.disk.rules, rule)
	return func() {
		if i := slices.Index(n.disk.rules, rule); i >= 0 {
			n.disk.rules = slices.Delete(n.disk.rules, i, i+1)
		}
	}
}

// Unsynced is what a crash does to writes that were not synced.
type Unsynced uint8

const (
	// UnsyncedAny: each is kept, lost or torn, as the seed says.
	UnsyncedAny Unsynced = iota
	// UnsyncedLost: all are lost.
	UnsyncedLost
	// UnsyncedTorn: of each some sectors are written.
	UnsyncedTorn
	// UnsyncedKept: all are kept.
	UnsyncedKept
)

// SetUnsynced decides what the node's coming crashes do to writes that were not synced.
func (n *Node) SetUnsynced(u Unsynced) { n.disk.unsynced = u }

// CorruptDisk flips a bit of what is durable on the node's disk, as bit rot does, and tells in which
// file; ok is false when there is nothing on it. Which bit is the stream's choice. A running process
// sees it as well, unless it has overwritten the place since.
func (n *Node) CorruptDisk(s *Stream) (name string, ok bool) {
	return n.damage(s, func(f *inode, at int64) {
		bit := byte(1) << s.N(8)
		f.stable[at] ^= bit
		if at < int64(len(f.data)) {
			f.data[at] ^= bit
		}
	})
}

// MisdirectDisk makes a sector of what is durable lie where another should be, as a write to the
// wrong place does: the two are of one file, and the stream's choice. ok is false when there is
// nothing on the disk.
func (n *Node) MisdirectDisk(s *Stream) (name string, ok bool) {
	return n.damage(s, func(f *inode, at int64) {
		from, to := at/sector*sector, int64(s.N(uint64(len(f.stable))))/sector*sector
		data := slices.Clone(f.stable[from:min(from+sector, int64(len(f.stable)))])
		copy(f.stable[to:], data)
		if to < int64(len(f.data)) {
			copy(f.data[to:], data)
		}
	})
}

// damage does something to a random byte of a random file.
func (n *Node) damage(s *Stream, do func(f *inode, at int64)) (name string, ok bool) {
	var names []string
	for name, f := range n.disk.stable {
		if len(f.stable) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	name = names[s.N(uint64(len(names)))]
	f := n.disk.stable[name]
	do(f, int64(s.N(uint64(len(f.stable)))))
	n.w.emitText(EventFault, n.number, "disk of "+n.name+" damaged in "+name)
	return name, true
}
