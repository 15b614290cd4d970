package scenarios

import (
	"slices"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// The tables, each in a shard of its own name.
const (
	valueTable = "values"
	groupTable = "groups"
	// fixedTable is written once, and closed: what is complete for ever is told of only once.
	fixedTable = "fixed"
)

var (
	keyed = func(name string) dataflow.Schema {
		return dataflow.NewSchema(
			dataflow.Column{Name: "key", Type: dataflow.Type(dataflow.KindInt64)},
			dataflow.Column{Name: name, Type: dataflow.Type(dataflow.KindInt64)},
		)
	}
	tableCatalog = dataflow.Catalog{valueTable: keyed("value"), groupTable: keyed("group"), fixedTable: keyed("value")}
)

// computePlan is a collection: what a dataflow computes, and what that means in terms of tables.
type computePlan struct {
	id      protocol.GlobalID // 0 is one of its own
	plan    dataflow.Plan
	shards  []protocol.ShardImport
	indexes map[dataflow.SourceID]protocol.GlobalID
	sink    protocol.Sink
	meaning dataflow.Plan
}

func (p *computePlan) describe() compute.Description {
	d := compute.Description{ID: p.id, Plan: p.plan, Shards: p.shards, Indexes: p.indexes, Sink: p.sink}
	if p.sink.Kind == protocol.Index {
		d.Policy = compute.StepBack()
	}
	return d
}

const (
	baseID protocol.GlobalID = iota + 1
	sumsID
	joinedID
	countedID
	writtenID
	rereadID
	failingID
	fixedID
)

// writtenShard is the shard that a collection is written to.
const writtenShard = "written"

var (
	values    = dataflow.Get(valueTable)
	groups    = dataflow.Get(groupTable)
	byKey     = dataflow.On{Left: 0, Right: 0}
	indexed   = protocol.Sink{Kind: protocol.Index, Key: []int{0}}
	important = func(names ...dataflow.SourceID) (shards []protocol.ShardImport) {
		for _, name := range names {
			shards = append(shards, protocol.ShardImport{Name: name, Shard: persist.ShardID(name), Schema: tableCatalog[name]})
		}
		return shards
	}

	sumsPlan = func(from dataflow.Plan) dataflow.Plan {
		return from.Reduce([]dataflow.Expr{dataflow.Mod(dataflow.Col(0), dataflow.Lit(dataflow.Int(3)))}, dataflow.Sum(dataflow.Col(1)), dataflow.CountAll())
	}
	joinedPlan = func(from dataflow.Plan) dataflow.Plan {
		return from.Join(groups, byKey).Reduce([]dataflow.Expr{dataflow.Col(3)}, dataflow.Sum(dataflow.Col(1)))
	}
	// countedPlan reads an index by another key than the index has: its rows go from worker to worker.
	countedPlan = func(from dataflow.Plan) dataflow.Plan {
		return from.Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.CountAll(), dataflow.Sum(dataflow.Col(0)))
	}
	writtenPlan = values.Join(groups, byKey).Project(0, 1, 3)
	rereadPlan  = func(from dataflow.Plan) dataflow.Plan {
		return from.TopK([]int{2}, []dataflow.Order{{Column: 1, Desc: true}}, 2, 0)
	}
	failingPlan = values.Map(dataflow.Div(dataflow.Lit(dataflow.Int(100)), dataflow.Sub(dataflow.Col(1), dataflow.Lit(dataflow.Int(5)))))
	fixedPlan   = sumsPlan(dataflow.Get(fixedTable))
)

// computePlans are the collections that are there all the time.
var computePlans = []*computePlan{
	{id: baseID, plan: values, shards: important(valueTable), sink: indexed, meaning: values},
	{id: sumsID, plan: sumsPlan(values), shards: important(valueTable), sink: indexed, meaning: sumsPlan(values)},
	{
		id: joinedID, plan: joinedPlan(dataflow.Get("base")), shards: important(groupTable), sink: indexed, meaning: joinedPlan(values),
		indexes: map[dataflow.SourceID]protocol.GlobalID{"base": baseID},
	},
	{
		id: countedID, plan: countedPlan(dataflow.Get("base")), sink: indexed, meaning: countedPlan(values),
		indexes: map[dataflow.SourceID]protocol.GlobalID{"base": baseID},
	},
	{
		id: writtenID, plan: writtenPlan, shards: important(valueTable, groupTable), meaning: writtenPlan,
		sink: protocol.Sink{Kind: protocol.Shard, Shard: writtenShard},
	},
	{
		id: rereadID, plan: rereadPlan(dataflow.Get(writtenShard)), sink: indexed, meaning: rereadPlan(writtenPlan),
		shards: []protocol.ShardImport{{Name: writtenShard, Shard: writtenShard, Schema: dataflow.NewSchema(
			slices.Concat(keyed("value").Columns, keyed("group").Columns[1:])...,
		)}},
	},
	{id: failingID, plan: failingPlan, shards: important(valueTable), sink: indexed, meaning: failingPlan},
	{id: fixedID, plan: fixedPlan, shards: important(fixedTable), sink: indexed, meaning: fixedPlan},
}
