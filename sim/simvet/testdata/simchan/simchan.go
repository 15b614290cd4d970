package simchan

import (
	"context"
	"reflect"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

func misuses(c chan int, ctx context.Context, timer <-chan time.Time) {
	c <- 1       // want `a send on a bare channel wakes and waits for what the simulator does not schedule, and blocks .*: use host.Chan \(simchan\)`
	<-c          // want `a receive from a bare channel waits for what the simulator does not schedule`
	v, ok := <-c // want `a receive from a bare channel`
	_, _ = v, ok
	for range c { // want `ranging over a bare channel`
	}
	close(c)     // want `closing a bare channel wakes goroutines`
	<-ctx.Done() // want `a bare receive from a context's Done blocks .*: use host.Select with host.OnDone`
	<-timer      // want `a bare receive from a timer blocks .*so that the timer never fires`
	select {     // want `a select statement waits for bare channels`
	case <-c:
	case v, ok := <-c:
		_, _ = v, ok
	case c <- 1:
		<-c // want `a receive from a bare channel`
	}
	select { // want `a select statement waits for bare channels`
	case <-ctx.Done():
	}
	select { // want `a select statement chooses among the ready cases with the runtime's own randomness: use host.TrySelect`
	case <-c:
	case <-timer:
	default:
	}
	select {} // want `an empty select blocks the only thread that the simulation has for ever`
}

func reflected(c reflect.Value) {
	c.Recv()            // want `reflect.Value.Recv waits for a bare channel`
	reflect.Select(nil) // want `reflect.Select waits for a bare channel`
}

func right(h host.Host, ctx context.Context, c *host.Chan[int], timer <-chan time.Time) {
	c.Send(1)
	v, _ := c.Recv()
	host.Select(h, c.OnRecv(&v, nil), host.OnDone(ctx), host.OnTime(timer, nil))
	select { // a poll neither waits nor chooses
	case <-ctx.Done():
	default:
	}
	c.Close()
	_ = -v
}
