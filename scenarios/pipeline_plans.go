package scenarios

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/pipeline"
)

// What the pipeline replicates and computes: two tables, on which both engines compute sums, which are taken back and
// made anew by updates, and a join.
const (
	itemsTable  = "items"
	labelsTable = "labels"

	itemsView  = "items_now"
	totalsView = "totals"
	joinedView = "by_label"
	topView    = "top"
	sumsView   = "sums_now"

	sumsSink  = "sums"
	sizesSink = "sizes"
)

var (
	words    = dataflow.Type(dataflow.KindString)
	whole    = dataflow.Type(dataflow.KindInt64)
	asOfType = dataflow.Column{Name: pipeline.AsOfColumn, Type: whole.OrNull()}

	pipelineTables = []pipeline.Table{
		{Name: itemsTable, Prefix: "items/", Columns: []dataflow.Column{{Name: "key", Type: words}, {Name: "grp", Type: words}, {Name: "v", Type: whole}}},
		{Name: labelsTable, Prefix: "labels/", Columns: []dataflow.Column{{Name: "key", Type: words}, {Name: "label", Type: words}, {Name: "weight", Type: whole}}},
	}
	pipelineCatalog = func() dataflow.Catalog {
		c := dataflow.Catalog{}
		for _, t := range pipelineTables {
			c[dataflow.SourceID(t.Name)] = t.Schema()
		}
		return c
	}
)

// pipelineFlow is a flow, and the same by hand, without the mark.
type pipelineFlow struct {
	pipeline.Flow
	meaning dataflow.Plan
}

// replacement is the statement that defines the flow anew, with some query.
func (f *pipelineFlow) replacement(query string) string {
	return fmt.Sprintf("CREATE OR REPLACE FLOW %s SINK TO %s AS %s", f.Name, f.Sink, query)
}

var (
	items, labels = dataflow.Get(itemsTable), dataflow.Get(labelsTable)
	noMark        = dataflow.NullOf(dataflow.KindInt64)

	sumsQuery    = "SELECT grp, count(*) AS n, sum(v) AS total, max(as_of) AS as_of FROM items GROUP BY grp"
	sumsMeaning  = items.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll(), dataflow.Sum(dataflow.Col(2))).Map(noMark)
	greatQuery   = "SELECT grp, count(*) AS n, max(v) AS total, max(as_of) AS as_of FROM items GROUP BY grp"
	greatMeaning = items.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll(), dataflow.Max(dataflow.Col(2))).Map(noMark)
	sumsColumns  = []dataflow.Column{{Name: "grp", Type: words}, {Name: "n", Type: whole}, {Name: "total", Type: whole.OrNull()}, asOfType}

	pipelineFlows = []pipelineFlow{
		{pipeline.Flow{Name: "sum_up", Sink: sumsSink, SQL: sumsQuery, Columns: sumsColumns}, sumsMeaning},
		{
			pipeline.Flow{
				Name: "size_up", Sink: sizesSink,
				SQL:     "SELECT label, count(*) AS n, min(weight) AS least, max(as_of) AS as_of FROM labels GROUP BY label",
				Columns: []dataflow.Column{{Name: "label", Type: words}, {Name: "n", Type: whole}, {Name: "least", Type: whole.OrNull()}, asOfType},
			},
			labels.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll(), dataflow.Min(dataflow.Col(2))).Map(noMark),
		},
	}
)

// passingFlow is one that comes and goes.
func passingFlow(n int) pipelineFlow {
	return pipelineFlow{
		pipeline.Flow{Name: fmt.Sprintf("passing_%d", n), Sink: fmt.Sprintf("passing_%d_out", n), SQL: sumsQuery, Columns: sumsColumns}, sumsMeaning,
	}
}

// pipelineView is a view, and what it is in terms of tables, or of a sink.
type pipelineView struct {
	pipeline.View
	meaning dataflow.Plan
	sink    string
}

var (
	totalsPlan = func(items dataflow.Plan) dataflow.Plan {
		return items.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll(), dataflow.Sum(dataflow.Col(2)))
	}
	byLabel = func(items dataflow.Plan) dataflow.Plan {
		return items.Join(labels, dataflow.On{Left: 1, Right: 0}).Reduce([]dataflow.Expr{dataflow.Col(4)}, dataflow.Sum(dataflow.Col(2)), dataflow.CountAll())
	}
	topPlan = func(totals dataflow.Plan) dataflow.Plan {
		return totals.TopK(nil, []dataflow.Order{{Column: 2, Desc: true}, {Column: 0}}, 2, 0)
	}

	pipelineViews = []pipelineView{
		{View: pipeline.View{ID: 1, Name: itemsView, Plan: items, Tables: []string{itemsTable}, Key: []int{0}}, meaning: items},
		{View: pipeline.View{ID: 2, Name: totalsView, Plan: totalsPlan(dataflow.Get(itemsView)), Indexes: []string{itemsView}, Key: []int{0}}, meaning: totalsPlan(items)},
		{
			View: pipeline.View{ID: 3, Name: joinedView, Plan: byLabel(items), Tables: []string{itemsTable, labelsTable}, Materialized: true}, meaning: byLabel(items),
		},
		{
			View: pipeline.View{ID: 4, Name: topView, Plan: topPlan(dataflow.Get(totalsView)), Indexes: []string{totalsView}, Key: []int{0}}, meaning: topPlan(totalsPlan(items)),
		},
		{
			View:    pipeline.View{ID: 5, Name: sumsView, Plan: dataflow.Get(sumsSink), Sinks: []string{sumsSink}, Key: []int{0}},
			meaning: dataflow.Get(sumsSink), sink: sumsSink,
		},
	}
)

// Keys of the source. Each of the items' key spans has a few.
const (
	keysOfSpan  = 5
	itemGroups  = 4
	labelsSpan  = model.KeySpanID(1)
	firstOfItem = model.KeySpanID(2)
)

func pipelineSpan(id model.KeySpanID) (start, end string) {
	if id == labelsSpan {
		return "labels/", "labels0"
	}
	return fmt.Sprintf("items/%04d/", id), fmt.Sprintf("items/%04d0", id)
}
