package dataflow_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
)

// anyDatum is any value at all, not only those that plans are tested with.
func anyDatum(t *rapid.T) dataflow.Datum {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return dataflow.Int(rapid.Int64().Draw(t, "int"))
	case 1:
		return dataflow.Float(math.Float64frombits(rapid.Uint64().Draw(t, "float")))
	case 2:
		return dataflow.Timestamp(rapid.Int64().Draw(t, "timestamp"))
	case 3:
		return dataflow.Interval(rapid.Int64().Draw(t, "interval"))
	case 4:
		return dataflow.String(string(rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff})).Draw(t, "string")))
	default:
		return dataflowtest.Datum(t, dataflowtest.Type(t).OrNull())
	}
}

func TestRowsSortAsTheirData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "columns")
		a, b := make([]dataflow.Datum, n), make([]dataflow.Datum, n)
		for i := range n {
			a[i], b[i] = anyDatum(t), anyDatum(t)
			if rapid.Bool().Draw(t, "tie") {
				b[i] = a[i]
			}
		}
		p, q := dataflow.Pack(a...), dataflow.Pack(b...)
		for row, want := range map[dataflow.Row][]dataflow.Datum{p: a, q: b} {
			got, err := row.Unpack()
			require.NoError(t, err)
			require.True(t, slices.Equal(want, got), "%v %v", want, got)
		}
		require.Equal(t, slices.CompareFunc(a, b, dataflow.Datum.Compare), strings.Compare(string(p), string(q)))
		require.Equal(t, slices.Equal(a, b), p == q)
	})
}

// TestEncodingIsCanonical: of any bytes that decode, there are no others for the same data.
func TestEncodingIsCanonical(t *testing.T) {
	tags := []byte{0, 1, 2, 3, 0x0e, 0x0f, 0x10, 0x16, 0x17, 0x18, 0x19, 0x20, 0x21, 0x28, 0x38, 0x37, 0x39, 0x58, 0x59, 0x70, 0x7f, 0x80, 0xff}
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		row := dataflow.Row(rapid.SliceOfN(rapid.SampledFrom(tags), 0, 20).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "from data") {
			bytes := []byte(dataflow.Pack(anyDatum(t), anyDatum(t)))
			bytes[rapid.IntRange(0, len(bytes)-1).Draw(t, "place")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			row = dataflow.Row(bytes)
		}
		data, err := row.Unpack()
		if err != nil {
			require.ErrorIs(t, err, dataflow.ErrCorruptRow)
			return
		}
		valid++
		require.Equal(t, row, dataflow.Pack(data...))
	})
	require.NotZero(t, valid)
}

func TestSpecialFloats(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	require.Equal(t, dataflow.Float(0), dataflow.Float(negativeZero))
	nan := dataflow.Float(math.NaN())
	require.Equal(t, nan, dataflow.Float(math.Float64frombits(0xfff8000000000001)))
	require.Zero(t, nan.Compare(nan))
	sorted := []dataflow.Datum{
		dataflow.Null(), dataflow.Float(math.Inf(-1)), dataflow.Float(-1), dataflow.Float(-5e-324), dataflow.Float(0),
		dataflow.Float(5e-324), dataflow.Float(math.MaxFloat64), dataflow.Float(math.Inf(1)), nan,
	}
	require.True(t, slices.IsSortedFunc(sorted, dataflow.Datum.Compare))
	require.True(t, slices.IsSortedFunc(sorted, func(a, b dataflow.Datum) int {
		return cmp.Compare(dataflow.Pack(a), dataflow.Pack(b))
	}))
}

func TestDatumString(t *testing.T) {
	for want, d := range map[string]dataflow.Datum{
		"NULL":                       dataflow.Null(),
		"true":                       dataflow.Bool(true),
		"-7":                         dataflow.Int(-7),
		"2.0":                        dataflow.Float(2),
		"1e+30":                      dataflow.Float(1e30),
		"NaN":                        dataflow.Float(math.NaN()),
		"+Inf":                       dataflow.Float(math.Inf(1)),
		"'it''s'":                    dataflow.String("it's"),
		"'1969-12-31T23:59:59.999Z'": dataflow.Timestamp(-1),
		"'9223372036854775807 ms'":   dataflow.Timestamp(math.MaxInt64),
		"INTERVAL '-5 ms'":           dataflow.Interval(-5),
	} {
		require.Equal(t, want, d.String())
	}
	require.Equal(t, "(1, NULL, 'a')", dataflow.Pack(dataflow.Int(1), dataflow.Null(), dataflow.String("a")).String())
	require.Equal(t, "corrupt(ff)", dataflow.Row("\xff").String())
}

func TestSchemaCheck(t *testing.T) {
	schema := dataflow.NewSchema(
		dataflow.Column{Name: "a", Type: dataflow.Type(dataflow.KindInt64)},
		dataflow.Column{Name: "b", Type: dataflow.Type(dataflow.KindString).OrNull()},
	)
	one, x := dataflow.Int(1), dataflow.String("x")
	require.NoError(t, schema.Check(dataflow.Pack(one, x)))
	require.NoError(t, schema.Check(dataflow.Pack(one, dataflow.Null())))
	for reason, row := range map[string]dataflow.Row{
		"it has 1 columns":               dataflow.Pack(one),
		"it has more than 2 columns":     dataflow.Pack(one, x, x),
		"column 0 (a) is NULL":           dataflow.Pack(dataflow.Null(), x),
		"column 0 (a) is of kind string": dataflow.Pack(x, x),
		"column 1 is corrupt":            dataflow.Pack(one) + "\xff",
	} {
		var mismatch *dataflow.RowMismatch
		require.ErrorAs(t, schema.Check(row), &mismatch)
		require.Equal(t, reason, mismatch.Reason)
	}
}

func TestShardEncoding(t *testing.T) {
	rows := []dataflow.Update{
		{Row: dataflow.Pack(dataflow.Int(1)), Time: 3, Diff: 1},
		{Row: dataflow.Pack(), Time: 4, Diff: -2},
	}
	errs := []dataflow.ErrorUpdate{
		{Err: dataflow.NewRowError(dataflow.ErrOverflow, "sum(#1)"), Time: 5, Diff: 1},
		{Err: dataflow.NewRowError(dataflow.ErrDivisionByZero, ""), Time: 5, Diff: 1},
	}
	gotRows, gotErrs := dataflow.FromShard(dataflow.ToShard(rows, errs))
	require.Equal(t, rows, gotRows)
	require.Equal(t, errs, gotErrs)
}
