package dataflow

import (
	"math"
	"strconv"
	"strings"
	"time"
)

func compileCast(c *call) (typed, error) {
	from, to := c.args[0].Kind, c.Kind
	if to == KindNull || to >= kinds {
		return c.fail("there is no cast to %v", to)
	}
	convert := castFunc(from, to)
	if convert == nil {
		return c.fail("there is no cast from %v to %v", from, to)
	}
	overflow, invalid := c.error(ErrOverflow), c.error(ErrInvalidCast)
	return c.strict1(to, func(a Datum) (Datum, *RowError) {
		d, cause := convert(a)
		switch cause {
		case nil:
			return d, nil
		case ErrOverflow:
			return Datum{}, overflow
		default:
			return Datum{}, invalid
		}
	})
}

// castFunc is how to cast, or nil. Its errors are ErrOverflow and ErrInvalidCast.
func castFunc(from, to Kind) func(Datum) (Datum, error) {
	switch {
	case from == to:
		return func(d Datum) (Datum, error) { return d, nil }
	case to == KindString:
		return func(d Datum) (Datum, error) { return String(d.text()), nil }
	case from == KindString:
		return func(d Datum) (Datum, error) { return parse(d.str, to) }
	case from == KindInt64 && to == KindFloat64:
		return func(d Datum) (Datum, error) { return Float(float64(d.num)), nil }
	case from == KindFloat64 && to == KindInt64:
		return func(d Datum) (Datum, error) {
			// 2^63 is the least float that is too large, -2^63 is in range.
			if v := math.Trunc(d.float()); v >= -(1<<63) && v < 1<<63 {
				return Int(int64(v)), nil
			}
			return Datum{}, ErrOverflow
		}
	case from == KindInt64 && to == KindBool:
		return func(d Datum) (Datum, error) { return Bool(d.num != 0), nil }
	case from == KindBool && to == KindInt64,
		from == KindInt64 && to.integral(),
		from.integral() && to == KindInt64:
		return func(d Datum) (Datum, error) { return Datum{kind: to, num: d.num}, nil }
	default:
		return nil
	}
}

// parse reads a string as a value of a kind.
func parse(s string, kind Kind) (Datum, error) {
	s = strings.TrimSpace(s)
	switch kind {
	case KindBool:
		switch strings.ToLower(s) {
		case "true", "t":
			return Bool(true), nil
		case "false", "f":
			return Bool(false), nil
		}
	case KindInt64:
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return Int(v), nil
		}
	case KindFloat64:
		// A number too large for a float64 is infinite, as the results of arithmetic are.
		v, err := strconv.ParseFloat(s, 64)
		if err == nil || math.IsInf(v, 0) {
			return Float(v), nil
		}
	case KindTimestamp:
		if ms, err := ParseTimestamp(s); err == nil {
			return Timestamp(ms), nil
		}
	case KindInterval:
		if ms, err := ParseInterval(s); err == nil {
			return Interval(ms), nil
		}
	}
	return Datum{}, ErrInvalidCast
}

// ParseTimestamp reads a time of UTC, "2026-01-02", with or without "03:04", "03:04:05" or
// "03:04:05.006" after a blank or a T, and with or without a Z at the end; or "123 ms", which is
// how times are printed that have no year of four digits. It returns milliseconds since
// 1970-01-01. The error is [ErrInvalidCast].
func ParseTimestamp(s string) (int64, error) {
	if ms, ok := strings.CutSuffix(s, " ms"); ok {
		if v, err := strconv.ParseInt(ms, 10, 64); err == nil {
			return v, nil
		}
		return 0, ErrInvalidCast
	}
	s = strings.Replace(strings.TrimSuffix(s, "Z"), "T", " ", 1)
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, ErrInvalidCast
}

// intervalUnits are the units of a fixed length, in milliseconds.
var intervalUnits = map[string]int64{
	"ms": 1, "millisecond": 1,
	"s": 1000, "sec": 1000, "second": 1000,
	"m": 60_000, "min": 60_000, "minute": 60_000,
	"h": 3_600_000, "hour": 3_600_000,
	"d": 86_400_000, "day": 86_400_000,
	"w": 7 * 86_400_000, "week": 7 * 86_400_000,
}

// ParseInterval reads integers each followed by a unit: "1 hour 30 minutes", "-5s", "1d". Units are
// week, day, hour, minute, second and millisecond, or w, d, h, m or min, s or sec and ms. Months
// and years have no fixed length and are refused. It returns milliseconds; the error is
// [ErrInvalidCast], or [ErrOverflow].
func ParseInterval(s string) (int64, error) {
	total, parts := int64(0), 0
	for rest := strings.TrimSpace(strings.ToLower(s)); rest != ""; parts++ {
		digits := len(rest) - len(strings.TrimLeft(rest, "+-0123456789"))
		v, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, ErrInvalidCast
		}
		rest = strings.TrimLeft(rest[digits:], " ")
		letters := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))
		name := rest[:letters]
		unit, ok := intervalUnits[name]
		if !ok {
			if unit, ok = intervalUnits[strings.TrimSuffix(name, "s")]; !ok || len(name) < 4 {
				return 0, ErrInvalidCast
			}
		}
		rest = strings.TrimLeft(rest[letters:], " ")
		part, fits := mulInt(v, unit)
		if fits {
			total, fits = addInt(total, part)
		}
		if !fits {
			return 0, ErrOverflow
		}
	}
	if parts == 0 {
		return 0, ErrInvalidCast
	}
	return total, nil
}
