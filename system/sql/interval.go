package sql

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Interval is a length of time. Its parts don't convert into each other: a month has no fixed
// number of days.
type Interval struct {
	Months      int32
	Days        int32
	Nanoseconds int64
}

const (
	secondsPerDay = 24 * 60 * 60
	// secondsPerMonth is 30.44 days, about a twelfth of a year.
	secondsPerMonth = secondsPerDay * 3044 / 100

	nanosPerSecond = 1_000_000_000
	nanosPerDay    = secondsPerDay * nanosPerSecond
)

// Seconds returns the interval in whole seconds, cut towards zero, a month being 30.44 days.
func (v Interval) Seconds() int64 {
	seconds := int64(v.Months)*secondsPerMonth + int64(v.Days)*secondsPerDay + v.Nanoseconds/nanosPerSecond
	switch rest := v.Nanoseconds % nanosPerSecond; {
	case seconds > 0 && rest < 0:
		return seconds - 1
	case seconds < 0 && rest > 0:
		return seconds + 1
	}
	return seconds
}

// String returns a text that ParseInterval turns back into v.
func (v Interval) String() string {
	var parts []string
	part := func(n int64, unit string) {
		if n == 1 || n == -1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit))
		} else if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit))
		}
	}
	part(int64(v.Months/12), "year")
	part(int64(v.Months%12), "month")
	part(int64(v.Days), "day")
	n := v.Nanoseconds
	for _, u := range []struct {
		name string
		size int64
	}{{"hour", 3600 * nanosPerSecond}, {"minute", 60 * nanosPerSecond}, {"second", nanosPerSecond}, {"nanosecond", 1}} {
		part(n/u.size, u.name)
		n %= u.size
	}
	if parts == nil {
		return "0 seconds"
	}
	return strings.Join(parts, " ")
}

// ParseInterval reads an interval: numbers with a unit each ('1 month 2 days 3 hours', '1h30m',
// '-1.5 days') and times of day ('1 day 02:30:00').
func ParseInterval(text string) (Interval, error) {
	rest := strings.Trim(text, blanks)
	if rest == "" {
		return Interval{}, errors.New("an empty interval; write a number and a unit, such as '1 hour'")
	}
	var total Interval
	for rest != "" {
		part, n, err := parseIntervalPart(rest)
		if err == nil {
			total, err = total.plus(part)
		}
		if err != nil {
			return Interval{}, err
		}
		rest = strings.TrimLeft(rest[n:], blanks)
	}
	return total, nil
}

const blanks = " \t\r\n\f\v"

// intervalUnits maps the names of units to one of each.
var intervalUnits = func() map[string]Interval {
	units := map[string]Interval{}
	for _, u := range []struct {
		names string
		one   Interval
	}{
		{"nanosecond nanoseconds nanos ns", Interval{Nanoseconds: 1}},
		{"microsecond microseconds micros us", Interval{Nanoseconds: 1000}},
		{"millisecond milliseconds millis ms", Interval{Nanoseconds: 1000_000}},
		{"second seconds sec secs s", Interval{Nanoseconds: nanosPerSecond}},
		{"minute minutes min mins m", Interval{Nanoseconds: 60 * nanosPerSecond}},
		{"hour hours hr hrs h", Interval{Nanoseconds: 3600 * nanosPerSecond}},
		{"day days d", Interval{Days: 1}},
		{"week weeks w", Interval{Days: 7}},
		{"month months mon mons", Interval{Months: 1}},
		{"year years yr yrs y", Interval{Months: 12}},
	} {
		for _, name := range strings.Fields(u.names) {
			units[name] = u.one
		}
	}
	return units
}()

// parseIntervalPart reads one number with its unit, or one time of day, and returns its length.
func parseIntervalPart(s string) (Interval, int, error) {
	i := 0
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		i = 1
	}
	wholeEnd := digits(s, i)
	whole := s[i:wholeEnd]
	if strings.HasPrefix(s[wholeEnd:], ":") && whole != "" {
		return parseTimeOfDay(s, i, negative)
	}
	end, fraction := wholeEnd, ""
	if strings.HasPrefix(s[end:], ".") {
		end = digits(s, end+1)
		fraction = s[wholeEnd+1 : end]
	}
	if whole == "" && fraction == "" {
		return Interval{}, 0, fmt.Errorf("expected a number in the interval, found %s", quoteShort(s))
	}
	unitStart := end + len(s[end:]) - len(strings.TrimLeft(s[end:], blanks))
	unitEnd := unitStart
	for unitEnd < len(s) && (s[unitEnd]|0x20 >= 'a' && s[unitEnd]|0x20 <= 'z') {
		unitEnd++
	}
	one, ok := intervalUnits[strings.ToLower(s[unitStart:unitEnd])]
	if !ok {
		return Interval{}, 0, fmt.Errorf("expected a unit of time after %s in the interval, found %s",
			quoteShort(s[:end]), quoteShort(s[unitStart:]))
	}
	part, err := one.times(whole, fraction, negative)
	return part, unitEnd, err
}

