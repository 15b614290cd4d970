package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// rests judges that a flow's sink comes to hold all by itself: a flush, which would mend much, is not asked for. Nobody
// changes the source meanwhile.
func (u *flowUser) rests(s *flowSlot) error {
	upper, err := u.watch.upper(s.current.table)
	if err != nil {
		return err
	}
	deadline := u.watch.h.Clock().Now().Add(convergeTime)
	for {
		rows, _, err := u.execute(s.current.read())
		late := u.watch.h.Clock().Now().After(deadline)
		switch {
		case err == nil && (late || u.model.Shows(s.current.query, rows)):
			u.model.Seen(models.OracleSinkConverges, s.current.query, upper, upper, rows, u.moment())
			return nil
		case late:
			u.model.Holds(models.OracleSinkConverges, false, u.moment(), "flow %s: its sink can't be read within %v: %v", s.name, convergeTime, err)
			return nil
		}
		u.watch.h.Clock().Sleep(100 * time.Millisecond)
	}
}

// restoreSink drops the sink of a flow at rest and makes it anew just as it was. In half of the cases that meets the
// whole result of the flow on its way, as the flow is defined anew just before.
func (u *flowUser) restoreSink(s *flowSlot, draw *sim.Stream) error {
	ctx, cancel := u.watch.ask()
	t, err := u.watch.catalog.Table(ctx, catalog.Public(s.current.sink))
	cancel()
	if err != nil {
		return err
	}
	if draw.N(2) == 0 {
		if err := u.insist(s.current.create("CREATE OR REPLACE FLOW", s.name)); err != nil {
			return err
		}
	}
	if err := u.insist("DROP TABLE IF EXISTS " + s.current.sink); err != nil {
		return err
	}
	u.watch.h.Clock().Sleep(sim.Exp(0, time.Second).Sample(draw.Uint64()))
	if err := u.insist(strings.Replace(t.String(), "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)); err != nil {
		return err
	}
	s.flushed = false
	return nil
}

// insist executes a statement that does no harm when it is executed twice.
func (u *flowUser) insist(text string) error {
	for tries := 1; ; tries++ {
		_, _, err := u.execute(text)
		if err == nil {
			return nil
		}
		if tries == 20 {
			return fmt.Errorf("%s: %w", text, err)
		}
		u.watch.h.Clock().Sleep(poll)
	}
}

// restored has a sink made anew under one of the flows that have it for themselves, if there are any.
func (c *flowCluster) restored(draw *sim.Stream) error {
	var owners []*flowUser
	var slots []*flowSlot
	for _, u := range c.users {
		for _, s := range u.slots {
			if s.current != nil && s.current.src == "" {
				owners, slots = append(owners, u), append(slots, s)
			}
		}
	}
	if len(slots) == 0 {
		return nil
	}
	n := draw.N(uint64(len(slots)))
	if err := owners[n].restoreSink(slots[n], draw); err != nil {
		return err
	}
	return owners[n].rests(slots[n])
}
