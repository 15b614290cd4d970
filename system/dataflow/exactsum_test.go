package dataflow

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyFloat is any finite float64, of all magnitudes, or one near another's half unit.
func anyFloat(t *rapid.T) float64 {
	for {
		exponent := rapid.Uint64Range(0, 2046).Draw(t, "exponent")
		if rapid.Bool().Draw(t, "middling") {
			exponent = 1023 + exponent%128 - 64
		}
		mantissa := rapid.SampledFrom([]uint64{0, 1, 1<<52 - 1, 1 << 51, 0x5555555555555}).Draw(t, "mantissa")
		sign := rapid.Uint64Range(0, 1).Draw(t, "sign")
		if v := math.Float64frombits(sign<<63 | exponent<<52 | mantissa); v != 0 {
			return v
		}
	}
}

// TestExactSum compares with rational numbers, after each step.
func TestExactSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum exactSum
		want := new(big.Rat)
		type added struct {
			v    float64
			diff int64
		}
		var all []added
		add := func(a added) {
			sum.add(a.v, a.diff)
			want.Add(want, new(big.Rat).Mul(new(big.Rat).SetFloat64(a.v), new(big.Rat).SetInt64(a.diff)))
			f, _ := want.Float64()
			require.Equal(t, math.Float64bits(f+0), math.Float64bits(sum.float64()+0), "%v %v", want, sum)
			require.Equal(t, want.Sign() == 0, sum.isZero())
		}
		for range rapid.IntRange(0, 10).Draw(t, "values") {
			a := added{anyFloat(t), rapid.SampledFrom([]int64{1, -1, 3, math.MaxInt64, math.MinInt64}).Draw(t, "diff")}
			all = append(all, a)
			add(a)
		}
		for _, a := range rapid.Permutation(all).Draw(t, "order") {
			sum.add(-a.v, a.diff)
		}
		require.True(t, sum.isZero())
		require.Less(t, len(sum.words), 40)
	})
}

func TestExactSumOfTheInfinite(t *testing.T) {
	var sum exactSum
	inf := math.Inf(1)
	sum.add(1, 1)
	sum.add(inf, 1)
	require.Equal(t, inf, sum.float64())
	sum.add(-inf, 1)
	require.True(t, math.IsNaN(sum.float64()))
	sum.add(inf, -1)
	require.Equal(t, -inf, sum.float64())
	sum.add(-inf, -1)
	require.Equal(t, 1.0, sum.float64())
	sum.add(math.NaN(), 1)
	require.True(t, math.IsNaN(sum.float64()))
	sum.add(math.NaN(), -1)
	sum.add(math.MaxFloat64, 2)
	require.Equal(t, inf, sum.float64())
}

// TestWide compares 128 bits with numbers of any size.
func TestWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w wide
		want := new(big.Int)
		for range rapid.IntRange(1, 3).Draw(t, "products") {
			// Three products of 2^125 at most are in range.
			a, b := rapid.Int64().Draw(t, "a")>>1, rapid.Int64().Draw(t, "b")
			w = w.addProduct(a, b)
			want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		}
		v, ok := w.int64()
		require.Equal(t, want.IsInt64(), ok)
		if ok {
			require.Equal(t, want.Int64(), v)
		}
		f, _ := new(big.Float).SetInt(want).Float64()
		require.Equal(t, f, w.float64())
		require.Equal(t, want.Sign() == 0, w.isZero())

		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		product, ok := mulInt(a, b)
		exact := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		require.Equal(t, exact.IsInt64(), ok)
		if ok {
			require.Equal(t, exact.Int64(), product)
		}
	})
}