// parseTimeOfDay reads hh:mm, hh:mm:ss or hh:mm:ss.fraction, which begins at i behind its sign.
func parseTimeOfDay(s string, i int, negative bool) (Interval, int, error) {
	end := len(s)
	if blank := strings.IndexAny(s, blanks); blank >= 0 {
		end = blank
	}
	fields := strings.Split(s[i:end], ":")
	whole, fraction, _ := strings.Cut(fields[len(fields)-1], ".")
	fields[len(fields)-1] = whole
	bad := fmt.Errorf("expected a time as hh:mm:ss in the interval, found %s", quoteShort(s[:end]))
	if len(fields) > 3 || len(fields) == 2 && fraction != "" || digits(fraction, 0) != len(fraction) {
		return Interval{}, 0, bad
	}
	var total Interval
	for n, unit := range []string{"hour", "minute", "second"}[:len(fields)] {
		field, part := fields[n], ""
		if digits(field, 0) != len(field) || field == "" || n > 0 && (len(field) > 2 || field >= "60") {
			return Interval{}, 0, bad
		}
		if n == 2 {
			part = fraction
		}
		v, err := intervalUnits[unit].times(field, part, negative)
		if err == nil {
			total, err = total.plus(v)
		}
		if err != nil {
			return Interval{}, 0, err
		}
	}
	return total, end, nil
}

var errIntervalRange = errors.New("the interval is out of range: less than 2^31 months, 2^31 days and 2^63 nanoseconds")

// times returns v, one of a unit, as many times as the digits of a number say.
func (v Interval) times(whole, fraction string, negative bool) (Interval, error) {
	n := int64(0)
	if whole != "" {
		var err error
		if n, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return Interval{}, errIntervalRange
		}
	}
	months, overMonths := mulOverflows(n, int64(v.Months))
	days, overDays := mulOverflows(n, int64(v.Days))
	nanos, overNanos := mulOverflows(n, v.Nanoseconds)
	if overMonths || overDays || overNanos || months > math.MaxInt32 || days > math.MaxInt32 {
		return Interval{}, errIntervalRange
	}
	product := Interval{int32(months), int32(days), nanos}
	if strings.Trim(fraction, "0") != "" {
		if v.Months != 0 {
			return Interval{}, fmt.Errorf("a part of a month has no fixed length: write %s.%s months or years as days", whole, fraction)
		}
		// A part of a day becomes hours, a part of a week days and hours.
		part := fractionOf(fraction, int64(v.Days)*nanosPerDay+v.Nanoseconds)
		split := Interval{Nanoseconds: part}
		if v.Days != 0 {
			split = Interval{Days: int32(part / nanosPerDay), Nanoseconds: part % nanosPerDay}
		}
		var err error
		if product, err = product.plus(split); err != nil {
			return Interval{}, err
		}
	}
	if negative {
		product = Interval{-product.Months, -product.Days, -product.Nanoseconds}
	}
	return product, nil
}

// fractionOf returns 0.fraction of unit, cut to whole nanoseconds. Digits beyond the 18th are
// worth nothing.
func fractionOf(fraction string, unit int64) int64 {
	fraction = fraction[:min(len(fraction), 18)]
	numerator, denominator := uint64(0), uint64(1)
	for _, d := range []byte(fraction) {
		numerator = numerator*10 + uint64(d-'0')
		denominator *= 10
	}
	hi, lo := bits.Mul64(numerator, uint64(unit))
	quotient, _ := bits.Div64(hi, lo, denominator)
	return int64(quotient)
}

// mulOverflows multiplies two numbers that are not negative.
func mulOverflows(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi != 0 || lo > math.MaxInt64
}

// plus returns the sum.
func (v Interval) plus(w Interval) (Interval, error) {
	months, days := int64(v.Months)+int64(w.Months), int64(v.Days)+int64(w.Days)
	nanos := v.Nanoseconds + w.Nanoseconds
	if max(months, -months) > math.MaxInt32 || max(days, -days) > math.MaxInt32 ||
		nanos == math.MinInt64 || (nanos < v.Nanoseconds) != (w.Nanoseconds < 0) {
		return Interval{}, errIntervalRange
	}
	return Interval{int32(months), int32(days), nanos}, nil
}

// quoteShort quotes what an error message is about, on one line.
func quoteShort(s string) string {
	if s == "" {
		return "the end"
	}
	if r := []rune(s); len(r) > shownLength {
		s = string(r[:shownLength]) + "..."
	}
	return strconv.Quote(s)
}
