package simmap

import (
	"container/heap"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/simrun-dev/simrun/sim/simvet/testdata/ledger"
	"github.com/simrun-dev/simrun/system/host"
)

// Nothing in this file is reported.

type set map[string]struct{}

func (s set) add(name string) { s[name] = struct{}{} }

type interval struct{ from, to int }

func (a interval) Join(b interval) interval {
	return interval{min(a.from, b.from), max(a.to, b.to)}
}

func (t *table) sortedKeys(h host.Host) []string {
	for _, name := range slices.Sorted(maps.Keys(t.items)) {
		h.Logf("%s", name)
	}
	var names []string
	for name := range t.items {
		names = append(names, name)
	}
	sort.Strings(names)

	all := make([]*item, 0, len(t.items))
	for _, it := range t.items {
		if it.n > 0 {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(a, b *item) int { return strings.Compare(a.name, b.name) })

	keys := slices.Collect(maps.Keys(t.items))
	slices.Sort(keys)
	values := slices.AppendSeq(make([]*item, 0), maps.Values(t.items))
	sort.Slice(values, func(i, j int) bool { return values[i].n < values[j].n })

	var unordered []string
	for name := range t.items {
		unordered = append(unordered, name)
	}
	return ledger.Ordered(unordered)
}

func (t *table) onlyCounted() int {
	var free []*item
	for _, it := range t.items {
		if it.next == nil {
			free = append(free, it)
		}
	}
	return len(free) + len(slices.Collect(maps.Keys(t.items)))
}

func (t *table) asASet() []string {
	var kinds []string
	for _, it := range t.items {
		if !slices.Contains(kinds, it.name) {
			kinds = append(kinds, it.name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

func (t *table) groupsSorted() map[int][]string {
	byN := map[int][]string{}
	for name, it := range t.items {
		byN[it.n] = append(byN[it.n], name)
	}
	for _, names := range byN {
		slices.Sort(names)
	}
	return byN
}

func (t *table) counts(l *ledger.Ledger) (n, sum int, bits uint64, any, all bool) {
	all = true
	var total atomic.Int64
	var mu sync.Mutex
	for name, it := range t.items {
		n++
		sum += it.n
		sum = sum - len(name)
		t.total += ledger.Double(it.n)
		bits |= 1 << it.n
		any = any || it.n > 3
		all = all && it.n > 3
		l.Count(it.n)
		if err := l.Add(it.n); err != nil {
			n++
		}
		total.Add(int64(it.n))
		mu.Lock()
		t.n++
		mu.Unlock()
	}
	return n, sum, bits, any, all
}

func (t *table) moves(names set, l *ledger.Ledger) map[int]string {
	byN, copied := map[int]string{}, map[string]*item{}
	for name, it := range t.items {
		copied[name] = it
		byN[it.n] = name
		names.add(name)
		names[it.name] = struct{}{}
		l.Set(name, it.n)
		delete(t.conns, name)
		if it.n == 0 {
			delete(t.items, name)
		}
	}
	list := make([]int, 10)
	for i, weight := range map[int]float64{1: 2} {
		list[i] = int(weight)
	}
	maps.Copy(copied, t.items)
	return byN
}

func (t *table) changesEach(now int) {
	for name, it := range t.items {
		it.n = now
		it.weight += 0.5
		it.reset(name)
		next := it.next
		next.name += "x"
		t.items[name] = it
		words := []string{}
		for word := range strings.FieldsSeq(it.name) {
			words = append(words, word)
		}
		it.name = strings.Join(words, " ")
		e := t.items[name]
		e.weight *= 2
	}
}

func (it *item) reset(name string) { it.name, it.next = name, nil }

func (t *table) asks(name string) bool {
	for _, it := range t.items {
		if it.name == name {
			return true
		}
	}
	found := false
	for _, it := range t.items {
		if it.name == name {
			found = true
			break
		}
	}
loop:
	for _, it := range t.items {
		switch it.n {
		case 0:
			break
		case 1:
			continue loop
		}
		for range it.n {
			break
		}
	}
	return found
}

func (t *table) extremes() (best *item, most int, least string, covered interval) {
	for name, it := range t.items {
		most = max(most, it.n)
		if least == "" || name < least {
			least = name
		}
		covered = covered.Join(interval{it.n, it.n})
	}
	var bestName string
	for name, it := range t.items {
		if best == nil || it.n > best.n || it.n == best.n && name < bestName {
			best, bestName = it, name
		}
	}
	oldest := slices.Min(slices.Collect(maps.Keys(t.items)))
	_ = oldest
	return best, most, least, covered
}

func (t *table) theOnlyOne() string {
	if len(t.items) == 1 {
		for name := range t.items {
			return name
		}
	}
	return ""
}

func (t *table) asOften(h host.Host) {
	for range t.items {
		h.Logf("tick")
	}
}

func (t *table) checks(h host.Host) {
	for name, it := range t.items {
		h.Always("items are positive", it.n >= 0, "item %s is not", name)
		h.Sometimes("an item is large", it.n > 100)
		if it.next == it {
			panic("item " + name + " is its own next")
		}
	}
}

type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].n < q[j].n }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*item)) }
func (q *queue) Pop() any {
	old := *q
	*q = old[:len(old)-1]
	return old[len(old)-1]
}

