package real

import (
	"fmt"
	"reflect"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// parker blocks one goroutine, and is used again once it has been woken.
type parker struct {
	rt    *hostRuntime
	woken chan struct{} // of capacity 1, sent to once
	times []*timeWatch  // whose channels it receives from as well
}

// Unpark implements host.Parker.
func (p *parker) Unpark() { p.woken <- struct{}{} }

// Park implements host.Parker.
func (p *parker) Park(why host.Wait) {
	switch len(p.times) {
	case 0:
		select {
		case <-p.woken:
		case <-p.rt.h.life.Done():
			p.unwind(why)
		}
	case 1:
		w := p.times[0]
		select {
		case <-p.woken:
		case at := <-w.c:
			w.received(at)
			<-p.woken
		case <-p.rt.h.life.Done():
			p.unwind(why)
		}
	default:
		p.parkForMany(why)
	}
	clear(p.times)
	p.times = p.times[:0]
	p.rt.parkers.Put(p)
}

// parkForMany is Park for any number of timers.
func (p *parker) parkForMany(why host.Wait) {
	receive := func(c any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	cases := make([]reflect.SelectCase, 0, 2+len(p.times))
	cases = append(cases, receive(p.woken), receive(p.rt.h.life.Done()))
	for _, w := range p.times {
		cases = append(cases, receive(w.c))
	}
	switch i, v, _ := reflect.Select(cases); i {
	case 0:
	case 1:
		p.unwind(why)
	default:
		p.times[i-2].received(v.Interface().(time.Time))
		<-p.woken
	}
}

// unwind ends the goroutine, since the host is closed; unless it was woken at the same time, which is
// how those who wait for the network learn that.
func (p *parker) unwind(why host.Wait) {
	select {
	case <-p.woken:
		return
	default:
	}
	p.rt.mu.Lock()
	why.Abandon()
	p.rt.mu.Unlock()
	p.rt.h.unwind(why.String())
}

// unwind ends the calling task, which waits for what will not come since the host is closed.
func (h *Host) unwind(wait string) {
	exitTask()
	panic(fmt.Sprintf("real: host %q was closed while a goroutine waited to %s that is not one of its tasks: start it with Host.Go", h.cfg.Name, wait))
}
