package pipeline

import (
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
)

// describe is a view as the compute instance knows it.
func (c *Config) describe(v View) (compute.Description, error) {
	d := compute.Description{ID: v.ID, Plan: v.Plan, Indexes: map[dataflow.SourceID]protocol.GlobalID{}}
	for _, name := range v.Tables {
		i := slices.IndexFunc(c.Tables, func(t Table) bool { return t.Name == name })
		if i < 0 {
			return d, &ConfigError{"view", v.Name, fmt.Sprintf("there is no table %q", name)}
		}
		d.Shards = append(d.Shards, protocol.ShardImport{Name: dataflow.SourceID(name), Shard: TableShard(name), Schema: c.Tables[i].Schema()})
	}
	for _, name := range v.Sinks {
		i := slices.IndexFunc(c.Flows, func(f Flow) bool { return f.Sink == name })
		if i < 0 {
			return d, &ConfigError{"view", v.Name, fmt.Sprintf("there is no flow with the sink %q", name)}
		}
		d.Shards = append(d.Shards, protocol.ShardImport{Name: dataflow.SourceID(name), Shard: SinkShard(name), Schema: dataflow.Schema{Columns: c.Flows[i].Columns}})
	}
	for _, name := range v.Indexes {
		i := slices.IndexFunc(c.Views, func(w View) bool { return w.Name == name && !w.Materialized && w.ID != v.ID })
		if i < 0 {
			return d, &ConfigError{"view", v.Name, fmt.Sprintf("there is no view %q that is an index", name)}
		}
		d.Indexes[dataflow.SourceID(name)] = c.Views[i].ID
	}
	if v.Materialized {
		d.Sink = protocol.Sink{Kind: protocol.Shard, Shard: ViewShard(v.Name)}
		return d, nil
	}
	d.Sink = protocol.Sink{Kind: protocol.Index, Key: v.Key}
	d.Policy = compute.LagBy(milliseconds(c.Retention), 1)
	return d, nil
}

// view finds a view by its name.
func (c *Config) view(name string) (View, bool) {
	i := slices.IndexFunc(c.Views, func(v View) bool { return v.Name == name })
	if i < 0 {
		return View{}, false
	}
	return c.Views[i], true
}
