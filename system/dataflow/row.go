package dataflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Row is a sequence of data, encoded: the concatenation of the data's encodings. Equal rows are
// equal strings, and rows of the same number of columns sort as strings as their data sort, column
// by column. It is the Data of an update in a persist shard.
//
// A datum starts with a byte that tells its kind, and for integers the sign and the number of
// bytes that follow, big-endian. In strings a zero byte is 00 ff, and 00 01 ends them. No
// encoding is the prefix of another.
type Row string

const (
	tagNull   = 0x01
	tagFalse  = 0x02
	tagTrue   = 0x03
	tagInt    = 0x18 // of zero; n more for an integer of n bytes, n+1 less for a negative one
	tagFloat  = 0x28
	tagTime   = 0x38
	tagLength = 0x58
	tagString = 0x70

	escape       = 0x00
	escapedZero  = 0xff
	endsAString  = 0x01
	maxIntBytes  = 8
	floatEncoded = 1 + 8
)

// ErrCorruptRow says that a string is not the encoding of a row.
var ErrCorruptRow = errors.New("dataflow: not the encoding of a row")

// Pack encodes data as a row.
func Pack(data ...Datum) Row {
	var buf [64]byte
	p := buf[:0]
	for _, d := range data {
		p = appendDatum(p, d)
	}
	return Row(p)
}

// Unpack decodes the row. The error is [ErrCorruptRow].
func (r Row) Unpack() ([]Datum, error) { return r.appendData(nil) }

// appendData decodes the row behind data.
func (r Row) appendData(data []Datum) ([]Datum, error) {
	for rest := string(r); rest != ""; {
		d, n := decodeDatum(rest)
		if n == 0 {
			return data, fmt.Errorf("%w: at byte %d of %x", ErrCorruptRow, len(r)-len(rest), string(r))
		}
		data = append(data, d)
		rest = rest[n:]
	}
	return data, nil
}

// String prints the row's data: "(1, 'a', NULL)"; a corrupt one in hexadecimal.
func (r Row) String() string {
	data, err := r.Unpack()
	if err != nil {
		return fmt.Sprintf("corrupt(%x)", string(r))
	}
	return formatData(data)
}

func formatData(data []Datum) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, d := range data {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.String())
	}
	b.WriteByte(')')
	return b.String()
}

func appendDatum(p []byte, d Datum) []byte {
	switch d.kind {
	case KindNull:
		return append(p, tagNull)
	case KindBool:
		return append(p, tagFalse+byte(d.num))
	case KindInt64:
		return appendInt(p, tagInt, d.num)
	case KindFloat64:
		return binary.BigEndian.AppendUint64(append(p, tagFloat), sortableFloat(d.num))
	case KindTimestamp:
		return appendInt(p, tagTime, d.num)
	case KindInterval:
		return appendInt(p, tagLength, d.num)
	default:
		p = append(p, tagString)
		for s := d.str; ; {
			i := strings.IndexByte(s, escape)
			if i < 0 {
				return append(append(p, s...), escape, endsAString)
			}
			p = append(append(p, s[:i]...), escape, escapedZero)
			s = s[i+1:]
		}
	}
}

func appendInt(p []byte, zero byte, v int64) []byte {
	magnitude := uint64(v)
	if v < 0 {
		magnitude = ^magnitude
	}
	n := (bits.Len64(magnitude) + 7) / 8
	if v < 0 {
		p = append(p, zero-1-byte(n))
	} else {
		p = append(p, zero+byte(n))
	}
	for i := n - 1; i >= 0; i-- {
		p = append(p, byte(v>>(8*i)))
	}
	return p
}

// decodeDatum decodes the datum that p starts with, and returns how long it is; 0 if there is
// none. Strings share p's memory where they can.
func decodeDatum(p string) (Datum, int) {
	if p == "" {
		return Datum{}, 0
	}
	switch tag := p[0]; {
	case tag == tagNull:
		return Datum{}, 1
	case tag == tagFalse || tag == tagTrue:
		return Bool(tag == tagTrue), 1
	case tag == tagFloat:
		return decodeFloat(p)
	case tag == tagString:
		return decodeString(p)
	case isInt(tag, tagInt):
		return decodeInt(p, tagInt, KindInt64)
	case isInt(tag, tagTime):
		return decodeInt(p, tagTime, KindTimestamp)
	case isInt(tag, tagLength):
		return decodeInt(p, tagLength, KindInterval)
	default:
		return Datum{}, 0
	}
}

func isInt(tag, zero byte) bool { return tag >= zero-1-maxIntBytes && tag <= zero+maxIntBytes }

func decodeInt(p string, zero byte, kind Kind) (Datum, int) {
	n, v := int(p[0])-int(zero), int64(0)
	if n < 0 {
		n, v = -n-1, -1
	}
	if len(p) <= n {
		return Datum{}, 0
	}
	if n > 0 && byte(v) == p[1] { // the first byte carries nothing: not the shortest encoding
		return Datum{}, 0
	}
	negative := v < 0
	for _, b := range []byte(p[1 : 1+n]) {
		v = v<<8 | int64(b)
	}
	if (v < 0) != negative { // eight bytes, the wrong sign
		return Datum{}, 0
	}
	return Datum{kind: kind, num: v}, 1 + n
}

func decodeFloat(p string) (Datum, int) {
	if len(p) < floatEncoded {
		return Datum{}, 0
	}
	var v uint64
	for _, b := range []byte(p[1:floatEncoded]) {
		v = v<<8 | uint64(b)
	}
	if v>>63 == 0 {
		v = ^v
	} else {
		v &^= 1 << 63
	}
	d := Datum{kind: KindFloat64, num: int64(v)}
	if d != Float(d.float()) {
		return Datum{}, 0
	}
	return d, floatEncoded
}

func decodeString(p string) (Datum, int) {
	body := p[1:]
	end, zeros := 0, 0
	for {
		i := strings.IndexByte(body[end:], escape)
		if i < 0 || end+i+1 >= len(body) {
			return Datum{}, 0
		}
		end += i
		if body[end+1] == endsAString {
			break
		}
		if body[end+1] != escapedZero {
			return Datum{}, 0
		}
		end += 2
		zeros++
	}
	s := body[:end]
	if zeros > 0 {
		s = strings.ReplaceAll(s, "\x00\xff", "\x00")
	}
	return Datum{kind: KindString, str: s}, 1 + end + 2
}

// datumLen is how many bytes the datum takes that p starts with. p is the rest of a valid row.
func datumLen(p string) int {
	tag := p[0]
	switch {
	case tag <= tagTrue:
		return 1
	case tag == tagFloat:
		return floatEncoded
	case tag == tagString:
		end := 1
		for {
			end += strings.IndexByte(p[end:], escape) + 2
			if p[end-1] == endsAString {
				return end
			}
		}
	}
	n := int(tag) - tagInt
	switch {
	case tag >= tagLength-1-maxIntBytes:
		n = int(tag) - tagLength
	case tag >= tagTime-1-maxIntBytes:
		n = int(tag) - tagTime
	}
	if n < 0 {
		n = -n - 1
	}
	return 1 + n
}
