package sim

import (
	"math/bits"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection in which every
// bit of the argument reaches every bit of the result.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// derive is the key of the part of a key's space that an id names.
func derive(key, id uint64) uint64 { return mix(key + golden ^ mix(id+golden)) }

// deriveName is derive for an id given as text.
func deriveName(key uint64, name string) uint64 { return derive(key, xxh3.HashString(name)) }

// scale maps a random word to [0, n) by the high half of the product: the bias is below n/2^64.
func scale(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}

// Stream is a sequence of random choices with an address: the i-th is a hash of the seed, the
// stream's name and i. Two streams of different names are independent, so that fewer or more
// choices taken from one leave all others as they were. It is splitmix64 read by position, and
// is a rand.Source.
type Stream struct {
	w   *World
	key uint64
	n   uint64
}

// NewStream returns the stream that the names spell out, from its first choice:
// NewStream("workload", "client-3").
func (w *World) NewStream(names ...string) *Stream {
	return &Stream{w: w, key: w.streamKey(names...)}
}

func (w *World) streamKey(names ...string) uint64 { return seedKey(w.cfg.Seed, names) }

func seedKey(seed uint64, names []string) uint64 {
	key := mix(seed + golden)
	for _, n := range names {
		key = deriveName(key, n)
	}
	return key
}

// NewStream is World.NewStream of a seed without a world: for what is drawn before one exists,
// such as a fault plan. Its choices can't be overridden.
func NewStream(seed uint64, names ...string) *Stream { return &Stream{key: seedKey(seed, names)} }

// Uint64 is the next choice, as a random word.
func (s *Stream) Uint64() uint64 {
	s.n++
	if s.w == nil {
		return mix(s.key + s.n*golden)
	}
	return s.w.choice(s.key, s.n)
}

// N is the next choice, a number in [0, n). It is 0 when n is 0.
func (s *Stream) N(n uint64) uint64 { return scale(s.Uint64(), n) }

// Between is the next choice, a number in [lo, hi].
func (s *Stream) Between(lo, hi int64) int64 {
	if hi <= lo {
		s.n++
		return lo
	}
	return lo + int64(s.N(uint64(hi-lo)+1))
}

// PerMillion is the next choice: true with the given probability, in parts of a million.
// Probabilities are integers here because a fused multiply-add, which some architectures use
// and others do not, could make a floating-point comparison come out differently.
func (s *Stream) PerMillion(p int) bool { return s.N(1_000_000) < uint64(max(p, 0)) }

// Rand is a math/rand/v2 generator over the stream, for code that wants one.
func (s *Stream) Rand() *rand.Rand { return rand.New(s) }

// Decision is the address of one random choice.
type Decision struct {
	Stream  uint64 // the stream's key, from World.StreamKey
	Ordinal uint64 // its place in the stream, from 1
}

// StreamKey is the key of the stream that the names spell out, for a [Decision].
func (w *World) StreamKey(names ...string) uint64 { return w.streamKey(names...) }

// choice is the value of a decision: the override, if there is one, or the hash.
func (w *World) choice(key, ordinal uint64) uint64 {
	if w.overrides != nil {
		if v, ok := w.overrides[Decision{key, ordinal}]; ok {
			return v
		}
	}
	v := mix(key + ordinal*golden)
	if w.decisions != nil {
		w.decisions(Decision{key, ordinal}, v)
	}
	return v
}

// decided is choice where the value, without an override, is not the hash.
func (w *World) decided(key, ordinal, v uint64) uint64 {
	if o, ok := w.overrides[Decision{key, ordinal}]; ok {
		return o
	}
	if w.decisions != nil {
		w.decisions(Decision{key, ordinal}, v)
	}
	return v
}
