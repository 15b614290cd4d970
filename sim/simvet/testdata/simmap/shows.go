package simmap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simrun-dev/simrun/sim/simvet/testdata/ledger"
	"github.com/simrun-dev/simrun/system/host"
)

type item struct {
	name   string
	n      int
	weight float64
	next   *item
	rng    interface{ Pick() int }
}

type table struct {
	h     host.Host
	items map[string]*item
	conns map[string]host.Conn
	total int
	last  string
	n     int
}

func (t *table) sends(ctx context.Context) {
	for _, c := range t.conns { // want `map t.conns is visited in an order that the seed does not decide, and the order shows: the loop calls c.Send \(line 38\): range over slices.Sorted\(maps.Keys\(t.conns\)\) \(simmap\)`
		_ = c.Send(ctx, nil)
	}
	for name := range t.items { // want `the loop calls t.h.Logf \(line 41\)`
		t.h.Logf("%s", name)
	}
	for name := range t.items { // want `the loop calls t.h.Go`
		t.h.Go(name, func() {})
	}
	for _, it := range t.items { // want `the loop calls t.h.Rand\(\).IntN, which draws from it`
		it.n = t.h.Rand().IntN(3)
	}
	for _, it := range t.items { // want `the loop calls it.rng.Pick, which may do anything`
		it.n = it.rng.Pick()
	}
}

func (t *table) calls(callbacks map[string]func(), w io.Writer, l *ledger.Ledger, each func(string)) {
	for _, f := range callbacks { // want `the loop calls f, a function that may do anything`
		f()
	}
	for name := range t.items { // want `the loop calls each, a function that may do anything`
		each(name)
	}
	for name := range t.items { // want `the loop calls fmt.Fprintln, which writes to it`
		fmt.Fprintln(w, name)
	}
	for name := range t.items { // want `the loop calls l.Append, which appends to l.Log, which is not sorted afterwards`
		l.Append(name)
	}
	for name := range t.items { // want `the loop calls l.Keep, which sets l.Last`
		l.Keep(name)
	}
	for name := range t.items { // want `the loop calls l.Report, which calls l.H.Logf`
		l.Report(name)
	}
	for _, it := range t.items { // want `the loop calls l.Even, which calls l.H.Logf`
		l.Even(it.n)
	}
	for _, it := range t.items { // want `the loop uses the result of l.Next, which is another with each call`
		it.n = l.Next()
	}
	for name := range t.items { // want `the loop calls t.remember, which sets t.last`
		t.remember(name)
	}
	log := func(s string) { t.h.Logf("%s", s) }
	for name := range t.items { // want `the loop calls log, which calls t.h.Logf`
		log(name)
	}
}

func (t *table) remember(name string) { t.last = name }

func (t *table) appends() ([]string, []int) {
	var names, counts []string
	for name := range t.items { // want `the loop appends to names, which is not sorted afterwards`
		names = append(names, name)
	}
	sizes := make([]int, 0, len(t.items))
	for _, it := range t.items { // want `the loop appends to sizes, which is not sorted afterwards`
		sizes = append(sizes, it.n)
	}
	slices.Sort(counts)
	return names, sizes
}

func (t *table) groups() map[int][]string {
	byN := map[int][]string{}
	for name, it := range t.items { // want `the loop appends to byN\[it.n\], which is not sorted afterwards`
		byN[it.n] = append(byN[it.n], name)
	}
	return byN
}

func (t *table) builds() (string, float64) {
	s, sum := "", 0.0
	var b strings.Builder
	for name := range t.items { // want `the loop builds the string s`
		s += name
	}
	for name := range t.items { // want `the loop calls b.WriteString, which writes to it`
		b.WriteString(name)
	}
	for _, it := range t.items { // want `the loop adds up floating-point numbers in sum, whose rounding depends on the order`
		sum += it.weight
	}
	perN := map[int]float64{}
	for _, it := range t.items { // want `the loop adds up floating-point numbers in perN\[it.n\]`
		perN[it.n] += it.weight
	}
	return s + b.String(), sum + perN[0]
}

func (t *table) keeps() (string, error) {
	var last string
	for name := range t.items { // want `the loop keeps the first or the last entry visited in last`
		last = name
	}
	var err error
	for name := range t.items { // want `the loop keeps the first or the last entry visited in err`
		err = errors.Join(err, errors.New(name))
	}
	for t.last = range t.items { // want `the loop leaves the last entry visited in t.last`
	}
	var first *item
	for _, it := range t.items { // want `the loop keeps the first or the last entry visited in first`
		if first == nil {
			first = it
		}
	}
	buf := make([]byte, 1)
	for name := range t.items { // want `the loop copies to buf`
		copy(buf, name)
	}
	return last + first.name + string(buf), err
}

func (t *table) leaves(limit int) (string, error) {
	for name, it := range t.items { // want `the loop returns name for whichever entry comes first`
		if it.n > limit {
			return name, nil
		}
	}
	for name, it := range t.items { // want `the loop returns fmt.Errorf\("%s", name\) for whichever entry comes first`
		if it.n < 0 {
			return "", fmt.Errorf("%s", name)
		}
	}
	for name := range t.items { // want `the loop is left early, and what it did until then depends on the order`
		delete(t.items, name)
		break
	}
	n := 0
	for _, it := range t.items { // want `the loop is left early`
		n += it.n
		if it.n > limit {
			break
		}
	}
outer:
	for range 3 {
		for _, it := range t.items { // want `the loop is left early`
			it.n++
			if it.n > 3 {
				continue outer
			}
		}
	}
	for _, it := range t.items { // want `the loop is left early`
		if it.n == 0 {
			it.n = 1 // one of the free ones, but which?
			return "", nil
		}
	}
	return "", nil
}

