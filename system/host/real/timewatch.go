package real

import (
	"slices"
	"time"
)

// timeWatch is a Select waiting for a timer channel. A channel can't be watched without receiving from
// it, so the task itself does, in Park. When it has received a value, another case may have been
// chosen in that same moment; then the value is returned: it is the next that PollTime finds.
//
// All other values stay in the timer until they are wanted. So Stop and Reset, which drop what was not
// received, drop these as well; one that was returned is past that, as one just received is.
type timeWatch struct {
	rt   *hostRuntime
	c    <-chan time.Time
	wake func()

	got  bool // guarded by rt.mu
	when time.Time
}

func (r *hostRuntime) WatchTime(c <-chan time.Time, wake func()) (stop func()) {
	w := &timeWatch{rt: r, c: c, wake: wake}
	r.asked.times = append(r.asked.times, w)
	r.watching[c] = append(r.watching[c], w)
	return w.stop
}

// received is called by the task that waits, with what it has received.
func (w *timeWatch) received(when time.Time) {
	w.rt.mu.Lock()
	w.got, w.when = true, when
	w.rt.mu.Unlock()
	w.wake()
}

// stop ends the watch, whether or not it was for its channel that the task was woken. The lock is held.
func (w *timeWatch) stop() {
	r := w.rt
	others := slices.DeleteFunc(r.watching[w.c], func(o *timeWatch) bool { return o == w })
	if len(others) == 0 {
		delete(r.watching, w.c)
	} else {
		r.watching[w.c] = others
	}
	if !w.got {
		return
	}
	r.returned[w.c] = append(r.returned[w.c], w.when)
	if len(others) > 0 {
		go r.offer(w.c) // once this task has had its chance
	}
}

// offer wakes a task that watches a channel, if there is something for it that it does not know of.
func (r *hostRuntime) offer(c <-chan time.Time) {
	var wake func()
	r.mu.Lock()
	if len(r.returned[c]) > 0 && len(r.watching[c]) > 0 {
		wake = r.watching[c][0].wake
	}
	r.mu.Unlock()
	if wake != nil {
		wake()
	}
}

func (r *hostRuntime) PollTime(c <-chan time.Time) (time.Time, bool) {
	if values := r.returned[c]; len(values) > 0 {
		if len(values) == 1 {
			delete(r.returned, c)
		} else {
			r.returned[c] = values[1:]
		}
		return values[0], true
	}
	select {
	case at := <-c:
		return at, true
	default:
		return time.Time{}, false
	}
}
