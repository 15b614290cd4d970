package real

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"sync"
)

// newRand returns the randomness of one life of a host, for any number of tasks.
func newRand(seed *uint64, name string, life uint64) *rand.Rand {
	if seed == nil {
		return rand.New(systemSource{})
	}
	key := binary.BigEndian.AppendUint64(nil, *seed)
	key = binary.BigEndian.AppendUint64(key, life)
	return rand.New(&seededSource{src: rand.NewChaCha8(sha256.Sum256(append(key, name...)))})
}

// systemSource is the global generator of math/rand/v2: seeded by the operating system, and one for
// each thread.
type systemSource struct{}

func (systemSource) Uint64() uint64 { return rand.Uint64() }

// seededSource is a generator that tasks take turns with. A rand.Rand has no other state.
type seededSource struct {
	mu  sync.Mutex
	src *rand.ChaCha8
}

func (s *seededSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}
