package scenarios

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// computeTables are the tables, who writes to them, and the oracle of time: a write gets a timestamp higher
// than all before, and a read that of the latest write that is done. All tables are complete up to the same
// times.
type computeTables struct {
	s       *computeCluster
	tables  []*computeTable
	issued  uint64 // the highest timestamp of a write
	applied uint64 // of a write that is done
}

// computeTable is a table as it is after the latest write.
type computeTable struct {
	name   dataflow.SourceID
	writer *persist.WriteHandle
	rows   [models.TableKeys]int64 // 0 is no row
	upper  uint64
}

const tableWriterID = 900_000

// atEase is how much slower tables are written once faults have ended: frontiers advance, and whoever dawdles over
// what came before can catch up.
const atEase = 4

func newComputeTables(s *computeCluster) *computeTables {
	t := &computeTables{s: s, tables: []*computeTable{{name: valueTable}, {name: groupTable}}}
	s.r.World.Go("write tables", t.write)
	return t
}

// write writes until the end of the run, so that frontiers can advance. It is never crashed, and waits for as
// long as a write takes.
func (t *computeTables) write() {
	r := t.s.r
	h := r.World.Host()
	client := t.s.c.client(h, computeConfig)
	fixed := &computeTable{name: fixedTable}
	for _, table := range append([]*computeTable{fixed}, t.tables...) {
		for table.writer == nil {
			w, err := client.OpenWriter(context.Background(), persist.ShardID(table.name))
			if err != nil {
				h.Clock().Sleep(100 * time.Millisecond)
				continue
			}
			table.writer = w
		}
	}
	fixed.append(t, map[int]int64{0: 1, 1: 2, 3: 4}, 0)
	fixed.close(t)
	choices := r.World.NewStream("workload", "tables")
	for r.Phase() <= PhaseFinal {
		draw := sim.NewStream(choices.Uint64(), "write")
		t.transaction(draw)
		pace := r.Duration("write-pace")
		if r.Phase() >= PhaseSettle {
			pace *= atEase
		}
		h.Clock().Sleep(sim.Exp(0, pace).Sample(draw.Uint64()))
	}
}

// transaction changes a few rows of the tables at one time.
func (t *computeTables) transaction(draw *sim.Stream) {
	ts := t.issued + 1 // the very next time now and then: what lies at a frontier is easily lost
	if draw.N(3) > 0 {
		ts = max(ts, uint64(t.s.r.World.Now().Milliseconds()))
	}
	t.issued = ts
	set := models.TableWrite{}
	if draw.N(8) > 0 {
		for range 1 + draw.N(3) {
			set[int(draw.N(models.TableKeys))] = int64(draw.N(10))
		}
	}
	changes := map[dataflow.SourceID]map[int]int64{valueTable: set, groupTable: {}}
	if draw.N(4) == 0 || t.applied == 0 {
		for k := range models.TableKeys {
			if draw.N(3) == 0 {
				changes[groupTable][k] = int64(draw.N(4))
			}
		}
	}
	token := t.s.rec.begin(tableWriterID, models.KindTableWrite, set)
	for _, table := range t.tables {
		table.append(t, changes[table.name], ts)
	}
	t.applied = ts
	t.s.rec.end(token, tableWriterID, models.Ok, nil)
}

// append writes what changes at a time, and completes the time.
func (b *computeTable) append(t *computeTables, set map[int]int64, ts uint64) {
	var rows []dataflow.Update
	for k := range models.TableKeys {
		to, ok := set[k]
		from := b.rows[k]
		if !ok || from == to {
			continue
		}
		if from != 0 {
			rows = append(rows, dataflow.Update{Row: keyedRow(k, from), Time: ts, Diff: -1})
		}
		if to != 0 {
			rows = append(rows, dataflow.Update{Row: keyedRow(k, to), Time: ts, Diff: 1})
		}
		b.rows[k] = to
	}
	t.s.watch.model.Writing(b.name, rows, t.s.watch.now())
	b.write(t, rows, persist.At(ts+1))
	b.upper = ts + 1
}

// close completes all times.
func (b *computeTable) close(t *computeTables) { b.write(t, nil, persist.Empty()) }

func (b *computeTable) write(t *computeTables, rows []dataflow.Update, upper persist.Frontier) {
	err := b.writer.CompareAndAppend(context.Background(), dataflow.ToShard(rows, nil), persist.At(b.upper), upper)
	t.s.c.durable.check("append to a table", err)
	if err != nil {
		t.s.r.World.Fail("compute/tables", "the only writer of table %s can't append: %v", b.name, err)
	}
}

func keyedRow(key int, value int64) dataflow.Row {
	return dataflow.Pack(dataflow.Int(int64(key)), dataflow.Int(value))
}

// tableState is what rows of the table of values say.
func tableState(rows []dataflow.RowCount) (s models.TableState, ok bool) {
	for _, r := range rows {
		data, err := r.Row.Unpack()
		if err != nil || len(data) != 2 || r.Count != 1 {
			return s, false
		}
		s[data[0].Int()] = data[1].Int()
	}
	return s, true
}