func (t *table) progress() map[string]int {
	ids, n := map[string]int{}, 0
	for name := range t.items { // want `the loop uses n, which depends on the entries visited before`
		ids[name] = n
		n++
	}
	out := make([]string, len(t.items))
	for name := range t.items { // want `the loop keeps the first or the last entry visited in out\[n\]`
		out[n] = name
		n++
	}
	for _, it := range t.items { // want `the loop uses t.total, which depends on the entries visited before`
		t.total += it.n
		if t.total > 100 {
			it.next = nil
		}
	}
	x := 1
	for _, it := range t.items { // want `the loop changes x in several ways, which do not swap`
		x += it.n
		x *= 2
	}
	for name := range t.items { // want `the loop adds entries to t.items while it ranges over it, which are visited or not`
		t.items[name+"'"] = nil
	}
	for _, it := range t.items { // want `the loop removes other entries of t.items, which were visited or not`
		delete(t.items, it.next.name)
	}
	ids[strings.Join(out, " ")] = n
	return ids
}

func (t *table) ties() (best *item, bestName string) {
	for _, it := range t.items { // want `the loop sets best to the first or last of those that compare equal: let the key decide between them`
		if best == nil || it.n > best.n {
			best = it
		}
	}
	most := 0
	for name, it := range t.items { // want `the loop sets bestName to the first or last of those that compare equal`
		if it.n > most {
			most, bestName = it.n, name
		}
	}
	return best, bestName
}

func (t *table) concurrent(c chan string, wait time.Duration) {
	for name := range t.items { // want `the loop sends on a channel`
		c <- name
	}
	for name := range t.items { // want `the loop receives from a channel`
		_ = name + <-c
	}
	for name := range t.items { // want `the loop starts goroutines`
		go t.remember(name)
	}
	for _, it := range t.items { // want `the loop calls t.h.Clock\(\).Sleep`
		t.h.Clock().Sleep(wait * time.Duration(it.n))
	}
}

func sequences(m map[string]int, h host.Host, list []string) []string {
	for name := range maps.Keys(m) { // want `map m is visited in an order`
		h.Logf("%s", name)
	}
	for n := range maps.Values(m) { // want `map m is visited in an order`
		h.Logf("%d", n)
	}
	for name, n := range maps.All(m) { // want `map m is visited in an order`
		h.Logf("%s %d", name, n)
	}
	list = slices.AppendSeq(list, maps.Keys(m))                             // want `slices.AppendSeq has the entries of m in an order that the seed does not decide`
	fmt.Fprint(io.Discard, strings.Join(slices.Collect(maps.Keys(m)), " ")) // want `slices.Collect has the entries of m in an order`
	names := slices.Collect(maps.Keys(m))                                   // want `slices.Collect has the entries of m in an order`
	return append(list, names...)
}

func generic[M ~map[K]V, K comparable, V any](m M, each func(K)) {
	for k := range m { // want `map m is visited`
		each(k)
	}
}

func numbers[N int | float64](m map[string]N) (sum N) {
	for _, n := range m { // want `the loop adds up sum, whose type may be one of floating-point numbers`
		sum += n
	}
	return sum
}

func concurrentMap(m *sync.Map, h host.Host) (n int) {
	m.Range(func(k, v any) bool { // want `sync.Map m is visited in an order that the seed does not decide, and the order shows: the loop calls h.Logf`
		h.Logf("%v", k)
		return true
	})
	m.Range(func(k, v any) bool { // want `the loop is left early`
		n++
		return k != v
	})
	m.Range(func(k, v any) bool { // want `the loop uses n, which depends on the entries visited before`
		n++
		return n < 3
	})
	return n
}

func (t *table) visits(lists map[string][]string) {
	for _, names := range lists { // want `the loop calls t.h.Logf`
		each(names, func(name string) { t.h.Logf("%s", name) })
	}
	for _, names := range lists { // want `the loop calls t.remember, which sets t.last`
		each(names, t.remember)
	}
}

// Only what is the same for all entries can single one out.
func (t *table) notForOneKey(h host.Host) {
	for name, it := range t.items { // want `the loop calls h.Logf`
		if name == it.name {
			h.Logf("%s", name)
		}
	}
	for name := range t.items { // want `the loop calls h.Logf`
		if name != t.last {
			h.Logf("%s", name)
		}
	}
}

func (t *table) tickets(issued *atomic.Int64) map[string]int64 {
	numbers := map[string]int64{}
	for name := range t.items { // want `the loop uses the result of issued.Add, which is another with each call`
		numbers[name] = issued.Add(1)
	}
	return numbers
}

type load struct{ records, weight float64 }

func (l load) plus(o load) load { return load{l.records + o.records, l.weight + o.weight} }

type labels string

func (l labels) add(o labels) labels { return l + o }

func addsUpRounded(loads map[string]load, texts map[string]labels) (load, labels) {
	var all load
	for _, l := range loads { // want `the loop keeps the first or the last entry visited in all`
		all = all.plus(l)
	}
	var text labels
	for _, l := range texts { // want `the loop keeps the first or the last entry visited in text`
		text = text.add(l)
	}
	return all, text
}

func appended(m map[string]int) []string {
	return append(slices.Collect(maps.Keys(m)), "last") // want `slices.Collect has the entries of m in an order`
}
