package simrand

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"hash/maphash"
	oldrand "math/rand"
	"math/rand/v2"

	"github.com/simrun-dev/simrun/system/host"
)

func misuses(list []int) {
	_ = rand.IntN(3)                               // want `rand.IntN draws from the process's global source, which the seed does not decide: use Host.Rand\(\).IntN \(simrand\)`
	_ = rand.N(3)                                  // want `rand.N draws`
	rand.Shuffle(len(list), func(int, int) {})     // want `rand.Shuffle draws`
	_ = oldrand.Intn(3)                            // want `rand.Intn draws`
	oldrand.Seed(3)                                // want `rand.Seed draws`
	_, _ = crand.Read(nil)                         // want `rand.Read takes randomness from the operating system`
	_, _ = ecdsa.GenerateKey(elliptic.P256(), nil) // want `ecdsa.GenerateKey makes a key of the operating system's randomness`
	reader := crand.Reader                         // want `rand.Reader takes randomness`
	_ = reader
	var h maphash.Hash // want `maphash.Hash hashes with a seed of its own`
	h.WriteString("x")
	_ = maphash.MakeSeed() // want `maphash.MakeSeed hashes with a seed of its own`
}

func right(h host.Host) {
	_ = h.Rand().IntN(3)
	_ = rand.New(rand.NewPCG(1, 2)).IntN(3)
	_ = oldrand.New(oldrand.NewSource(1)).Intn(3)
	_ = rand.NewZipf(h.Rand(), 2, 1, 9).Uint64()
}
