package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

var (
	words = dataflow.Type(dataflow.KindString)
	whole = dataflow.Type(dataflow.KindInt64)
)

func small() Config {
	return Config{
		Tables: []Table{{Name: "t", Prefix: "t/", Columns: []dataflow.Column{{Name: "key", Type: words}, {Name: "v", Type: whole}}}},
		Flows: []Flow{{
			Name: "f", Sink: "out", SQL: "SELECT key, max(as_of) AS as_of FROM t GROUP BY key",
			Columns: []dataflow.Column{{Name: "key", Type: words}, {Name: AsOfColumn, Type: whole.OrNull()}},
		}},
		Views: []View{
			{ID: 1, Name: "index", Plan: dataflow.Get("t"), Tables: []string{"t"}, Key: []int{0}},
			{ID: 2, Name: "written", Plan: dataflow.Union(dataflow.Get("index"), dataflow.Get("t")), Tables: []string{"t"}, Indexes: []string{"index"}, Materialized: true},
			{ID: 3, Name: "on_sink", Plan: dataflow.Get("out"), Sinks: []string{"out"}, Key: []int{0}},
		},
	}
}

func TestCheck(t *testing.T) {
	c := small()
	require.NoError(t, c.Check())
	for want, spoil := range map[string]func(c *Config){
		`table "": give it a name of its own`:                           func(c *Config) { c.Tables[0].Name = "" },
		`flow "t": give it a name of its own`:                           func(c *Config) { c.Flows[0].Sink = "t" },
		`view "out": give it a name of its own`:                         func(c *Config) { c.Views[0].Name = "out" },
		`table "t": its first column must be a string`:                  func(c *Config) { c.Tables[0].Columns[0].Type = whole },
		`table "t": its first column must be a string that is not NULL`: func(c *Config) { c.Tables[0].Columns = nil },
		`column "v" is of kind interval, which a table can't have`:      func(c *Config) { c.Tables[0].Columns[1].Type = dataflow.Type(dataflow.KindInterval) },
		`table "u": its prefix "t/u/" and that of table t overlap`: func(c *Config) {
			c.Tables = append(c.Tables, Table{Name: "u", Prefix: "t/u/", Columns: c.Tables[0].Columns})
		},
		`flow "": give it a name of its own`: func(c *Config) { c.Flows[0].Name = "" },
		`flow "f": give it a name of its own`: func(c *Config) {
			c.Flows = append(c.Flows, c.Flows[0])
			c.Flows[1].Sink = "other"
		},
		`flow "f": its result must have the column as_of`:          func(c *Config) { c.Flows[0].Columns = c.Flows[0].Columns[:1] },
		`view "index": give it an id of its own`:                   func(c *Config) { c.Views[0].ID = 0 },
		`view "written": give it an id of its own`:                 func(c *Config) { c.Views[1].ID = 1 },
		`view "on_sink": give it an id of its own between 1 and 1`: func(c *Config) { c.Views[2].ID = FirstSubscribe },
		`view "index": there is no table "x"`:                      func(c *Config) { c.Views[0].Tables = []string{"x"} },
		`view "on_sink": there is no flow with the sink "x"`:       func(c *Config) { c.Views[2].Sinks = []string{"x"} },
		`view "on_sink": there is no view "written" that is an`:    func(c *Config) { c.Views[2].Indexes = []string{"written"} },
	} {
		c := small()
		spoil(&c)
		var wrong *ConfigError
		require.ErrorAs(t, c.Check(), &wrong, want)
		require.Contains(t, wrong.Error(), want)
	}
}

