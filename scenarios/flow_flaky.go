package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// backendFaults is how a flow node's calls of frontends fail at present.
type backendFaults struct {
	choices   *sim.Stream // one word a call
	down      int
	slow      time.Duration
	forgetful int
	lost      int // parts per million of writes
	late      time.Duration
}

// flakyBackend is a backend whose calls fail as the faults say.
type flakyBackend struct {
	flow.Backend
	h host.Host
	f *backendFaults
}

// before is what happens to a call before it is made.
func (b *flakyBackend) before(ctx context.Context) (*sim.Stream, error) {
	draw := sim.NewStream(b.f.choices.Uint64(), "call")
	for waited := time.Duration(0); b.f.down > 0; waited += poll {
		if waited >= flowCallTimeout || ctx.Err() != nil {
			return draw, fmt.Errorf("%w: frontend.unavailable", rpc.ErrUnknown)
		}
		b.h.Clock().Sleep(poll)
	}
	if b.f.slow > 0 {
		b.h.Clock().Sleep(sim.Exp(0, b.f.slow).Sample(draw.Uint64()))
	}
	if ctx.Err() != nil {
		return draw, fmt.Errorf("%w: %w", rpc.ErrNotSent, ctx.Err())
	}
	return draw, nil
}

func (b *flakyBackend) Table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, err
	}
	return b.Backend.Table(ctx, name)
}

func (b *flakyBackend) TableByID(ctx context.Context, id catalog.TableID) (*catalog.Table, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, err
	}
	return b.Backend.TableByID(ctx, id)
}

func (b *flakyBackend) Flows(ctx context.Context) ([]*catalog.Flow, uint64, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, 0, err
	}
	return b.Backend.Flows(ctx)
}

func (b *flakyBackend) Enlist(ctx context.Context, node string) (uint64, error) {
	if _, err := b.before(ctx); err != nil {
		return 0, err
	}
	return b.Backend.Enlist(ctx, node)
}

func (b *flakyBackend) CreateTable(ctx context.Context, t catalog.Table) (bool, error) {
	if _, err := b.before(ctx); err != nil {
		return false, err
	}
	return b.Backend.CreateTable(ctx, t)
}

func (b *flakyBackend) Upper(ctx context.Context, id catalog.TableID) (uint64, error) {
	if _, err := b.before(ctx); err != nil {
		return 0, err
	}
	return b.Backend.Upper(ctx, id)
}

func (b *flakyBackend) Snapshot(ctx context.Context, id catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, 0, err
	}
	return b.Backend.Snapshot(ctx, id)
}

func (b *flakyBackend) Changes(ctx context.Context, id catalog.TableID, from uint64) ([]flow.Batch, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, err
	}
	if b.f.forgetful > 0 {
		return nil, fmt.Errorf("%w: frontend.forget", relation.ErrForgotten)
	}
	return b.Backend.Changes(ctx, id, from)
}

// Write may be carried out without its caller being told, or later than the caller was told that nobody
// knows.
func (b *flakyBackend) Write(ctx context.Context, w flow.WriteRequest) error {
	draw, err := b.before(ctx)
	if err != nil {
		return err
	}
	if !draw.PerMillion(b.f.lost) {
		return b.Backend.Write(ctx, w)
	}
	if draw.N(2) == 0 {
		_ = b.Backend.Write(ctx, w)
		return fmt.Errorf("%w: flow.lost_reply", rpc.ErrUnknown)
	}
	wait := sim.Exp(0, b.f.late).Sample(draw.Uint64())
	b.h.Go("late write", func() {
		b.h.Clock().Sleep(wait)
		_ = b.Backend.Write(context.Background(), w)
	})
	return fmt.Errorf("%w: flow.lost_reply", rpc.ErrUnknown)
}

// mirrorFaults is how a frontend's mirrored inserts fail at present.
type mirrorFaults struct {
	choices     *sim.Stream
	lost, twice int // parts per million
	late        time.Duration
	// patience is how long a try may take, if not as long as calls may by default. It is no fault.
	patience time.Duration
}

// flakyMirror is a way to a flow node on which inserts are lost, late and doubled.
type flakyMirror struct {
	frontend.Inserter
	h host.Host
	f *mirrorFaults
}

func (m *flakyMirror) HandleInserts(ctx context.Context, in flow.InsertRequests) (flow.FlowResponse, error) {
	draw := sim.NewStream(m.f.choices.Uint64(), "mirror")
	if draw.PerMillion(m.f.lost) {
		return flow.FlowResponse{}, fmt.Errorf("%w: flow.mirror", rpc.ErrUnknown)
	}
	late := m.f.late
	wait := func() {
		if late > 0 {
			m.h.Clock().Sleep(sim.Exp(0, late).Sample(draw.Uint64()))
		}
	}
	// Each try has its own time: the caller's may be over, and the request is on its way all the same.
	try := func() (flow.FlowResponse, error) {
		ctx := context.Background()
		if m.f.patience > 0 {
			var cancel context.CancelFunc
			ctx, cancel = m.h.Clock().WithTimeout(ctx, m.f.patience)
			defer cancel()
		}
		return m.Inserter.HandleInserts(ctx, in)
	}
	wait()
	answer, err := try()
	if draw.PerMillion(m.f.twice) {
		wait()
		_, _ = try()
	}
	return answer, err
}
