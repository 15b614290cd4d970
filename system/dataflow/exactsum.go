package dataflow

import (
	"math"
	"math/bits"
	"slices"
)

// exactSum adds up float64s without rounding, so that it does not depend on their order and a
// value that is taken away again leaves no trace. Every finite float64 is a multiple of 2^-1074,
// so the sum is kept as an integer number of these, of as many bits as the values seen need: a
// window of a long accumulator (Kulisch). What is not finite is counted.
type exactSum struct {
	// words is two's complement, the least significant first; its lowest bit stands for
	// 2^(64*base - 1074). The last word holds nothing but copies of the sign.
	words                []uint64
	base                 int
	plusInf, minInf, nan int64
}

// add adds v diff times, or takes it away -diff times.
func (s *exactSum) add(v float64, diff int64) {
	switch {
	case v != v:
		s.nan += diff
		return
	case math.IsInf(v, 1):
		s.plusInf += diff
		return
	case math.IsInf(v, -1):
		s.minInf += diff
		return
	case v == 0 || diff == 0:
		return
	}
	mantissa, position := decompose(v)
	count := uint64(diff)
	if diff < 0 {
		count = -count
	}
	hi, lo := bits.Mul64(mantissa, count)
	shift := position % 64
	product := [3]uint64{lo << shift, hi<<shift | lo>>1>>(63-shift), hi >> 1 >> (63 - shift)}
	at := s.window(int(position/64), len(product))
	if (v < 0) != (diff < 0) {
		s.subtract(product, at)
	} else {
		s.accumulate(product, at)
	}
	if top := s.words[len(s.words)-1]; top != 0 && top != ^uint64(0) {
		s.words = append(s.words, uint64(int64(top)>>63))
	}
}

// decompose is |v| as mantissa * 2^(position - 1074).
func decompose(v float64) (mantissa uint64, position uint) {
	b := math.Float64bits(v)
	mantissa, exponent := b&(1<<52-1), uint(b>>52)&0x7ff
	if exponent == 0 {
		return mantissa, 0
	}
	return mantissa | 1<<52, exponent - 1
}

// window makes room for n words that start at the word-th of the whole accumulator, and one more
// above them, and returns their place.
func (s *exactSum) window(word, n int) int {
	if len(s.words) == 0 {
		s.words, s.base = make([]uint64, n+1), word
		return 0
	}
	if word < s.base {
		s.words = slices.Insert(s.words, 0, make([]uint64, s.base-word)...)
		s.base = word
	}
	at := word - s.base
	sign := s.words[len(s.words)-1]
	for len(s.words) < at+n+1 {
		s.words = append(s.words, sign)
	}
	return at
}

func (s *exactSum) accumulate(product [3]uint64, at int) {
	var carry uint64
	for i, p := range product {
		s.words[at+i], carry = bits.Add64(s.words[at+i], p, carry)
	}
	for i := at + len(product); carry != 0 && i < len(s.words); i++ {
		s.words[i], carry = bits.Add64(s.words[i], 0, carry)
	}
}

func (s *exactSum) subtract(product [3]uint64, at int) {
	var borrow uint64
	for i, p := range product {
		s.words[at+i], borrow = bits.Sub64(s.words[at+i], p, borrow)
	}
	for i := at + len(product); borrow != 0 && i < len(s.words); i++ {
		s.words[i], borrow = bits.Sub64(s.words[i], 0, borrow)
	}
}

// isZero tells whether the sum is the same as that of nothing.
func (s *exactSum) isZero() bool {
	return s.plusInf == 0 && s.minInf == 0 && s.nan == 0 &&
		!slices.ContainsFunc(s.words, func(w uint64) bool { return w != 0 })
}

// float64 is the sum, rounded once, to nearest, ties to even; infinite if it is too large.
// Infinities of both signs, or a NaN, make NaN.
func (s *exactSum) float64() float64 {
	switch {
	case s.nan != 0 || s.plusInf != 0 && s.minInf != 0:
		return math.NaN()
	case s.plusInf != 0:
		return math.Inf(1)
	case s.minInf != 0:
		return math.Inf(-1)
	case len(s.words) == 0:
		return 0
	}
	if s.words[len(s.words)-1] == 0 {
		return roundedMagnitude(s.words, 64*s.base-1074)
	}
	magnitude := make([]uint64, len(s.words))
	var borrow uint64
	for i, w := range s.words {
		magnitude[i], borrow = bits.Sub64(0, w, borrow)
	}
	return -roundedMagnitude(magnitude, 64*s.base-1074)
}

// roundedMagnitude is the integer of these words, least significant first, times 2^exponent,
// which is not below 2^-1074.
func roundedMagnitude(words []uint64, exponent int) float64 {
	top := len(words) - 1
	for top >= 0 && words[top] == 0 {
		top--
	}
	if top < 0 {
		return 0
	}
	length := 64*top + bits.Len64(words[top])
	drop := length - 53
	if drop <= 0 {
		return math.Ldexp(float64(words[0]), exponent)
	}
	word, shift := drop/64, uint(drop%64)
	mantissa := words[word] >> shift
	if shift > 0 && word+1 < len(words) {
		mantissa |= words[word+1] << (64 - shift)
	}
	mantissa &= 1<<53 - 1
	if half, rest := remainder(words, drop); half && (rest || mantissa&1 == 1) {
		mantissa++
	}
	return math.Ldexp(float64(mantissa), exponent+drop)
}

// remainder tells of the lowest n bits whether the highest of them is set, and whether any other
// is.
func remainder(words []uint64, n int) (half, rest bool) {
	n--
	word, shift := n/64, uint(n%64)
	half = words[word]>>shift&1 == 1
	rest = words[word]&(1<<shift-1) != 0
	for i := 0; i < word && !rest; i++ {
		rest = words[i] != 0
	}
	return half, rest
}
