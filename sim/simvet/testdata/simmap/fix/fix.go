package fix

import "github.com/simrun-dev/simrun/system/host"

type item struct{ n int }

type table struct{ items map[string]*item }

func fixable(h host.Host, byName map[string]*item, t *table, byItem map[*item]int) {
	for name := range byName { // want `map byName`
		h.Logf("%s", name)
	}
	for name, it := range t.items { // want `map t.items`
		h.Logf("%s %d", name, it.n)
	}
	for _, it := range byName { // want `map byName`
		h.Logf("%d", it.n)
	}
	for it := range byItem { // want `map byItem`
		h.Logf("%d", it.n)
	}
}
