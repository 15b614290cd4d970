package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
)

// memory is a backend without rows, to which writes are lost.
type memory struct{ tables []*catalog.Table }

func (m *memory) Table(_ context.Context, name catalog.Name) (*catalog.Table, error) {
	for _, t := range m.tables {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, &catalog.NotFoundError{What: "table", Name: name}
}

func (m *memory) TableByID(_ context.Context, id catalog.TableID) (*catalog.Table, error) {
	return m.tables[id-1], nil
}

func (m *memory) CreateTable(_ context.Context, t catalog.Table) (bool, error) {
	t.ID = catalog.TableID(len(m.tables) + 1)
	m.tables = append(m.tables, &t)
	return true, nil
}

func (m *memory) Flows(context.Context) ([]*catalog.Flow, uint64, error) { return nil, 0, nil }
func (m *memory) Enlist(context.Context, string) (uint64, error)         { return 1, nil }
func (m *memory) Upper(context.Context, catalog.TableID) (uint64, error) { return 1, nil }
func (m *memory) Write(context.Context, flow.WriteRequest) error         { return nil }
func (m *memory) Changes(context.Context, catalog.TableID, uint64) ([]flow.Batch, error) {
	return nil, nil
}

func (m *memory) Snapshot(context.Context, catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	return nil, 1, nil
}

// BenchmarkGroupedSum is rows that two flows of one table sum up by 100 keys, on one worker and on two,
// from HandleWriteRequest to the results written. Each row counts once for each flow.
func BenchmarkGroupedSum(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { benchmarkGroupedSum(b, workers) })
	}
}

func benchmarkGroupedSum(b *testing.B, workers int) {
	h, err := real.New(real.Config{Name: "flows", Dir: b.TempDir()})
	require.NoError(b, err)
	defer h.Close()
	backend := &memory{}
	table := catalog.Table{Name: catalog.Public("t"), TimeIndex: catalog.NoColumn, AppendMode: true, Columns: []catalog.Column{
		{Name: "k", Kind: dataflow.KindInt64}, {Name: "v", Kind: dataflow.KindInt64},
	}}
	_, err = backend.CreateTable(context.Background(), table)
	require.NoError(b, err)
	m, list := flow.NewWithWorkers(h, "flows", planner.Flow, backend, flow.Config{Workers: workers})
	m.WithFlowMeta(backend)
	m.SetFrontendInvoker(backend)
	for _, w := range list {
		h.Go("worker", w.Run)
	}
	done := host.NewChan[error](h, "benchmark", 1)
	const batch, flows = 5000, 2
	h.Go("benchmark", func() { done.Send(driveGroupedSum(b, h, m, flows, batch)) })
	err, _ = done.Recv()
	require.NoError(b, err)
	b.ReportMetric(float64(b.N*batch*flows)/b.Elapsed().Seconds(), "rows/s")
}

// driveGroupedSum creates the flows and gives them batches.
func driveGroupedSum(b *testing.B, h host.Host, m *flow.Manager, flows, batch int) error {
	ctx := context.Background()
	for i := range flows {
		_, err := m.CreateFlow(ctx, flow.CreateFlowArgs{
			ID: catalog.FlowID(i + 1), Name: catalog.Public(fmt.Sprint("f", i)), Sink: catalog.Public(fmt.Sprint("out", i)),
			Sources: []catalog.TableID{1}, ExpireAfter: catalog.NoExpiry, SQL: "SELECT k, sum(v) AS s FROM t GROUP BY k",
		})
		if err != nil {
			return err
		}
	}
	for len(m.Status().Refilling) > 0 {
		h.Clock().Sleep(time.Millisecond)
	}
	rows := make([]flow.DiffRow, batch)
	for i := range rows {
		rows[i] = flow.DiffRow{Row: dataflow.Pack(dataflow.Int(int64(i%100)), dataflow.Int(int64(i))), Diff: 1}
	}
	seq := uint64(1)
	for b.Loop() {
		if err := m.HandleWriteRequest(ctx, flow.NewRegionID(1, 0), seq, rows); err != nil {
			return err
		}
		seq++
		if _, err := m.RunAvailable(ctx, true); err != nil {
			return err
		}
		if _, err := m.SendWritebackRequests(ctx); err != nil {
			return err
		}
	}
	return nil
}
