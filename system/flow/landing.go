package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/host"
)

// landing is where the results of a flow have gone since it began.
type landing struct {
	mu *host.Mutex
	// table is the one that has had the whole result, and the changes of it since.
	table catalog.TableID
	// lost: there were results for which there was no table, or another one of that name, which lacks what
	// they change.
	lost bool
	// refused is why the sink did not take results.
	refused error
}

func newLanding(h host.Host) *landing { return &landing{mu: host.NewMutex(h, "landing")} }

// at is the table that has had the whole result, and why it lacks some, if it does.
func (l *landing) at() (catalog.TableID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table, l.refused
}

func (l *landing) set(table catalog.TableID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table = table
}

func (l *landing) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

func (l *landing) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
}

// ashore tells whether the whole result is where it will be: in a table, or lost. Until then it is on its way, and
// finds out by itself whether there is a table for it.
func (l *landing) ashore() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost || l.table != 0
}

// landed notes that outputs are in a table.
func landed(outputs []output, table catalog.TableID) {
	for _, o := range outputs {
		if o.whole {
			o.landing.set(table)
		}
	}
}

// strand notes that outputs are nowhere, since their sink is gone: if it comes back their flows are to begin
// anew.
func strand(outputs []output) {
	for _, o := range outputs {
		o.landing.lose()
	}
}

// ashore are the flows whose sink may have become another table than the one with their results without their having
// anything to write that would tell.
func (m *Manager) ashore() []*registration {
	return slices.DeleteFunc(m.context.allFlows(), func(r *registration) bool { return !r.landing.ashore() })
}

// intact sees to it that the table that a flow has for its sink is the one that has had its whole result:
// if it is another one the flow begins anew. A sink that is gone is left alone. The error is
// [ErrInvalidInsert] if the sink did not take what the flow has put out.
func (m *Manager) intact(ctx context.Context, r *registration) error {
	table, err := m.existingTable(ctx, r.args.Sink)
	if err != nil || table == nil {
		return err
	}
	at, refused := r.landing.at()
	switch {
	case refused != nil:
		return fmt.Errorf("flow %s: its sink does not take its results: %w", r.args.Name, refused)
	case at == table.ID:
		return nil
	}
	return m.beginAnew(ctx, r)
}
