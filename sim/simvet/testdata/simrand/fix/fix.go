package fix

import (
	"math/rand/v2"

	"github.com/simrun-dev/simrun/system/host"
)

func fixable(h host.Host, list []int) float64 {
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] }) // want `rand.Shuffle`
	return rand.Float64()                                                           // want `rand.Float64`
}
