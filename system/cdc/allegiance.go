package cdc

import (
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// allegiance is the owner that a capture follows: the one of the highest epoch that any part of the capture
// has heard of. It is the capture's for life, so that a processor that is made anew does not fall for an
// owner that the one before it knew to be deposed.
type allegiance struct {
	h     host.Host
	mu    *host.Mutex
	owner model.CaptureID // "" while nobody is known
	epoch coord.Revision
}

func newAllegiance(h host.Host) *allegiance {
	return &allegiance{h: h, mu: host.NewMutex(h, "cdc allegiance")}
}

// follow tells whether an owner is to be heard, which makes it the known one.
func (a *allegiance) follow(owner model.CaptureID, epoch coord.Revision) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case epoch < a.epoch:
		a.h.Sometimes("cdc: an agent ignores a deposed owner", true)
		return false
	case epoch > a.epoch:
		a.owner, a.epoch = owner, epoch
	case owner != a.owner:
		a.h.Unreachable("cdc: two owners of one epoch", "%s and %s of %d", a.owner, owner, epoch)
		return false
	}
	return true
}

// known is the owner that is followed.
func (a *allegiance) known() (owner model.CaptureID, epoch coord.Revision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.owner, a.epoch
}
