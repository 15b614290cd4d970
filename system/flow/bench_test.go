package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
//
// With two workers each flow has one of its own, and the two run at once: see TestWorkersRunAtOnce. About a
// quarter of the work is done by the caller, who checks the rows and shapes the results, and is no faster for
// it. How much two workers gain is [BenchmarkSecondWorker].
func BenchmarkGroupedSum(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			d := startSums(b, workers)
			onHost(b, d.h, func() error {
				for b.Loop() {
					if err := d.batch(); err != nil {
						return err
					}
				}
				return nil
			})
			b.ReportMetric(float64(b.N*sumsBatch*sumsFlows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkSecondWorker is how much faster two flows are on two workers than on one, and, since that depends
// on what else the machine does, how much faster two loops without any memory are on two threads than one
// after the other, both measured in turns.
func BenchmarkSecondWorker(b *testing.B) {
	one, two := startSums(b, 1), startSums(b, 2)
	var took [4]time.Duration
	measure := func(i int, do func() error) error {
		start := time.Now()
		err := do()
		took[i] += time.Since(start)
		return err
	}
	onHost(b, one.h, func() error {
		for b.Loop() {
			err := errors.Join(measure(0, one.batch), measure(1, two.batch),
				measure(2, func() error { spin(); spin(); return nil }), measure(3, spinTwice))
			if err != nil {
				return err
			}
		}
		return nil
	})
	gain, possible := float64(took[0])/float64(took[1]), float64(took[2])/float64(took[3])
	b.ReportMetric(gain, "gain")
	b.ReportMetric(possible, "cpu-gain")
	b.ReportMetric(gain/possible, "of-cpu-gain")
}

var spun atomic.Uint64

// spin counts for about as long as a batch takes.
func spin() {
	x := uint64(1)
	for range 2_000_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	spun.Store(x)
}

func spinTwice() error {
	var both sync.WaitGroup
	both.Go(spin)
	both.Go(spin)
	both.Wait()
	return nil
}

const sumsBatch, sumsFlows = 5000, 2

// sums are flows of one table on a machine of their own, and a batch for them.
type sums struct {
	h    *real.Host
	m    *flow.Manager
	rows []flow.DiffRow
	seq  uint64
}

func startSums(b testing.TB, workers int) *sums {
	h, err := real.New(real.Config{Name: "flows", Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { _ = h.Close() })
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
	d := &sums{h: h, m: m, rows: make([]flow.DiffRow, sumsBatch), seq: 1}
	for i := range d.rows {
		d.rows[i] = flow.DiffRow{Row: dataflow.Pack(dataflow.Int(int64(i%100)), dataflow.Int(int64(i))), Diff: 1}
	}
	onHost(b, h, func() error {
		for i := range sumsFlows {
			_, err := m.CreateFlow(context.Background(), flow.CreateFlowArgs{
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
		return nil
	})
	return d
}

// batch has the flows take in a batch and write what comes of it.
func (d *sums) batch() error {
	ctx := context.Background()
	if err := d.m.HandleWriteRequest(ctx, flow.NewRegionID(1, 0), d.seq, d.rows); err != nil {
		return err
	}
	d.seq++
	if _, err := d.m.RunAvailable(ctx, true); err != nil {
		return err
	}
	_, err := d.m.SendWritebackRequests(ctx)
	return err
}

// onHost runs body as a task of a host.
func onHost(b testing.TB, h host.Host, body func() error) {
	done := host.NewChan[error](h, "body has ended", 1)
	h.Go("body", func() { done.Send(body()) })
	err, _ := done.Recv()
	require.NoError(b, err)
}

// meeting is an observer who lets nobody go until so many flows have run.
type meeting struct{ sync.WaitGroup }

func (m *meeting) Observe(e flow.Event) {
	if _, ran := e.(flow.Ran); ran {
		m.Done()
		m.Wait()
	}
}

// TestWorkersRunAtOnce: two flows meet in the middle of a run, which they could not on one worker.
func TestWorkersRunAtOnce(t *testing.T) {
	d := startSums(t, 2)
	m := &meeting{}
	m.Add(2)
	d.m.WithObserver(m)
	onHost(t, d.h, func() error {
		_, err := d.m.RunAvailable(context.Background(), true)
		return err
	})
}
