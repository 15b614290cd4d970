package rawcbor_test

import (
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/rawcbor"
)

var numbers = rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 70_000))

// encode is what another implementation makes of a value.
func encode(t require.TestingT, v any) []byte {
	opts := cbor.CoreDetEncOptions()
	opts.String = cbor.StringToByteString
	mode, err := opts.EncMode()
	require.NoError(t, err)
	p, err := mode.Marshal(v)
	require.NoError(t, err)
	return p
}

func TestWhatIsAppendedIsCBOR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, s := numbers.Draw(t, "n"), rapid.String().Draw(t, "s")
		require.Equal(t, encode(t, n), rawcbor.AppendHead(nil, rawcbor.Uint, n))
		require.Equal(t, encode(t, s), rawcbor.AppendString(nil, s))
	})
}

func TestReaderReadsCBOR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, small := numbers.Draw(t, "n"), rapid.Uint32().Draw(t, "small")
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		pairs := rapid.MapOf(numbers, rapid.IntRange(0, math.MaxInt)).Draw(t, "pairs")
		r := rawcbor.Read(encode(t, []any{n, small, list, nil, pairs, nil, "end"}))
		r.Tuple(7)
		require.Equal(t, n, r.Uint())
		require.Equal(t, small, r.Uint32())
		length, ok := r.List()
		require.True(t, ok)
		require.Len(t, list, length)
		for _, s := range list {
			require.Equal(t, s, r.Text())
		}
		_, ok = r.List()
		require.False(t, ok)
		length, ok = r.Pairs()
		require.True(t, ok)
		require.Len(t, pairs, length)
		for range length {
			k := r.Uint()
			require.Equal(t, pairs[k], r.Int())
		}
		require.True(t, r.Null())
		require.False(t, r.Null())
		require.Equal(t, "end", r.Text())
		require.False(t, r.Failed())
		require.Empty(t, r.Rest())
	})
}

func TestReaderFails(t *testing.T) {
	for name, test := range map[string]struct {
		p    []byte
		read func(*rawcbor.Reader)
	}{
		"nothing":                     {nil, func(r *rawcbor.Reader) { r.Uint() }},
		"another type":                {encode(t, "x"), func(r *rawcbor.Reader) { r.Uint() }},
		"a negative number":           {encode(t, -1), func(r *rawcbor.Reader) { r.Int() }},
		"a number that is cut off":    {encode(t, 1<<20)[:3], func(r *rawcbor.Reader) { r.Uint() }},
		"a reserved length":           {[]byte{28}, func(r *rawcbor.Reader) { r.Uint() }},
		"no known length":             {[]byte{0x9f, 0xff}, func(r *rawcbor.Reader) { r.List() }},
		"more than 32 bits":           {encode(t, uint64(math.MaxUint32+1)), func(r *rawcbor.Reader) { r.Uint32() }},
		"more than an int":            {encode(t, uint64(math.MaxInt+1)), func(r *rawcbor.Reader) { r.Int() }},
		"a text that is cut off":      {encode(t, "xyz")[:3], func(r *rawcbor.Reader) { r.Text() }},
		"a tuple of another length":   {encode(t, []int{1, 2}), func(r *rawcbor.Reader) { r.Tuple(3) }},
		"more elements than can be":   {rawcbor.AppendHead(nil, rawcbor.Array, math.MaxUint64), func(r *rawcbor.Reader) { r.List() }},
		"more pairs than can be":      {append(rawcbor.AppendHead(nil, rawcbor.Map, 2), 1, 1, 2), func(r *rawcbor.Reader) { r.Pairs() }},
		"what the caller says is bad": {encode(t, 1), func(r *rawcbor.Reader) { r.Fail() }},
	} {
		t.Run(name, func(t *testing.T) {
			r := rawcbor.Read(test.p)
			test.read(&r)
			require.True(t, r.Failed())
			require.Empty(t, r.Rest())
			require.Zero(t, r.Uint())
			require.Empty(t, r.Text())
		})
	}
}
