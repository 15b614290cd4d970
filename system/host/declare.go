package host

import "slices"

var declared []string

// Declare names situations that tests ought to reach, those of Sometimes and Reachable, so that one
// whose call is never even executed is missed too. Packages call it when the program starts:
//
//	var _ = host.Declare("persist: a retried append had gone in", ...)
//
// The part before the colon names the package.
func Declare(names ...string) struct{} {
	declared = append(declared, names...)
	slices.Sort(declared)
	declared = slices.Compact(declared)
	return struct{}{}
}

// Declared are all names that were declared, sorted.
func Declared() []string { return slices.Clone(declared) }
