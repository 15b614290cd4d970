package frontend

import (
	"context"
	"slices"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
)

// insertRequest is a change of a table as it is mirrored.
func insertRequest(t *table, b flow.Batch) flow.InsertRequest {
	r := flow.InsertRequest{Region: flow.NewRegionID(t.ID, 0), Seq: b.Seq}
	for _, c := range t.Columns {
		r.Columns = append(r.Columns, c.Name)
	}
	for _, row := range b.Rows {
		for n := row.Diff; n > 0; n-- {
			r.Rows = append(r.Rows, row.Row)
		}
		for n := row.Diff; n < 0; n++ {
			r.Retracted = append(r.Retracted, row.Row)
		}
	}
	return r
}

// mirror tells the nodes with flows that read the table what has changed in it. It does not wait, and
// nobody is told what became of it.
func (f *Frontend) mirror(t *table, r flow.InsertRequest) {
	for _, name := range f.readers(t.ID) {
		node := f.mirrors[name]
		if node == nil {
			continue
		}
		f.h.Go("mirror of "+t.Name.String(), func() {
			if f.h.Buggify("flow/lost mirror") {
				return
			}
			for again := true; again; {
				ctx, cancel := f.h.Clock().WithTimeout(context.Background(), f.cfg.MirrorTimeout)
				_, err := node.HandleInserts(ctx, flow.InsertRequests{Requests: []flow.InsertRequest{r}})
				cancel()
				if err != nil {
					f.h.Logf("frontend: change %d of %s is not mirrored to %s: %v", r.Seq, t.Name, name, err)
				}
				again = f.h.Buggify("flow/duplicated mirror")
			}
		})
	}
}

// readers are the nodes with flows that read a table, sorted, as far as the frontend knows.
func (f *Frontend) readers(id catalog.TableID) []string {
	var nodes []string
	for _, fl := range f.catalog.KnownFlows() {
		if slices.Contains(fl.Sources, id) && !slices.Contains(nodes, fl.Node) {
			nodes = append(nodes, fl.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// packed are rows of some of the table's columns as they are mirrored: as the statement has them.
func packed(rows [][]dataflow.Datum) []dataflow.Row {
	list := make([]dataflow.Row, len(rows))
	for i, r := range rows {
		list[i] = dataflow.Pack(r...)
	}
	return list
}
