package dataflow

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// expiryQueue tells which groups are expired, by the timestamp in their keys. The zero queue
// knows of none that ever does.
type expiryQueue struct {
	*expiringColumn // within the key
	groups          expiryHeap
}

// newExpiryQueue picks, of the key's columns that expire, the one that does so first.
func newExpiryQueue(expiry []expiringColumn) expiryQueue {
	var q expiryQueue
	for _, x := range expiry {
		if q.expiringColumn == nil || x.after < q.after {
			q.expiringColumn = &x
		}
	}
	return q
}

// add notes a new group; alive tells which groups there are, of how many.
func (q *expiryQueue) add(key string, alive func(key string) bool, groups int) {
	if q.expiringColumn == nil {
		return
	}
	ts := columnOf(Row(key), q.column)
	if ts.IsNull() {
		return
	}
	// A group that ends for want of rows stays in the queue, and if it comes again it is there
	// twice. Weeding them out when they are the most keeps the queue short at no cost to speak of.
	if len(q.groups) > 2*groups+64 {
		slices.SortFunc(q.groups, func(a, b expiringGroup) int {
			return cmp.Or(cmp.Compare(a.ts, b.ts), strings.Compare(a.key, b.key))
		})
		q.groups = slices.DeleteFunc(slices.Compact(q.groups), func(g expiringGroup) bool { return !alive(g.key) })
	}
	heap.Push(&q.groups, expiringGroup{ts.num, key})
}

// expire tells forget of the groups that are expired.
func (q *expiryQueue) expire(now int64, forget func(key string)) {
	if q.expiringColumn == nil {
		return
	}
	for h := horizon(now, q.after); len(q.groups) > 0 && q.groups[0].ts < h; {
		forget(heap.Pop(&q.groups).(expiringGroup).key)
	}
}

func (q *expiryQueue) size() Size {
	return Size{Bytes: len(q.groups) * 24} // the keys are the groups' own
}

type expiringGroup struct {
	ts  int64
	key string
}

// expiryHeap is a heap by timestamp.
type expiryHeap []expiringGroup

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].ts < h[j].ts }
func (h expiryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *expiryHeap) Push(x any)        { *h = append(*h, x.(expiringGroup)) }

func (h *expiryHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = expiringGroup{}
	*h = (*h)[:last]
	return g
}
