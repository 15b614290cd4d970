package dataflow

import (
	"math"
	"time"
)

func compileDateBin(c *call) (typed, error) {
	if err := c.want(KindInterval, KindTimestamp); err != nil {
		return typed{}, err
	}
	invalid, overflow := c.error(ErrInvalidArgument), c.error(ErrOverflow)
	bin := func(size, ts, origin int64) (Datum, *RowError) {
		if size <= 0 {
			return Datum{}, invalid
		}
		start, ok := windowStart(size, ts, origin)
		if !ok {
			return Datum{}, overflow
		}
		return Timestamp(start), nil
	}
	if len(c.args) == 2 {
		return c.strict2(KindTimestamp, func(size, ts Datum) (Datum, *RowError) { return bin(size.num, ts.num, 0) })
	}
	return c.strictN(KindTimestamp, func(args []Datum) (Datum, *RowError) {
		return bin(args[0].num, args[1].num, args[2].num)
	})
}

// windowStart is the latest time not after ts that is a multiple of size from the origin. It is
// not ok if that is before the first timestamp.
func windowStart(size, ts, origin int64) (start int64, ok bool) {
	// The difference of ts and origin may be out of range; that of their places within windows
	// from 0 is not.
	within := floorMod(ts, size) - floorMod(origin, size)
	if within < 0 {
		within += size
	}
	return subInt(ts, within)
}

func floorMod(v, size int64) int64 {
	if v %= size; v < 0 {
		return v + size
	}
	return v
}

// A monday at midnight, where weeks begin.
const firstMonday = 4 * 86_400_000

func compileDateTrunc(c *call) (typed, error) {
	if err := c.want(KindString, KindTimestamp); err != nil {
		return typed{}, err
	}
	unit := c.Args[0]
	if unit.Func != FuncLiteral {
		return c.fail("the unit is not a literal")
	}
	name := unit.Literal.str
	months := map[string]int{"month": 1, "quarter": 3, "year": 12}[name]
	size, origin := int64(0), int64(0)
	switch name {
	case "week":
		size, origin = intervalUnits[name], firstMonday
	case "millisecond", "second", "minute", "hour", "day":
		size = intervalUnits[name]
	default:
		if months == 0 {
			return c.fail("there is no unit %v", unit)
		}
	}
	overflow := c.error(ErrOverflow)
	return c.strict2(KindTimestamp, func(_, ts Datum) (Datum, *RowError) {
		start, ok := int64(0), false
		if months > 0 {
			start, ok = monthStart(ts.num, months)
		} else {
			start, ok = windowStart(size, ts.num, origin)
		}
		if !ok {
			return Datum{}, overflow
		}
		return Timestamp(start), nil
	})
}

// monthStart is the beginning of the month, or of the three or twelve months, that ts lies in.
func monthStart(ts int64, months int) (start int64, ok bool) {
	t := time.UnixMilli(ts).UTC()
	month := int(t.Month()) - 1
	first := time.Date(t.Year(), time.Month(month-month%months+1), 1, 0, 0, 0, 0, time.UTC)
	if first.Unix() < math.MinInt64/1000 {
		return 0, false
	}
	return first.UnixMilli(), true
}
