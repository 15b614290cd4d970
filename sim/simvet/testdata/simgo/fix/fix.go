package fix

import "github.com/simrun-dev/simrun/system/host"

type server struct {
	n int
	h host.Host
}

func (s *server) serve() {
	go func() { // want `a go statement`
		work(s.n)
	}()
}

func work(int) {}

func tasks(h host.Host, n int) {
	go func() { work(n) }()       // want `a go statement`
	go func(n int) { work(n) }(n) // want `a go statement`
	{
		h := 1
		go func() { work(h) }() // want `a go statement`
	}
}
