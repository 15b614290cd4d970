package persist

import (
	"cmp"
	"maps"
	"reflect"
)

// The entries of a state (its writers, readers, critical sinces and rollups) are maps that are never
// changed: a command that does anything to one makes a changed copy. So a version shares with the version
// before it all that it leaves alone, which is most, and to find that out takes no comparison.

// with is the map, with an entry added or replaced.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	changed := make(map[K]V, len(m)+1)
	maps.Copy(changed, m)
	changed[k] = v
	return changed
}

// without is the map without an entry, the same one if it does not have that.
func without[K comparable, V any](m map[K]V, k K) map[K]V {
	if _, ok := m[k]; !ok {
		return m
	}
	changed := maps.Clone(m)
	delete(changed, k)
	return changed
}

// withoutAll is the map without the entries that go, and how many those are; the same one if none does.
func withoutAll[K comparable, V any](m map[K]V, goes func(K, V) bool) (kept map[K]V, gone int) {
	//simvet:ignore simmap what goes is counted, by a function of the entry
	for k, v := range m {
		if goes(k, v) {
			gone++
		}
	}
	if gone == 0 {
		return m, 0
	}
	kept = maps.Clone(m)
	maps.DeleteFunc(kept, goes)
	return kept, gone
}

// same tells whether the two are one map, and not only equal.
func same[K comparable, V any](m, n map[K]V) bool {
	return reflect.ValueOf(m).UnsafePointer() == reflect.ValueOf(n).UnsafePointer()
}

// equalEntries tells whether the two have the same entries.
func equalEntries[K, V comparable](m, n map[K]V) bool { return same(m, n) || maps.Equal(m, n) }

// firstWrong is what is wrong with the entry of the least key that anything is wrong with.
func firstWrong[K cmp.Ordered, V any](m map[K]V, wrong func(K, V) error) (first error) {
	var least K
	//simvet:ignore simmap the least key is the same in any order
	for k, v := range m {
		if first != nil && k > least {
			continue
		}
		if err := wrong(k, v); err != nil {
			least, first = k, err
		}
	}
	return first
}
