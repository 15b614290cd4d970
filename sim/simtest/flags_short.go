//go:build !simtest_longflags

package simtest

import "flag"

// The short names of the flags that reproduce a failure. A package that was initialised before
// this one keeps what it calls so.
func init() {
	for name, set := range map[string]func(string) error{"seed": seed, "seeds": seeds} {
		if flag.Lookup(name) == nil {
			flag.Func(name, "simtest: short for -simtest."+name, set)
			if name == "seed" {
				seedFlag = "-seed"
			}
		}
	}
}
