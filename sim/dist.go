package sim

import (
	"fmt"
	"math/bits"
	"time"
)

// Dist is a distribution of durations. Its shapes are computed in integers only, so that a
// seed gives the same duration on every architecture.
type Dist struct {
	Shape Shape
	// Min is added to every sample.
	Min time.Duration
	// Spread is the width of a Uniform and the mean of an Exponential, without Min.
	Spread time.Duration
}

// Shape is the form of a distribution.
type Shape uint8

const (
	// Constant is always Min.
	Constant Shape = iota
	// Uniform is between Min and Min+Spread.
	Uniform
	// Exponential is Min plus an exponentially distributed part of mean Spread, cut off at
	// 20 times the mean.
	Exponential
)

// Fixed is the distribution that is always d.
func Fixed(d time.Duration) Dist { return Dist{Shape: Constant, Min: d} }

// Between is the uniform distribution from lo to hi.
func Between(lo, hi time.Duration) Dist {
	return Dist{Shape: Uniform, Min: lo, Spread: max(hi-lo, 0)}
}

// Exp is lo plus an exponential distribution of the given mean.
func Exp(lo, mean time.Duration) Dist { return Dist{Shape: Exponential, Min: lo, Spread: mean} }

// Sample is the duration that a random word stands for.
func (d Dist) Sample(word uint64) time.Duration {
	switch d.Shape {
	case Uniform:
		return d.Min + time.Duration(scale(word, uint64(d.Spread)+1))
	case Exponential:
		hi, lo := bits.Mul64(negLog(word), uint64(d.Spread))
		v := hi<<(64-negLogBits) | lo>>negLogBits
		return d.Min + time.Duration(min(v, 20*uint64(d.Spread)))
	default:
		return d.Min
	}
}

// Mean is the distribution's mean, apart from cutting off.
func (d Dist) Mean() time.Duration {
	switch d.Shape {
	case Uniform:
		return d.Min + d.Spread/2
	case Exponential:
		return d.Min + d.Spread
	default:
		return d.Min
	}
}

func (d Dist) String() string {
	switch d.Shape {
	case Uniform:
		return fmt.Sprintf("uniform %v..%v", d.Min, d.Min+d.Spread)
	case Exponential:
		return fmt.Sprintf("%v + exponential mean %v", d.Min, d.Spread)
	default:
		return d.Min.String()
	}
}

const negLogBits = 32

// negLog is -ln(word/2^64) as a fixed-point number with negLogBits fraction bits, right to 2^-24. The
// integer part of the binary logarithm is the position of the leading bit; its fraction is
// found bit by bit, by squaring the mantissa (Knuth, The Art of Computer Programming 1.2.2).
func negLog(word uint64) uint64 {
	if word == 0 {
		word = 1
	}
	shift := bits.LeadingZeros64(word)
	mantissa := word << shift // in [2^63, 2^64), stands for [1, 2)
	var frac uint64
	for range 24 {
		hi, lo := bits.Mul64(mantissa, mantissa)
		frac <<= 1
		if hi>>63 == 1 {
			frac |= 1
			mantissa = hi
		} else {
			mantissa = hi<<1 | lo>>63
		}
	}
	// log2(word/2^64) = (63-shift) + frac/2^24 - 64
	log2 := uint64(shift+1)<<24 - frac // negated, with 24 fraction bits
	const ln2 = 2977044472             // ln 2 with 32 fraction bits
	hi, lo := bits.Mul64(log2, ln2)    // 56 fraction bits
	return hi<<40 | lo>>24
}
