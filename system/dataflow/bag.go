package dataflow

import (
	"slices"
	"sort"
	"strings"
)

// bag is an ordered multiset, of which counts may be negative: rows of a join's or a top-k's
// group, values of a minimum. It is a list of sorted blocks, so that a change moves at most a
// block's entries.
type bag struct {
	blocks   [][]bagEntry
	len      int // entries
	negative int // entries with a negative count
	bytes    int // length of the entries' keys
}

// bagEntry is a member. Members differ in their keys, and are sorted by them.
type bagEntry struct {
	key   string
	row   Row // what the key stands for, part of it; if the key is not the row itself
	count int64
}

// blockLen is how many entries a block has at most.
const blockLen = 128

// add changes the count of the key's member, and returns what it was.
func (b *bag) add(key string, row Row, diff int64) (before int64) {
	if diff == 0 {
		return b.count(key)
	}
	i, j, found := b.find(key)
	if !found {
		b.insert(i, j, bagEntry{key, row, diff})
		b.counted(0, diff)
		b.len++
		b.bytes += len(key)
		return 0
	}
	e := &b.blocks[i][j]
	before = e.count
	e.count += diff
	b.counted(before, e.count)
	if e.count == 0 {
		b.len--
		b.bytes -= len(e.key)
		b.blocks[i] = slices.Delete(b.blocks[i], j, j+1)
		if len(b.blocks[i]) == 0 {
			b.blocks = slices.Delete(b.blocks, i, i+1)
		}
	}
	return before
}

// addPart is add with a key that is part of something larger, not to be kept for it.
func (b *bag) addPart(key string, diff int64) (before int64) {
	if b.count(key) == 0 {
		key = strings.Clone(key)
	}
	return b.add(key, "", diff)
}

func (b *bag) counted(before, after int64) {
	if before < 0 {
		b.negative--
	}
	if after < 0 {
		b.negative++
	}
}

// count is the key's member's count.
func (b *bag) count(key string) int64 {
	if i, j, found := b.find(key); found {
		return b.blocks[i][j].count
	}
	return 0
}

// find tells where the key's member is, or belongs.
func (b *bag) find(key string) (block, place int, found bool) {
	// The last block that does not start behind the key, or else the first.
	i := max(0, sort.Search(len(b.blocks), func(i int) bool { return b.blocks[i][0].key > key })-1)
	if i == len(b.blocks) {
		return i, 0, false
	}
	j, found := slices.BinarySearchFunc(b.blocks[i], key, func(e bagEntry, key string) int { return strings.Compare(e.key, key) })
	return i, j, found
}

func (b *bag) insert(i, j int, e bagEntry) {
	if i == len(b.blocks) {
		b.blocks = append(b.blocks, nil)
	}
	block := slices.Insert(b.blocks[i], j, e)
	b.blocks[i] = block
	if len(block) > blockLen {
		half := len(block) / 2
		b.blocks = slices.Insert(b.blocks, i+1, slices.Clone(block[half:]))
		clear(block[half:])
		b.blocks[i] = block[:half]
	}
}

// all visits the members in order, until visit returns false.
func (b *bag) all(visit func(*bagEntry) bool) {
	for _, block := range b.blocks {
		for j := range block {
			if !visit(&block[j]) {
				return
			}
		}
	}
}

// first is the least member; the bag is not empty.
func (b *bag) first() *bagEntry { return &b.blocks[0][0] }

// last is the greatest member; the bag is not empty.
func (b *bag) last() *bagEntry {
	block := b.blocks[len(b.blocks)-1]
	return &block[len(block)-1]
}
