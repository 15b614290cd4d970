package simtime

import (
	"time"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
)

type config struct{ now func() time.Time }

func misuses(t time.Time) {
	_ = time.Now()                   // want `time.Now reads the machine's clock, which the seed does not decide: use Host.Clock\(\).Now \(simtime\)`
	_ = time.Since(t)                // want `time.Since reads`
	_ = time.Until(t)                // want `time.Until reads`
	time.Sleep(1)                    // want `time.Sleep blocks the only thread that the simulation has, in real time: use Host.Clock\(\).Sleep`
	_ = time.After(1)                // want `time.After waits in real time`
	_ = time.Tick(1)                 // want `time.Tick waits in real time`
	_ = time.AfterFunc(1, func() {}) // want `time.AfterFunc calls its function in a goroutine of its own`
	_ = time.NewTimer(1)             // want `time.NewTimer makes a timer of the real clock`
	_ = time.NewTicker(1)            // want `time.NewTicker makes a timer of the real clock`
	_ = config{now: time.Now}        // want `time.Now reads`
	_ = t.Local()                    // want `time.Time.Local depends on the time zone`
	_ = t.In(time.Local)             // want `time.Local depends on the time zone`
	_ = clock.New()                  // want `clock.New makes a clock that shows the machine's time`
	_ = clock.NewMock()              // want `clock.NewMock makes a clock`
}

func right(h host.Host, t time.Time) {
	_ = h.Clock().Now().Sub(t) + 3*time.Second
	h.Clock().Sleep(time.Second)
	timer := h.Clock().Timer(time.Second)
	host.Select(h, host.OnTime(timer.C, nil))
	_ = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC).Add(time.Hour).Truncate(time.Minute).Before(time.Unix(0, 0))
	_ = config{now: h.Clock().Now}
	_, _ = time.ParseDuration("1s")
}