func (t *table) prioritized() *queue {
	q := &queue{}
	for _, it := range t.items {
		heap.Push(q, it)
	}
	return q
}

type stage interface{ done() bool }

type first struct{ ok bool }

func (f *first) done() bool { return f.ok }

func interfaces(stages map[string]stage, errs map[string]error) (open int, texts map[string]string) {
	texts = map[string]string{}
	for _, s := range stages {
		if !s.done() {
			open++
		}
	}
	for name, err := range errs {
		texts[name] = err.Error()
	}
	return open, texts
}

func syncMap(m *sync.Map) (n int) {
	m.Range(func(k, v any) bool {
		n++
		return true
	})
	(m.Range)(func(k, v any) bool { return true })
	m.Range(func(k, v any) (goOn bool) {
		goOn = k != nil
		return
	})
	return n
}

// sorts fills a list by counting, and sorts it.
func (t *table) fills() []string {
	names, i := make([]string, len(t.items)), 0
	for name := range t.items {
		names[i] = name
		i++
	}
	sort.Strings(names)
	return names
}

func (t *table) forOneKey(h host.Host, wanted string) (found *item) {
	var other []string
	for name, it := range t.items {
		if name != wanted {
			other = append(other, name)
		} else {
			found = it
		}
	}
	sort.Strings(other)
	for name, it := range t.items {
		if it.n > 0 && name == wanted {
			h.Logf("%s", name)
			return it
		}
	}
	return found
}

// longest has a named result that it sets as it goes.
func longest(names []string) (found string) {
	for _, name := range names {
		if len(name) > len(found) {
			found = name
		}
	}
	return found
}

func (t *table) namedResults(lists map[string][]string) (total int) {
	for _, names := range lists {
		total += len(longest(names))
	}
	return total
}

func each(names []string, visit func(string)) {
	for _, name := range names {
		visit(name)
	}
}

func (t *table) visitors(lists map[string][]string) (total int) {
	for _, names := range lists {
		each(names, func(name string) { total += len(name) })
	}
	return total
}

func (t *table) ownRandomness(sources map[string]*rand.Rand) map[string]int {
	drawn, addrs, missing := map[string]int{}, map[string]string{}, 0
	for name, r := range sources {
		drawn[name] = r.IntN(6) + rand.New(rand.NewPCG(1, uint64(len(name)))).IntN(6)
		addrs[name] = net.JoinHostPort(name, "1")
	}
	for _, err := range map[string]error{"a": nil} {
		if os.IsNotExist(err) {
			missing++
		}
	}
	return drawn
}

type size struct {
	records, bytes int
	perLevel       [3]uint32
}

func (s size) plus(o size) size {
	return size{records: s.records + o.records, bytes: s.bytes + o.bytes}
}

func addsUp(sizes map[string]size, numbered map[uint64]bool) (size, uint64) {
	var all size
	for _, s := range sizes {
		all.records++
		all = all.plus(s)
	}
	return all, slices.Max(append(slices.Collect(maps.Keys(numbered)), 0))
}
