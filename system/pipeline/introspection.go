package pipeline

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

// introspection keeps the collections that tell of the pipeline itself.
//
// Its tasks begin read-only, so that what a former leader has left there stays until all is known that is to
// be there instead.
type introspection struct {
	c          *Controller
	controller *compute.Controller
	admin      *cdc.Admin
	manager    *storage.CollectionManager
	writable   bool
	kept       map[string]*kept
}

// kept is one collection.
type kept struct {
	sender *storage.DifferentialSender
	sent   map[string]bool // what it was told to be; nil before it was told
}

func newIntrospection(c *Controller, controller *compute.Controller) *introspection {
	return &introspection{
		c: c, controller: controller, admin: cdc.NewAdmin(c.h, c.links.Coord, c.links.Source), kept: map[string]*kept{},
		manager: storage.NewCollectionManager(c.h, storage.ManagerConfig{
			ReadOnly: true, UpperTickInterval: c.cfg.IntrospectionInterval, BatchDuration: c.cfg.IntrospectionInterval / 4,
		}),
	}
}

// refresh tells the tasks what has become different.
func (i *introspection) refresh(ctx context.Context) {
	ctx, cancel := i.c.h.Clock().WithTimeout(ctx, i.c.cfg.CallTimeout)
	defer cancel()
	for _, name := range SystemCollections() {
		if i.kept[name] == nil {
			if err := i.register(ctx, name); err != nil {
				i.c.h.Logf("controller: collection %s: %v", name, err)
				return
			}
		}
		rows, err := i.rows(ctx, name)
		if err != nil {
			i.c.h.Logf("controller: what is to be in %s: %v", name, err)
			continue
		}
		i.kept[name].tell(rows)
	}
	if !i.writable && i.complete() {
		i.writable = true
		i.manager.AllowWrites()
	}
}

func (i *introspection) complete() bool {
	for _, name := range SystemCollections() {
		if i.kept[name] == nil || i.kept[name].sent == nil {
			return false
		}
	}
	return true
}

func (i *introspection) register(ctx context.Context, name string) error {
	client, shard := i.c.links.Persist, SystemShard(name)
	w, err := client.OpenWriter(ctx, shard)
	if err != nil {
		return err
	}
	sender, err := i.manager.RegisterDifferential(storage.GlobalID("sys-"+name), storage.DifferentialCollection{
		Writer:     w,
		OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, shard) },
	})
	if err != nil {
		w.Close()
		return err
	}
	i.kept[name] = &kept{sender: sender}
	return nil
}

// tell makes the collection hold rows, by one command.
func (k *kept) tell(rows map[string]bool) {
	var updates []storage.RowDiff
	for _, row := range slices.Sorted(maps.Keys(k.sent)) {
		if !rows[row] {
			updates = append(updates, storage.RowDiff{Row: row, Diff: -1})
		}
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		if !k.sent[row] {
			updates = append(updates, storage.RowDiff{Row: row, Diff: 1})
		}
	}
	if k.sent == nil || len(updates) > 0 {
		k.sender.Send(storage.Append{Updates: updates}, nil)
	}
	k.sent = rows
}

// rows are what is to be in a collection.
func (i *introspection) rows(ctx context.Context, name string) (map[string]bool, error) {
	rows := map[string]bool{}
	row := func(columns ...string) {
		data := make([]dataflow.Datum, len(columns))
		for k, c := range columns {
			data[k] = dataflow.String(c)
		}
		rows[string(dataflow.Pack(data...))] = true
	}
	switch name {
	case SystemReplicas:
		for _, id := range i.controller.Replicas() {
			status, err := i.controller.Replica(id)
			if err != nil {
				return nil, err
			}
			row(string(id), choose(status.Connected, "connected", "away"), choose(status.Hydrated, "hydrated", "behind"))
		}
	case SystemSpans:
		scheduled, err := i.admin.Scheduled(ctx, i.c.cfg.Feed)
		if err != nil {
			return nil, err
		}
		for capture, s := range scheduled { // rows are a set
			for _, span := range s.Running {
				row(strconv.FormatUint(span, 10), capture)
			}
		}
	case SystemFlows:
		flows, _, err := i.c.links.Tables.Flows(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			row(f.Name.String(), f.Sink.String(), f.Node)
		}
	}
	return rows, nil
}

func choose(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// close ends the tasks without waiting for them.
func (i *introspection) close() {
	i.c.h.Go("end introspection", func() {
		ctx, cancel := i.c.h.Clock().WithTimeout(context.Background(), i.c.cfg.CallTimeout)
		defer cancel()
		_ = i.manager.Shutdown(ctx) // the tasks end all the same
	})
}
