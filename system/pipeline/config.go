package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Config is one pipeline: where its processes are, what it replicates, and what it computes. All processes
// are started with the same.
type Config struct {
	Topology Topology
	// Feed is the changefeed. Default "pipeline".
	Feed string
	// Tables are what of the source is replicated.
	Tables []Table
	// Flows are the continuous queries that there are from the start. More can be created through a frontend.
	Flows []Flow
	// Views are the collections of the compute instance, each after those that it reads.
	Views []View
	// Interval is how often the mirror looks for a new checkpoint and for what flows have written, and
	// so about how long a step is. Default 200 ms.
	Interval time.Duration
	// IntrospectionInterval is how often introspection collections are brought up to date. Default 1 s.
	IntrospectionInterval time.Duration
	// SessionTTL is how long the leading controller may go unheard before another takes over. Default 10 s.
	SessionTTL time.Duration
	// CallTimeout bounds single calls to other processes. Default 2 s.
	CallTimeout time.Duration
	// Workers is how many share the work of a replica. Default 1.
	Workers int
	// Retention is for how many milliseconds tables, sinks and views can still be read. Default 2000.
	Retention uint64

	// The parts' own. What they must be given of each other is filled in.
	Persist  persist.Config
	Capture  cdc.Config
	Frontend frontend.Config
	Flow     flow.Config
	Compute  compute.Config
	Replica  compute.ReplicaConfig
	// Parameters are what replicas are told; what is zero is theirs.
	Parameters protocol.Parameters
}

// Topology names the machines.
type Topology struct {
	Blob, Consensus, Coord, Source string
	// Captures, Mirrors and the rest each do the same work; one of the Controllers leads.
	Captures, Frontends, FlowNodes, Mirrors, Controllers, Replicas []string
}

// Ports of processes that this package serves itself. The rest listen where their packages say.
const (
	BlobPort       = "blob"
	ConsensusPort  = "consensus"
	CoordPort      = "coord"
	SourcePort     = "source"
	ReplicaPort    = "compute"
	ControllerPort = "controller"
)

// Table is a part of the source's keys, as a collection of rows. A key is a row's first column, a string,
// behind the table's prefix; its value is the encoding of the others, [EncodeValue]. Key spans that begin
// with the prefix are the table's.
type Table struct {
	Name    string
	Prefix  string
	Columns []dataflow.Column
}

// Flow is a continuous query.
//
// A flow reads a table with one more column, [AsOfColumn], and one more row, the mark: it holds the checkpoint
// up to which the table is complete. The query must carry it through, in a row of its own, in a column of the
// same name: select max(as_of) AS as_of, and group by a column that is [Mark] in the mark only. What the sink
// holds is then known to be the result of the table as of the sink's mark.
type Flow struct {
	Name string
	// Sink is the table that the result is written into. Others than flows must not write to it.
	Sink string
	SQL  string
	// Columns are the result's, of which one is AsOfColumn.
	Columns []dataflow.Column
}

// View is a collection that replicas maintain.
type View struct {
	// ID numbers views. It is not used again, and those of views are lower than [FirstSubscribe].
	ID   protocol.GlobalID
	Name string
	// Plan reads tables, sinks and other views by their names.
	Plan dataflow.Plan
	// Tables, Sinks and Indexes are the names that it reads: of tables, of flows' sinks, and of views that
	// are not Materialized.
	Tables, Sinks, Indexes []string
	// Materialized views are written to a shard, [ViewShard]; others are indexes in memory, by the columns Key.
	Materialized bool
	Key          []int
}

// FirstSubscribe is the first number of a subscription's collection.
const FirstSubscribe protocol.GlobalID = 1 << 20

func (c Config) withDefaults() Config {
	c.Feed = cmp.Or(c.Feed, "pipeline")
	c.Interval = cmp.Or(c.Interval, 200*time.Millisecond)
	c.IntrospectionInterval = cmp.Or(c.IntrospectionInterval, time.Second)
	c.SessionTTL = cmp.Or(c.SessionTTL, 10*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 2*time.Second)
	c.Retention = cmp.Or(c.Retention, 2000)
	return c
}

// Check returns what is wrong with the configuration, a *ConfigError, if anything.
func (c *Config) Check() error {
	names := map[string]bool{}
	name := func(kind, n string) error {
		if n == "" || names[n] {
			return &ConfigError{kind, n, "give it a name of its own"}
		}
		names[n] = true
		return nil
	}
	for i, t := range c.Tables {
		if err := name("table", t.Name); err != nil {
			return err
		}
		if len(t.Columns) == 0 || t.Columns[0].Type != dataflow.Type(dataflow.KindString) {
			return &ConfigError{"table", t.Name, "its first column must be a string that is not NULL: the key"}
		}
		for _, col := range t.Columns[1:] {
			if _, err := filler(col); err != nil {
				return &ConfigError{"table", t.Name, err.Error()}
			}
		}
		for _, u := range c.Tables[:i] {
			if strings.HasPrefix(t.Prefix, u.Prefix) || strings.HasPrefix(u.Prefix, t.Prefix) {
				return &ConfigError{"table", t.Name, fmt.Sprintf("its prefix %q and that of table %s overlap", t.Prefix, u.Name)}
			}
		}
	}
	for i, f := range c.Flows {
		if err := name("flow", f.Sink); err != nil {
			return err
		}
		if f.Name == "" || slices.ContainsFunc(c.Flows[:i], func(g Flow) bool { return g.Name == f.Name }) {
			return &ConfigError{"flow", f.Name, "give it a name of its own"}
		}
		if !slices.ContainsFunc(f.Columns, func(col dataflow.Column) bool { return col.Name == AsOfColumn }) {
			return &ConfigError{"flow", f.Name, "its result must have the column " + AsOfColumn}
		}
	}
	for i, v := range c.Views {
		if err := name("view", v.Name); err != nil {
			return err
		}
		if v.ID == 0 || v.ID >= FirstSubscribe || slices.ContainsFunc(c.Views[:i], func(w View) bool { return w.ID == v.ID }) {
			return &ConfigError{"view", v.Name, fmt.Sprintf("give it an id of its own between 1 and %d", FirstSubscribe-1)}
		}
		if _, err := c.describe(v); err != nil {
			return err
		}
	}
	return nil
}

// A ConfigError says what is wrong with a Config.
type ConfigError struct {
	Kind    string // "table", "flow" or "view"
	Name    string
	Problem string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("pipeline: %s %q: %s", e.Kind, e.Name, e.Problem)
}

func (c *Config) frontends() (addrs []string) {
	for _, name := range c.Topology.Frontends {
		addrs = append(addrs, host.JoinAddr(name, frontend.Port))
	}
	return addrs
}
