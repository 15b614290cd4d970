package sim

import (
	"fmt"
	"sort"
)

// checks are the assertions that processes made, by name.
type checks struct {
	w         *World
	sometimes map[string]int
	always    map[string]int
	sites     map[string]*buggifySite
}

type buggifySite struct {
	active bool
	stream Stream
}

// Two coins, as FoundationDB tosses them: a site is active in a quarter of the runs, and an active
// site fires a quarter of the times. The first coin makes runs differ from each other.
const (
	buggifyActive = 250_000
	buggifyFires  = 250_000
)

func (c *checks) init(w *World) {
	*c = checks{w: w, sometimes: map[string]int{}, always: map[string]int{}, sites: map[string]*buggifySite{}}
}

func (p *process) Always(name string, ok bool, format string, args ...any) {
	if !p.ask() {
		return
	}
	p.w.checks.always[name]++
	if !ok {
		p.w.Fail("always/"+name, "%s: %s", p.node.name, fmt.Sprintf(format, args...))
	}
}

func (p *process) Sometimes(name string, ok bool) {
	if !p.ask() {
		return
	}
	n := p.w.checks.sometimes[name]
	if ok {
		n++
		if n == 1 {
			p.w.emitText(EventCheck, p.node.number, "sometimes "+name)
		}
	}
	p.w.checks.sometimes[name] = n
}

func (p *process) Reachable(name string) { p.Sometimes(name, true) }

func (p *process) Unreachable(name string, format string, args ...any) {
	if p.ask() {
		p.w.Fail("unreachable/"+name, "%s: %s", p.node.name, fmt.Sprintf(format, args...))
	}
}

func (p *process) Buggify(site string) bool {
	if !p.ask() || !p.w.cfg.Buggify {
		return false
	}
	s := p.w.checks.sites[site]
	if s == nil {
		s = &buggifySite{
			active: p.w.NewStream("buggify", "active", site).PerMillion(buggifyActive),
			stream: *p.w.NewStream("buggify", "fire", site),
		}
		p.w.checks.sites[site] = s
	}
	if !s.active || !s.stream.PerMillion(buggifyFires) {
		return false
	}
	p.w.emitText(EventCheck, p.node.number, "buggify "+site)
	return true
}

// Sometimes is how often each Sometimes and Reachable held. Those that were called and never
// held are there with 0.
func (w *World) Sometimes() map[string]int { return w.checks.sometimes }

// Always is how often each Always was judged.
func (w *World) Always() map[string]int { return w.checks.always }

// BuggifySites lists the sites that were asked, sorted, with whether they were active.
func (w *World) BuggifySites() []BuggifySite {
	all := make([]BuggifySite, 0, len(w.checks.sites))
	for name, s := range w.checks.sites {
		all = append(all, BuggifySite{name, s.active})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// BuggifySite is one place where Buggify was asked.
type BuggifySite struct {
	Name   string
	Active bool
}
