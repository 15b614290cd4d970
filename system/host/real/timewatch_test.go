package real

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two tasks wait for one channel. The one that receives its value has been woken by something else in
// that moment; then the other must have it.
func TestReturnedValuesAreOffered(t *testing.T) {
	h, err := New(Config{Name: "a", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer h.Close()
	r, c := h.rt, make(chan time.Time)
	woken := make(chan string, 2)
	watch := func(name string) (w *timeWatch, stop func()) {
		r.Lock()
		defer r.Unlock()
		r.Parker()
		stop = r.WatchTime(c, func() { woken <- name })
		return r.watching[c][len(r.watching[c])-1], stop
	}
	first, stopFirst := watch("first")
	_, stopSecond := watch("second")
	at := time.Now()
	first.received(at)
	require.Equal(t, "first", <-woken, "it is told, though it may not want it any more")
	r.Lock()
	stopFirst()
	r.Unlock()
	require.Equal(t, "second", <-woken)
	r.Lock()
	defer r.Unlock()
	got, ok := r.PollTime(c)
	require.True(t, ok)
	require.Equal(t, at, got)
	_, ok = r.PollTime(c)
	require.False(t, ok)
	stopSecond()
	require.Empty(t, r.watching)
	require.Empty(t, r.returned)
}

// The one that wanted the value has taken it: nobody else is woken.
func TestTakenValuesAreNotOffered(t *testing.T) {
	h, err := New(Config{Name: "a", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer h.Close()
	c := make(chan time.Time)
	h.rt.Lock()
	h.rt.Parker()
	h.rt.WatchTime(c, func() { t.Error("woken for nothing") })
	h.rt.Unlock()
	h.rt.offer(c)
	h.rt.offer(nil)
}
