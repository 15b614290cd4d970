package sim

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"time"
)

// Dist is a distribution of durations. Its shapes are computed in integers only, so that a
// seed gives the same duration on every architecture. Dists can be compared with ==.
type Dist struct {
	Shape Shape
	// Min is added to every sample. Of a Pareto it is the scale.
	Min time.Duration
	// Spread is the width of a Uniform, the mean of an Exponential and the median of a LogNormal,
	// each without Min.
	Spread time.Duration
	// Tail is how heavy the tail is, in thousandths: of a LogNormal the standard deviation of
	// the logarithm (500 is mild, 1,500 heavy), of a Pareto the exponent (1,200 heavy, 3,000
	// mild).
	Tail int
	// Samples are what a Recorded one draws from.
	Samples *Samples
}

// Samples are durations that were measured somewhere.
type Samples struct{ durations []time.Duration }

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
	// LogNormal is Min plus a log-normally distributed part of median Spread: most latencies of
	// real networks and services look so.
	LogNormal
	// Pareto is Min times a power-law factor, cut off at 1,000: few samples are far out.
	Pareto
	// Recorded is Min plus one of Samples.
	Recorded
)

// Fixed is the distribution that is always d.
func Fixed(d time.Duration) Dist { return Dist{Shape: Constant, Min: d} }

// Between is the uniform distribution from lo to hi.
func Between(lo, hi time.Duration) Dist {
	return Dist{Shape: Uniform, Min: lo, Spread: max(hi-lo, 0)}
}

// Exp is lo plus an exponential distribution of the given mean.
func Exp(lo, mean time.Duration) Dist { return Dist{Shape: Exponential, Min: lo, Spread: mean} }

// LogNorm is lo plus a log-normal distribution with the given median; tail is the standard deviation
// of its logarithm, in thousandths.
func LogNorm(lo, median time.Duration, tail int) Dist {
	return Dist{Shape: LogNormal, Min: lo, Spread: median, Tail: tail}
}

// PowerLaw is the Pareto distribution with the given least value and exponent, in thousandths.
func PowerLaw(least time.Duration, exponent int) Dist {
	return Dist{Shape: Pareto, Min: least, Tail: exponent}
}

// FromSamples draws from durations that were measured, each as likely as the others. It panics when
// there are none.
func FromSamples(measured ...time.Duration) Dist {
	if len(measured) == 0 {
		panic("sim: a distribution of no samples")
	}
	return Dist{Shape: Recorded, Samples: &Samples{slices.Clone(measured)}}
}

// Sample is the duration that a random word stands for.
func (d Dist) Sample(word uint64) time.Duration {
	switch d.Shape {
	case Uniform:
		return d.Min + time.Duration(scale(word, d.spread()+1))
	case Exponential:
		return d.Min + time.Duration(min(mulFixed(negLog(word), d.spread()), 20*d.spread()))
	case LogNormal:
		// exp(tail*z) = 2^(tail*z/ln 2), with z normal.
		exponent := normal(word) * int64(d.Tail) / 1000
		hi, lo := bits.Mul64(uint64(abs(exponent)), invLn2)
		log2 := int64(hi<<32 | lo>>32)
		if exponent < 0 {
			log2 = -log2
		}
		return d.Min + time.Duration(mulFixed(exp2(log2), d.spread()))
	case Pareto:
		// u^(-1/exponent) = 2^(-log2(u)/exponent)
		log2 := int64(negLog2(word)) << 8 // 32 fraction bits
		factor := exp2(log2 / int64(max(d.Tail, 1)) * 1000)
		return time.Duration(mulFixed(min(factor, 1000<<fixedBits), uint64(max(d.Min, 0))))
	case Recorded:
		return d.Min + d.Samples.durations[scale(word, uint64(len(d.Samples.durations)))]
	default:
		return d.Min
	}
}

func (d Dist) spread() uint64 { return uint64(max(d.Spread, 0)) }

