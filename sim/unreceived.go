package sim

import (
	"slices"
	"time"
)

// A value that a timer or ticker has sent and that nobody has received is dropped when the timer is
// stopped or set anew; and a timer whose value was not received has not expired yet, to Stop and
// Reset. So it is with package time since Go 1.23. The Mock is older: to it a timer has expired once
// it fired. So a timer that fires stays in the Mock's list, at the canary, until its value is
// received.

// maxUnreceived bounds how many such timers are kept: programs forget timers without stopping them.
// The oldest are then taken for expired, though their values stay.
const maxUnreceived = 64

// keep holds a timer that has fired until its value is received.
func (k *canary) keep(a *armedTimer) {
	a.fired = true
	k.unreceived = append(k.unreceived, a)
	if len(k.unreceived) > maxUnreceived {
		k.expire(k.unreceived[0])
	}
}

// expire lets a timer that has fired be expired to the Mock.
func (k *canary) expire(a *armedTimer) {
	k.forget(a)
	a.timer.Stop()
	delete(k.byPtr, a.ptr)
	k.armed = slices.DeleteFunc(k.armed, func(o *armedTimer) bool { return o == a })
}

func (k *canary) forget(a *armedTimer) {
	if a.fired {
		a.fired = false
		k.unreceived = slices.DeleteFunc(k.unreceived, func(o *armedTimer) bool { return o == a })
	}
}

// drop empties the channel of a timer that was stopped or set anew.
func (k *canary) drop(a *armedTimer) {
	k.forget(a)
	select {
	case <-a.channel():
	default:
	}
}

// channel is where the timer sends; nil if it calls a function.
func (a *armedTimer) channel() chan time.Time {
	if a.ticker != nil {
		return *at[chan time.Time](a.ptr, layout.tickerChan)
	}
	return *at[chan time.Time](a.ptr, layout.timerChan)
}

// receive takes the value waiting in ch, if it still counts.
func (c *nodeClock) receive(ch <-chan time.Time) (t time.Time, ok bool) {
	if c.canary != nil {
		c.canary.reconcile()
	}
	select {
	case t, ok = <-ch:
	default:
	}
	if ok && c.canary != nil {
		for _, a := range c.canary.unreceived {
			if a.channel() == ch {
				c.canary.expire(a)
				break
			}
		}
	}
	return t, ok
}
