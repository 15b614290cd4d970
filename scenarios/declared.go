package scenarios

import (
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// withDeclared adds, with 0, the situations that were declared and that this run did not come near:
// those of the packages (the part of the name before the colon) of which it did see some.
func withDeclared(seen map[string]int) map[string]int {
	packages := map[string]bool{}
	for name := range seen {
		packages[prefix(name)] = true
	}
	for _, name := range host.Declared() {
		if _, ok := seen[name]; !ok && packages[prefix(name)] {
			seen[name] = 0
		}
	}
	return seen
}

func prefix(name string) string {
	p, _, _ := strings.Cut(name, ":")
	return p
}
