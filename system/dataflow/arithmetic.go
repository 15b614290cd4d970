package dataflow

import (
	"math"
	"math/bits"
)

// integers computes on int64, and tells whether the result is in range.
type integers func(a, b int64) (int64, bool)

// signature is one of the kinds of arguments that an operator takes.
type signature struct{ a, b, result Kind }

// arithmetic compiles an operator with these signatures, all computed on integers alike, and on
// floats if it has floats.
func (c *call) arithmetic(signatures []signature, ints integers, floats func(a, b float64) float64) (typed, error) {
	if c.args[0].Kind.numeric() && c.args[1].Kind.numeric() {
		if kind, _ := c.unifyAll(); kind == KindFloat64 {
			return c.strict2(kind, func(a, b Datum) (Datum, *RowError) { return Float(floats(a.float(), b.float())), nil })
		}
	}
	overflow := c.error(ErrOverflow)
	for _, s := range signatures {
		if s.a == c.args[0].Kind && s.b == c.args[1].Kind {
			return c.strict2(s.result, func(a, b Datum) (Datum, *RowError) {
				v, ok := ints(a.num, b.num)
				if !ok {
					return Datum{}, overflow
				}
				return Datum{kind: s.result, num: v}, nil
			})
		}
	}
	return c.fail("%v and %v don't go together", c.args[0].Kind, c.args[1].Kind)
}

func compileAdd(c *call) (typed, error) {
	return c.arithmetic([]signature{
		{KindInt64, KindInt64, KindInt64},
		{KindTimestamp, KindInterval, KindTimestamp},
		{KindInterval, KindTimestamp, KindTimestamp},
		{KindInterval, KindInterval, KindInterval},
	}, addInt, func(a, b float64) float64 { return a + b })
}

func compileSub(c *call) (typed, error) {
	return c.arithmetic([]signature{
		{KindInt64, KindInt64, KindInt64},
		{KindTimestamp, KindInterval, KindTimestamp},
		{KindTimestamp, KindTimestamp, KindInterval},
		{KindInterval, KindInterval, KindInterval},
	}, subInt, func(a, b float64) float64 { return a - b })
}

func compileMul(c *call) (typed, error) {
	return c.arithmetic([]signature{
		{KindInt64, KindInt64, KindInt64},
		{KindInterval, KindInt64, KindInterval},
		{KindInt64, KindInterval, KindInterval},
	}, mulInt, func(a, b float64) float64 { return a * b })
}

// divisions are the signatures of division and remainder.
var divisions = []signature{
	{KindInt64, KindInt64, KindInt64},
	{KindInterval, KindInt64, KindInterval},
}

func compileDiv(c *call) (typed, error) {
	return c.notByZero(c.arithmetic(divisions,
		func(a, b int64) (int64, bool) {
			if b == -1 {
				return -a, a != math.MinInt64
			}
			return a / b, true
		},
		func(a, b float64) float64 { return a / b }))
}

func compileMod(c *call) (typed, error) {
	return c.notByZero(c.arithmetic(divisions,
		func(a, b int64) (int64, bool) {
			if b == -1 {
				return 0, true
			}
			return a % b, true
		},
		math.Mod))
}

// notByZero makes the compiled division of integers fail where the divisor is zero.
func (c *call) notByZero(t typed, err error) (typed, error) {
	if err != nil || t.Kind == KindFloat64 {
		return t, err
	}
	zero := c.error(ErrDivisionByZero)
	divide, dividend, divisor := t.eval, c.args[0].eval, c.args[1].eval
	t.eval = func(row []Datum) (Datum, *RowError) {
		d, err := divisor(row)
		if err != nil || d.IsNull() || d.num != 0 {
			return divide(row)
		}
		n, err := dividend(row)
		switch {
		case err != nil:
			return Datum{}, err
		case n.IsNull():
			return Datum{}, nil
		}
		return Datum{}, zero
	}
	return t, nil
}

// signed compiles a function of one number or interval.
func (c *call) signed(ints func(int64) int64, floats func(float64) float64) (typed, error) {
	switch kind := c.args[0].Kind; kind {
	case KindFloat64:
		return c.strict1(kind, func(a Datum) (Datum, *RowError) { return Float(floats(a.float())), nil })
	case KindInt64, KindInterval:
		overflow := c.error(ErrOverflow)
		return c.strict1(kind, func(a Datum) (Datum, *RowError) {
			v := ints(a.num)
			if a.num == math.MinInt64 {
				return Datum{}, overflow
			}
			return Datum{kind: kind, num: v}, nil
		})
	default:
		return c.fail("%v has no sign", kind)
	}
}

func compileNeg(c *call) (typed, error) {
	return c.signed(func(v int64) int64 { return -v }, func(v float64) float64 { return -v })
}

func compileAbs(c *call) (typed, error) {
	return c.signed(func(v int64) int64 { return max(v, -v) }, math.Abs)
}

func addInt(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (a^sum)&(b^sum) >= 0
}

func subInt(a, b int64) (int64, bool) {
	difference := a - b
	return difference, (a^b)&(a^difference) >= 0
}

func mulInt(a, b int64) (int64, bool) {
	p := wide{}.addProduct(a, b)
	return p.int64()
}

// wide is an integer of 128 bits in two's complement.
type wide struct {
	hi int64
	lo uint64
}

// addProduct is w + a*b.
func (w wide) addProduct(a, b int64) wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The product of the bit patterns as unsigned numbers is off by 2^64 times the other factor
	// for each factor that is negative.
	hi -= uint64(a>>63) & uint64(b)
	hi -= uint64(b>>63) & uint64(a)
	lo, carry := bits.Add64(w.lo, lo, 0)
	hi, _ = bits.Add64(uint64(w.hi), hi, carry)
	return wide{hi: int64(hi), lo: lo}
}

// int64 is the number, if it is in range.
func (w wide) int64() (int64, bool) {
	return int64(w.lo), w.hi == int64(w.lo)>>63
}

func (w wide) isZero() bool { return w == wide{} }

// float64 is the number, rounded to nearest, ties to even.
func (w wide) float64() float64 {
	if v, ok := w.int64(); ok {
		return float64(v)
	}
	hi, lo := uint64(w.hi), w.lo
	if w.hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	v := roundedMagnitude([]uint64{lo, hi}, 0)
	if w.hi < 0 {
		return -v
	}
	return v
}
