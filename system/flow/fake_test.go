package flow

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/flow/relation"
)

// fakeFrontend is a backend in memory whose calls fail, or wait, as a test says.
type fakeFrontend struct {
	tables   []*catalog.Table
	contents map[catalog.TableID]map[dataflow.Row]dataflow.Row // by key
	uppers   map[catalog.TableID]uint64
	changes  map[catalog.TableID][]Batch // by change
	flows    []*catalog.Flow
	epochs   uint64
	// forgotten: no change can be had any more.
	forgotten bool
	// before, if not nil, is called before a call is carried out, and may refuse it.
	before func(call, table string) error
}

func newFakeFrontend() *fakeFrontend {
	return &fakeFrontend{contents: map[catalog.TableID]map[dataflow.Row]dataflow.Row{}, uppers: map[catalog.TableID]uint64{}, changes: map[catalog.TableID][]Batch{}}
}

func (f *fakeFrontend) called(call string, id catalog.TableID) error {
	if f.before == nil {
		return nil
	}
	name := ""
	if id > 0 && f.tables[id-1] != nil {
		name = f.tables[id-1].Name.String()
	}
	return f.before(call, name)
}

// add adds a table of columns k and v that is told apart by k, or, in append mode, keeps all.
func (f *fakeFrontend) add(name string, appends bool) catalog.TableID {
	t := catalog.Table{Name: catalog.Public(name), TimeIndex: catalog.NoColumn, AppendMode: appends, Columns: []catalog.Column{
		{Name: "k", Kind: dataflow.KindString, Nullable: true}, {Name: "v", Kind: dataflow.KindInt64, Nullable: true},
	}}
	if !appends {
		t.PrimaryKey = []int{0}
	}
	_, _ = f.CreateTable(context.Background(), t)
	return catalog.TableID(len(f.tables))
}

// change is a change of a table that adds a row, as it is mirrored.
func (f *fakeFrontend) change(id catalog.TableID, k string, v int64) InsertRequests {
	row := dataflow.Pack(dataflow.String(k), dataflow.Int(v))
	f.contents[id][row] = row
	seq := f.uppers[id]
	f.uppers[id]++
	f.changes[id] = append(f.changes[id], Batch{Seq: seq, Rows: []DiffRow{{Row: row, Diff: 1}}})
	return InsertRequests{Requests: []InsertRequest{{Region: NewRegionID(id, 0), Seq: seq, Columns: []string{"k", "v"}, Rows: []dataflow.Row{row}}}}
}

// drop removes a table.
func (f *fakeFrontend) drop(id catalog.TableID) { f.tables[id-1] = nil }

func (f *fakeFrontend) Table(_ context.Context, name catalog.Name) (*catalog.Table, error) {
	if f.before != nil {
		if err := f.before("table", name.String()); err != nil {
			return nil, err
		}
	}
	for _, t := range f.tables {
		if t != nil && t.Name == name {
			return t, nil
		}
	}
	return nil, &catalog.NotFoundError{What: "table", Name: name}
}

func (f *fakeFrontend) TableByID(_ context.Context, id catalog.TableID) (*catalog.Table, error) {
	if err := f.called("table by id", id); err != nil {
		return nil, err
	}
	if t := f.tables[id-1]; t != nil {
		return t, nil
	}
	return nil, &catalog.NotFoundError{What: "table", Name: catalog.Public(id.String())}
}

func (f *fakeFrontend) CreateTable(_ context.Context, t catalog.Table) (bool, error) {
	if err := f.called("create table", 0); err != nil {
		return false, err
	}
	t.ID = catalog.TableID(len(f.tables) + 1)
	f.tables = append(f.tables, &t)
	f.contents[t.ID], f.uppers[t.ID] = map[dataflow.Row]dataflow.Row{}, 1
	return true, nil
}

func (f *fakeFrontend) Flows(context.Context) ([]*catalog.Flow, uint64, error) {
	return f.flows, 1 << 20, f.called("flows", 0)
}

func (f *fakeFrontend) Enlist(context.Context, string) (uint64, error) {
	f.epochs++
	return f.epochs, f.called("enlist", 0)
}

func (f *fakeFrontend) Upper(_ context.Context, id catalog.TableID) (uint64, error) {
	return f.uppers[id], f.called("upper", id)
}

func (f *fakeFrontend) Snapshot(_ context.Context, id catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	if err := f.called("snapshot", id); err != nil {
		return nil, 0, err
	}
	var rows []dataflow.RowCount
	for _, row := range f.contents[id] {
		rows = append(rows, dataflow.RowCount{Row: row, Count: 1})
	}
	slices.SortFunc(rows, func(a, b dataflow.RowCount) int { return strings.Compare(string(a.Row), string(b.Row)) })
	return rows, f.uppers[id], nil
}

func (f *fakeFrontend) Changes(_ context.Context, id catalog.TableID, from uint64) ([]Batch, error) {
	if err := f.called("changes", id); err != nil {
		return nil, err
	}
	if f.forgotten {
		return nil, relation.ErrForgotten
	}
	return slices.DeleteFunc(slices.Clone(f.changes[id]), func(b Batch) bool { return b.Seq < from }), nil
}

func (f *fakeFrontend) Write(_ context.Context, w WriteRequest) error {
	if err := f.called("write", w.Table); err != nil {
		return err
	}
	t := f.tables[w.Table-1]
	if t == nil {
		return ErrTableNotFound
	}
	keyOf := func(row dataflow.Row) (dataflow.Row, error) {
		data, err := row.Unpack()
		return t.KeyOf(data), err
	}
	for _, r := range w.Requests {
		if err := r.apply(f.contents[w.Table], keyOf); err != nil {
			return err
		}
	}
	return nil
}

// holds are the values k of a table's rows, sorted.
func (f *fakeFrontend) holds(name string) []string {
	t, err := f.Table(context.Background(), catalog.Public(name))
	if err != nil {
		return nil
	}
	keys := []string{}
	for _, row := range f.contents[t.ID] {
		data, _ := row.Unpack()
		keys = append(keys, data[0].Text())
	}
	slices.Sort(keys)
	return keys
}

// totals are the arguments of flow number n that sums up a table by k.
func totals(n int, sink string, source catalog.TableID) CreateFlowArgs {
	return CreateFlowArgs{
		ID: catalog.FlowID(n), Revision: uint64(n), Name: catalog.Public("flow " + sink), Sink: catalog.Public(sink),
		Sources: []catalog.TableID{source}, CreateIfNotExists: true, OrReplace: true, ExpireAfter: catalog.NoExpiry,
		SQL: "SELECT k, sum(v) AS s FROM t GROUP BY k",
	}
}

// fakeNode is a manager with its workers over a fake frontend; nothing runs that the test does not.
func fakeNode(w *sim.World, f *fakeFrontend, cfg Config) *Manager {
	m, workers := NewWithWorkers(w.Host(), "node", planner.Flow, f, cfg)
	m.WithFlowMeta(f)
	m.SetFrontendInvoker(f)
	for _, worker := range workers {
		w.Go("worker", worker.Run)
	}
	return m
}

// create creates a flow and waits until it has what its table holds.
func create(t *testing.T, w *sim.World, m *Manager, args CreateFlowArgs) {
	t.Helper()
	_, err := m.CreateFlow(context.Background(), args)
	require.NoError(t, err)
	awaitRefills(w, m)
}

func awaitRefills(w *sim.World, m *Manager) {
	for len(m.Status().Refilling) > 0 {
		w.Sleep(1)
	}
}
