package models
import ("time";"fmt";"testing";"github.com/stretchr/testify/require";"github.com/anishathalye/porcupine")
func TestSoakLog(t *testing.T){
	for seed := uint64(1e6); seed < 1e6+40000; seed++ {
		choose := seededChooser(seed)
		m := mixture{ shards: 1, clients: 2 + choose(4), ops: 4 + choose(14), unknown: []int{0, 20, 60, 90}[choose(4)], tagged: !choose.chance(3) }
		h := generate(m, choose)
		s0 := time.Now(); require.Equal(t, porcupine.Ok, requireAgreement(t, h), "seed %d", seed); if d := time.Since(s0); d > 200*time.Millisecond { fmt.Println("slow", seed, d, m) }
		for range 1+choose(3) { h = mutate(h, choose) }
		requireAgreement(t, h)
	}
}
func TestSoakHolds(t *testing.T){
	for seed := uint64(1e6); seed < 1e6+40000; seed++ {
		choose := seededChooser(seed)
		h := generate(mixture{ shards: 1, clients: 2 + choose(2), ops: 4 + choose(14), unknown: []int{0, 30}[choose(2)], tagged: true, holds: true, holdsOnly: true }, choose)
		require.Equal(t, porcupine.Ok, requireHoldsAgreement(t, h), "seed %d", seed)
		for range 1+choose(3) { h = mutateHolds(h, choose) }
		requireHoldsAgreement(t, h)
	}
}
