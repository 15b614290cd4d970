package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// final judges what everything has come to once faults and users are done.
func (c *flowCluster) final() error {
	if err := c.converge(); err != nil {
		return err
	}
	if _, err := c.watch.upper(eventsTable); err != nil {
		return err
	}
	for _, u := range c.users {
		u.model.Accepted(eventsTable, u.accepted, u.moment())
		for _, s := range u.slots {
			if err := u.finish(s); err != nil {
				return err
			}
		}
	}
	u := c.users[0]
	last := u.slots[0]
	draw := sim.NewStream(u.choices.Uint64(), "final")
	if err := c.restored(draw); err != nil {
		return err
	}
	for tries := 0; !u.badCreate(draw); tries++ {
		if tries == 20 {
			return fmt.Errorf("a flow that can't be is not refused")
		}
	}
	u.drop(last)
	if last.murky || last.current != nil {
		return fmt.Errorf("flow %s can't be dropped", last.name)
	}
	u.insertEvents(draw)
	c.watch.h.Clock().Sleep(2 * time.Second)
	for _, u := range c.users {
		for _, s := range u.slots {
			for _, sink := range sortedKeys(s.stopped) {
				u.stillStopped(s, sink, s.stopped[sink])
			}
		}
	}
	return c.tidy()
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// converge waits until all flows have what their tables hold.
func (c *flowCluster) converge() error {
	u := c.users[0]
	deadline := c.watch.h.Clock().Now().Add(convergeTime)
	for {
		ctx, cancel := c.watch.ask()
		missing, err := c.refilling(ctx)
		cancel()
		if err != nil {
			return err
		}
		late := c.watch.h.Clock().Now().After(deadline)
		if missing == "" || late {
			u.model.Holds(models.OracleRefillConverges, missing == "", u.moment(), "%v after the last fault: %s", convergeTime, missing)
			return nil
		}
		c.watch.h.Clock().Sleep(100 * time.Millisecond)
	}
}

// finish judges a flow at rest.
func (u *flowUser) finish(s *flowSlot) error {
	for tries := 0; s.fixed != nil && s.current == nil; tries++ {
		if tries == 10 {
			return fmt.Errorf("flow %s can't be created", s.name)
		}
		u.create(s, sim.NewStream(u.choices.Uint64(), "fixed"), false)
		if s.murky {
			u.settle(s)
		}
	}
	if s.current == nil || s.murky {
		return nil
	}
	if err := u.rests(s); err != nil {
		return err
	}
	deadline := u.watch.h.Clock().Now().Add(convergeTime)
	for !u.flush(s) {
		if u.watch.h.Clock().Now().After(deadline) {
			u.model.Holds(models.OracleRefillConverges, false, u.moment(), "flow %s can't be flushed within %v after the last fault", s.name, convergeTime)
			return nil
		}
		u.watch.h.Clock().Sleep(100 * time.Millisecond)
	}
	upper, err := u.watch.upper(s.current.table)
	if err == nil {
		u.see(models.OracleSinkEqualsQuery, s, upper)
	}
	return err
}

// tidy judges that the nodes have what their flows need, and nothing else.
func (c *flowCluster) tidy() error {
	u := c.users[0]
	var sources, running []string
	for _, name := range c.nodeNames {
		s := c.nodes[name].node.Status()
		ctx, cancel := c.watch.ask()
		list, _, err := c.watch.catalog.Flows(ctx)
		cancel()
		if err != nil {
			return err
		}
		sources, running = nil, nil
		for _, f := range list {
			if f.Node != name {
				continue
			}
			running = append(running, fmt.Sprint(f.ID))
			for _, t := range f.Sources {
				if !slices.Contains(sources, t.String()) {
					sources = append(sources, t.String())
				}
			}
		}
		slices.Sort(sources)
		has := mapped(s.Sources, catalog.TableID.String)
		slices.Sort(has)
		u.model.Holds(models.OracleCreateAtomic, slices.Equal(has, sources), u.moment(),
			"%s has the sources %v, and its flows read %v", name, has, sources)
		u.model.Holds(models.OracleCreateAtomic, slices.Equal(mapped(s.Flows, func(id catalog.FlowID) string { return fmt.Sprint(id) }), running),
			u.moment(), "%s runs the flows %v, and the catalog gives it %v", name, s.Flows, running)
	}
	return nil
}

func mapped[T any](list []T, f func(T) string) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = f(v)
	}
	return all
}
