package pipeline

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// The elections, in the coordination service. Candidates' values are their machines.
const (
	MirrorElection     = "/pipeline/mirror/"
	ControllerElection = "/pipeline/controller/"
)

// leadership has a process take part in an election for as long as it lives.
//
// Who leads may not know that it no longer does. So leading is only about there being somebody who works, and not
// too many; what keeps a late leader from doing harm are the fences of what it writes to.
type leadership struct {
	h      host.Host
	coord  coord.Client
	prefix string
	ttl    time.Duration
}

// run campaigns, and calls lead whenever the process leads, with a context that is done when it no longer does, as
// far as it knows, and with the term's number, which is greater than those of all terms before. When lead returns it
// resigns.
func (l *leadership) run(lead func(ctx context.Context, term coord.Revision)) {
	for {
		if err := l.once(lead); err != nil {
			l.h.Logf("pipeline: leading %s: %v", l.prefix, err)
		}
		l.h.Clock().Sleep(l.ttl / 8)
	}
}

func (l *leadership) once(lead func(ctx context.Context, term coord.Revision)) error {
	granting, cancel := l.h.Clock().WithTimeout(context.Background(), l.ttl)
	session, err := coord.NewSession(granting, l.h, l.coord, coord.SessionConfig{TTL: l.ttl})
	cancel()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := l.h.Clock().WithTimeout(context.Background(), l.ttl)
		defer cancel()
		_ = session.Close(ctx) // if it fails the lease runs out
	}()
	election := coord.NewElection(session, l.prefix)
	if err := election.Campaign(session.Context(), l.h.Name()); err != nil {
		return err
	}
	ctx, end := host.WithCancel(l.h, context.Background())
	defer end()
	l.h.Go("end of a term", func() {
		host.Select(l.h, host.OnDone(session.Context()), host.OnDone(ctx))
		if l.h.Buggify("pipeline/a leader is late to notice that it leads no more") {
			l.h.Clock().Sleep(l.ttl + time.Duration(l.h.Rand().Int64N(int64(l.ttl))))
		}
		end()
	})
	lead(ctx, election.Revision())
	return session.Err()
}
