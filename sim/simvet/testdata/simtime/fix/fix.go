package fix

import (
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

type config struct{ now func() time.Time }

type node struct{ host host.Host }

func (n *node) age(t time.Time) time.Duration {
	return time.Since(t) // want `time.Since`
}

func fixable(h host.Host, d time.Duration) *time.Timer {
	start := time.Now()                  // want `time.Now`
	time.Sleep(d)                        // want `time.Sleep`
	_ = config{now: time.Now}            // want `time.Now`
	time.AfterFunc(d, func() {})         // want `time.AfterFunc`
	kept := time.AfterFunc(d, func() {}) // want `time.AfterFunc`
	_ = start.Add(time.Until(start))     // want `time.Until`
	return kept
}
