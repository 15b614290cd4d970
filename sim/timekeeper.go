package sim

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// timekeeper is a machine's clock: it outlives the machine's processes.
//
// The machine's time is anchorLocal + (now-anchorTrue)*(1+drift/10^6), where the anchors are
// moved at each change, so that a change of drift does not move the present time.
type timekeeper struct {
	anchorTrue, anchorLocal int64 // ns since the start
	drift                   int64 // parts per million
	skews                   skews
}

// skews are what makes a clock run wrong for a while.
type skews struct {
	inForce []*int64 // of which drift each
	applied int64    // what of their sum is in the clock's drift
	gained  int64    // ns that the clock is ahead because of them, up to its anchor
}

const million = 1_000_000

// never is a time that does not come: what is due then, 292 years from the start, does not happen.
const never = math.MaxInt64

// later is the time a span after t, or never.
func later(t, span int64) int64 {
	if span > never-t {
		return never
	}
	return t + span
}

// mulDiv is a*b/c, exact where the product overflows 64 bits, and cut off where the quotient does.
// c > 0, b > 0.
func mulDiv(a, b, c int64) int64 {
	neg := a < 0
	if neg {
		a = -a
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q := uint64(math.MaxInt64)
	if hi < uint64(c) {
		q, _ = bits.Div64(hi, lo, uint64(c))
		q = min(q, math.MaxInt64)
	}
	if neg {
		return -int64(q)
	}
	return int64(q)
}

func (k *timekeeper) local(now int64) int64 {
	if k.drift == 0 {
		return k.anchorLocal + now - k.anchorTrue
	}
	return k.anchorLocal + mulDiv(now-k.anchorTrue, million+k.drift, million)
}

// span is how long a duration of this clock takes, rounded up: a timer must not fire before its
// own clock says that it is due.
func (k *timekeeper) span(d time.Duration) int64 {
	if k.drift == 0 || d <= 0 {
		return int64(d)
	}
	s := mulDiv(int64(d), million, million+k.drift)
	for s < never && mulDiv(s, million+k.drift, million) < int64(d) {
		s++
	}
	return s
}

// ClockOffset is how far the node's clock is ahead of true time.
func (n *Node) ClockOffset() time.Duration {
	return time.Duration(n.time.local(n.w.now) - n.w.now)
}

// ClockDrift is how much faster than true time the node's clock runs, in parts per million.
func (n *Node) ClockDrift() int { return int(n.time.drift) }

// The drifts that a clock can have, in parts per million.
const (
	minDrift = -900_000
	maxDrift = 10_000_000
)

// SetClock makes the node's clock be ahead of true time by offset from now on, and run faster by
// drift parts per million; drift is cut off at -900,000 and 10,000,000. A change of offset is a jump:
// timers already set keep their duration, as a monotonic clock's do. The drift includes that of skews in
// force (see [Node.SkewClock]): it is not to be changed by this while there are any.
func (n *Node) SetClock(offset time.Duration, drift int) {
	k := &n.time
	right := *k
	right.drift -= k.skews.applied
	k.skews.gained += k.local(n.w.now) - right.local(n.w.now)
	k.anchorTrue, k.anchorLocal, k.drift = n.w.now, n.w.now+int64(offset), min(max(int64(drift), minDrift), maxDrift)
	n.w.emit(EventClock, n.number, uint64(offset), uint64(k.drift))
}

// JumpClock moves the node's clock by d, which may be negative.
func (n *Node) JumpClock(d time.Duration) { n.SetClock(n.ClockOffset()+d, int(n.time.drift)) }

// SkewClock has the node's clock run faster by drift parts per million until end is called, which also
// sets it right, as a time daemon's step would: of what this skew and others that are in force have made
// wrong of it. Skews add up, within what [Node.SetClock] lets a drift be. end may be called once.
func (n *Node) SkewClock(drift int) (end func()) {
	skew := int64(drift)
	n.time.skews.inForce = append(n.time.skews.inForce, &skew)
	n.reskew()
	return func() {
		s := &n.time.skews
		s.inForce = slices.DeleteFunc(s.inForce, func(other *int64) bool { return other == &skew })
		n.reskew()
		gained := s.gained
		n.JumpClock(-time.Duration(gained))
		s.gained = 0
	}
}

// reskew makes the clock's drift what the skews in force ask for.
func (n *Node) reskew() {
	k := &n.time
	right := k.drift - k.skews.applied
	sum := right
	for _, drift := range k.skews.inForce {
		sum += *drift
	}
	n.SetClock(n.ClockOffset(), int(sum))
	k.skews.applied = k.drift - right
}
