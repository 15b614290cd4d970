package simgo

import (
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/simrun-dev/simrun/system/host"
)

func work(int) {}

func misuses() {
	go work(1)     // want `a go statement starts a goroutine that the simulator neither schedules nor sees: use Host.Go \(simgo\)`
	go func() {}() // want `a go statement`
	var wg sync.WaitGroup
	wg.Go(func() {}) // want `sync.WaitGroup.Go starts a goroutine`
	var g errgroup.Group
	g.Go(func() error { return nil })    // want `errgroup.Group.Go starts a goroutine`
	g.TryGo(func() error { return nil }) // want `errgroup.Group.TryGo starts a goroutine`
	start := wg.Go                       // want `sync.WaitGroup.Go starts a goroutine`
	start(func() {})
}

func right(h host.Host) {
	h.Go("work", func() { work(1) })
	wg := host.NewWaitGroup(h, "all")
	wg.Go(h, "work", func() {})
	wg.Wait()
	func() { work(1) }()
}
