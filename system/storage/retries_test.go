package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetrySchedule(t *testing.T) {
	cfg := RetryConfig{Tries: 20, Initial: time.Second, Max: 3 * time.Second}
	var waits []time.Duration
	now, total := time.Unix(0, 0), time.Duration(0)
	r := retries{cfg: cfg}
	for {
		wait, ok := r.next(now)
		if !ok {
			break
		}
		waits = append(waits, wait)
		total += wait
		now = now.Add(wait)
	}
	require.Len(t, waits, 20)
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	require.Equal(t, []time.Duration{0, ms(1000), ms(1250), ms(1562.5), ms(1953.125), ms(2441.40625), ms(3000), ms(3000)}, waits[:8])
	require.Equal(t, 3*time.Second, waits[19])
	require.InDelta(t, 50, total.Seconds(), 1)

	// What an attempt takes is part of the wait, and a clock that is set does no harm.
	r = retries{cfg: cfg}
	now = time.Unix(1000, 0)
	for i, step := range []struct {
		later, want time.Duration
	}{{0, 0}, {400 * time.Millisecond, 600 * time.Millisecond}, {5 * time.Second, 0}, {-time.Hour, ms(1562.5)}} {
		now = now.Add(step.later)
		wait, ok := r.next(now)
		require.True(t, ok)
		require.Equal(t, step.want, wait, "%d", i)
		now = now.Add(wait)
	}
}