func TestDescribe(t *testing.T) {
	c := small()
	d, err := c.describe(c.Views[1])
	require.NoError(t, err)
	require.Equal(t, []protocol.ShardImport{{Name: "t", Shard: "table/t", Schema: c.Tables[0].Schema()}}, d.Shards)
	require.Equal(t, map[dataflow.SourceID]protocol.GlobalID{"index": 1}, d.Indexes)
	require.Equal(t, protocol.Sink{Kind: protocol.Shard, Shard: "view/written"}, d.Sink)
	d, err = c.describe(c.Views[2])
	require.NoError(t, err)
	require.Equal(t, SinkShard("out"), d.Shards[0].Shard)
	require.Equal(t, protocol.Sink{Kind: protocol.Index, Key: []int{0}}, d.Sink)
	_, ok := c.view("nowhere")
	require.False(t, ok)
}

func TestRows(t *testing.T) {
	c := small()
	table := &c.Tables[0]
	row, err := table.Row("t/a", EncodeValue(dataflow.Int(7)))
	require.NoError(t, err)
	require.Equal(t, dataflow.Pack(dataflow.String("a"), dataflow.Int(7)), row)
	_, err = table.Row("u/a", EncodeValue(dataflow.Int(7)))
	require.ErrorContains(t, err, `key "u/a" has not the prefix "t/" of table t`)
	for _, value := range []string{"", "7", EncodeValue(dataflow.String("7")), EncodeValue(dataflow.Int(7), dataflow.Int(8)), EncodeValue(dataflow.Null())} {
		_, err := table.Row("t/a", value)
		require.ErrorContains(t, err, "its value is no row of table t", "%q", value)
	}
	_, err = table.Row("t/"+Mark, EncodeValue(dataflow.Int(7)))
	require.ErrorContains(t, err, `key "t/~mark" is the mark's`)
	def := table.definition()
	for _, r := range []dataflow.Row{unmarked(row), table.mark(9)} {
		require.NoError(t, def.Schema().Check(r))
	}
	key, err := keyOf(row)
	require.NoError(t, err)
	data, err := unmarked(row).Unpack()
	require.NoError(t, err)
	require.Equal(t, def.KeyOf(data), key, "deletions name rows as the table does")
	require.Equal(t, "('~mark', 0, 9)", table.mark(9).String())
	_, err = keyOf("")
	require.Error(t, err)
}

// What marks have in columns fits them, and tells them from other rows.
func TestFillers(t *testing.T) {
	for kind, want := range map[dataflow.Kind]dataflow.Datum{
		dataflow.KindString: dataflow.String(Mark), dataflow.KindInt64: dataflow.Int(0), dataflow.KindFloat64: dataflow.Float(0),
		dataflow.KindBool: dataflow.Bool(false), dataflow.KindTimestamp: dataflow.Timestamp(0),
	} {
		got, err := filler(dataflow.Column{Name: "c", Type: dataflow.Type(kind)})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := filler(dataflow.Column{Name: "c", Type: whole.OrNull()})
	require.NoError(t, err)
	require.True(t, got.IsNull())
}

func TestFrontiers(t *testing.T) {
	require.Equal(t, persist.At(8), upTo(7))
	i := &ingest{}
	require.Equal(t, persist.At(0), i.lower(), "of a shard that nobody has written to")
	require.NoError(t, i.found(persist.At(8)))
	require.Equal(t, persist.At(8), i.lower())
	require.ErrorContains(t, (&ingest{table: &Table{Name: "t"}}).found(persist.Empty()), "the shard of table t is closed")
}

func TestPublicationMark(t *testing.T) {
	p := &publication{asOf: 1}
	row := func(key string, at dataflow.Datum) dataflow.Row { return dataflow.Pack(dataflow.String(key), at) }
	rows := map[dataflow.Row]int64{row("a", dataflow.Null()): 1}
	_, ok, err := p.mark(rows)
	require.NoError(t, err)
	require.False(t, ok, "there is no result yet")
	rows[row(Mark, dataflow.Int(7))] = 1
	at, ok, err := p.mark(rows)
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 7, at)
	rows[row("b", dataflow.Int(7))] = 1
	_, _, err = p.mark(rows)
	require.ErrorContains(t, err, "2 rows have a value in column as_of")
}
