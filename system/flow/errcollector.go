package flow

import (
	"github.com/simrun-dev/simrun/system/host"
)

// errCollector keeps a flow's errors until they are logged: the first ones, and how many more there were.
type errCollector struct {
	mu   *host.Mutex
	max  int
	errs []error
	more int // that were not kept
}

func newErrCollector(h host.Host, max int) *errCollector {
	return &errCollector{mu: host.NewMutex(h, "error collector"), max: max}
}

func (c *errCollector) push(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.errs) == c.max {
		c.more++
		return
	}
	c.errs = append(c.errs, err)
}

// drain returns the errors and forgets them.
func (c *errCollector) drain() (errs []error, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs, more = c.errs, c.more
	c.errs, c.more = nil, 0
	return errs, more
}