func (d Dist) String() string {
	switch d.Shape {
	case Uniform:
		return fmt.Sprintf("uniform %v..%v", d.Min, d.Min+d.Spread)
	case Exponential:
		return fmt.Sprintf("%v + exponential mean %v", d.Min, d.Spread)
	case LogNormal:
		return fmt.Sprintf("%v + log-normal median %v tail %d/1000", d.Min, d.Spread, d.Tail)
	case Pareto:
		return fmt.Sprintf("Pareto from %v exponent %d/1000", d.Min, d.Tail)
	case Recorded:
		return fmt.Sprintf("%v + one of %d samples", d.Min, len(d.Samples.durations))
	default:
		return d.Min.String()
	}
}

// Fixed-point numbers have 32 fraction bits.
const (
	fixedBits = 32
	ln2       = 2977044472 // ln 2
	invLn2    = 6196328019 // 1/ln 2
)

// longest is where samples are cut off, at 36 years: what is added to them must not overflow.
const longest = 1 << 60

// mulFixed is the product of a fixed-point number and an integer, at most longest.
func mulFixed(fixed, n uint64) uint64 {
	hi, lo := bits.Mul64(fixed, n)
	if hi>>fixedBits != 0 {
		return longest
	}
	return min(hi<<(64-fixedBits)|lo>>fixedBits, longest)
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// negLog is -ln(word/2^64) as a fixed-point number, right to 2^-24.
func negLog(word uint64) uint64 {
	hi, lo := bits.Mul64(negLog2(word), ln2) // 24+32 fraction bits
	return hi<<40 | lo>>24
}

// negLog2 is -log2(word/2^64) with 24 fraction bits. The integer part is the place of the leading
// bit; the fraction is found bit by bit, by squaring the mantissa (Knuth, The Art of Computer
// Programming 1.2.2).
func negLog2(word uint64) uint64 {
	word = max(word, 1)
	shift := bits.LeadingZeros64(word)
	mantissa := word << shift // in [2^63, 2^64), stands for [1, 2)
	var frac uint64
	for range 24 {
		hi, lo := bits.Mul64(mantissa, mantissa)
		bit := hi >> 63
		frac = frac<<1 | bit
		// hi, shifted if its leading bit is 0. Not by a branch: a processor guesses it wrong every other time.
		mantissa = hi<<(bit^1) | lo>>63&(bit^1)
	}
	// log2(word/2^64) = (63-shift) + frac/2^24 - 64
	return uint64(shift+1)<<24 - frac
}

// roots are 2^(2^-i) for i from 1, with 62 fraction bits: what the bits of a fraction stand for.
var roots = func() (r [fixedBits]uint64) {
	x := new(big.Int).Lsh(big.NewInt(2), 62)
	for i := range r {
		x.Sqrt(x.Lsh(x, 62))
		r[i] = x.Uint64()
	}
	return r
}()

// exp2 is 2^x, of and as a fixed-point number. It is cut off at 2^31.
func exp2(x int64) uint64 {
	whole := x >> fixedBits
	switch {
	case whole >= 31:
		return 1 << (31 + fixedBits)
	case whole < -fixedBits:
		return 0
	}
	m := uint64(1) << 62
	for i, root := range roots {
		if uint64(x)>>(fixedBits-1-i)&1 == 1 {
			hi, lo := bits.Mul64(m, root)
			m = hi<<2 | lo>>62
		}
	}
	// m has 62 fraction bits and is in [1, 2).
	return m >> (62 - fixedBits - whole)
}

// normal is a normally distributed fixed-point number of mean 0 and deviation 1: the sum of 12
// uniform ones less 6, which has no values beyond 6 deviations (Irwin and Hall).
func normal(word uint64) int64 {
	sum := int64(0)
	for i := range uint64(12) {
		sum += int64(mix(word+i*golden) >> (64 - fixedBits))
	}
	return sum - 6<<fixedBits
}
