package scenarios

import (
	"context"
	"fmt"
	"slices"
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
	cold      int // its looks into the catalog hang
	slow      time.Duration
	reads     time.Duration // how long the contents of a table are on their way, beside that
	forgetful int
	lost      int // parts per million of writes
	late      time.Duration
	// network makes the writes that come late, whatever becomes of the node meanwhile.
	network *frontend.Client
	// dies, if not nil, has the node die with its next write.
	dies *nodeDeath
	// onOpen, if not nil, is told of writes that are held up or whose answer is lost, by the sinks' names.
	onOpen func(sink string)
	names  map[catalog.TableID]string // of tables that it has asked for
	// contended, if not nil, tells whether somebody is about to begin to share a sink, of that name, and to write there.
	contended func(sink string) bool
}

// nodeDeath is a death that waits for a write, which comes all the same.
type nodeDeath struct {
	late  time.Duration // on average
	begin func() bool   // tells whether it is not too late to die
}

// flakyBackend is a backend whose calls fail as the faults say.
type flakyBackend struct {
	flow.Backend
	w *sim.World
	h host.Host
	f *backendFaults
}

// before is what happens to a call before it is made.
func (b *flakyBackend) before(ctx context.Context) (*sim.Stream, error) {
	draw := sim.NewStream(b.f.choices.Uint64(), "call")
	if !b.passes(ctx, &b.f.down) {
		return draw, fmt.Errorf("%w: frontend.unavailable", rpc.ErrUnknown)
	}
	if b.f.slow > 0 {
		b.h.Clock().Sleep(sim.Exp(0, b.f.slow).Sample(draw.Uint64()))
	}
	if ctx.Err() != nil {
		return draw, fmt.Errorf("%w: %w", rpc.ErrNotSent, ctx.Err())
	}
	return draw, nil
}

// passes waits as long as there are faults that hold calls up, and tells whether that was short enough for a call.
func (b *flakyBackend) passes(ctx context.Context, held *int) bool {
	for waited := time.Duration(0); *held > 0; waited += poll {
		if waited >= flowCallTimeout || ctx.Err() != nil {
			return false
		}
		b.h.Clock().Sleep(poll)
	}
	return true
}

func (b *flakyBackend) Table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	if _, err := b.before(ctx); err != nil {
		return nil, err
	}
	t, err := b.Backend.Table(ctx, name)
	if err == nil && b.f.names != nil {
		b.f.names[t.ID] = name.Object
	}
	return t, err
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
	if !b.passes(ctx, &b.f.cold) {
		return nil, 0, fmt.Errorf("%w: flow.restart, cold", rpc.ErrUnknown)
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

// Snapshot is slow on the way back as well: a table's contents are what takes long to send, and while they are on their way
// the table goes on.
func (b *flakyBackend) Snapshot(ctx context.Context, id catalog.TableID) ([]dataflow.RowCount, uint64, error) {
	draw, err := b.before(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, upper, err := b.Backend.Snapshot(ctx, id)
	if way := b.f.slow + b.f.reads; err == nil && way > 0 {
		b.h.Clock().Sleep(sim.Exp(0, way).Sample(draw.Uint64()))
	}
	if err == nil && ctx.Err() != nil {
		return nil, 0, fmt.Errorf("%w: %w", rpc.ErrUnknown, ctx.Err())
	}
	return rows, upper, err
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
	if b.f.slow > 0 || b.f.down > 0 {
		b.tell(w)
	}
	if b.overtaken(ctx, w) {
		_ = b.f.network.Write(context.Background(), w)
		return fmt.Errorf("%w: the write was slow: %w", rpc.ErrUnknown, ctx.Err())
	}
	draw, err := b.before(ctx)
	if err != nil {
		return err
	}
	if late, ok := b.death(); ok {
		b.lose(w, sim.Exp(0, late).Sample(draw.Uint64()))
		b.h.Clock().Sleep(flowCallTimeout) // which the process does not live to see
	}
	if !draw.PerMillion(b.f.lost) {
		return b.Backend.Write(ctx, w)
	}
	if draw.N(2) == 0 {
		b.tell(w)
		_ = b.Backend.Write(ctx, w)
		return fmt.Errorf("%w: flow.lost_reply", rpc.ErrUnknown)
	}
	b.lose(w, sim.Exp(0, b.f.late).Sample(draw.Uint64()))
	return fmt.Errorf("%w: flow.lost_reply", rpc.ErrUnknown)
}

// overtaken has a write that clears rows of before away from a sink be slow while somebody is about to share the sink and
// to write there: what it is to clear away it has looked up before. It tells whether the caller gave up meanwhile.
func (b *flakyBackend) overtaken(ctx context.Context, w flow.WriteRequest) (gaveUp bool) {
	clears := slices.ContainsFunc(w.Requests, func(r flow.DiffRequest) bool { return r.Whole })
	if !clears || b.f.contended == nil || !b.f.contended(b.f.names[w.Table]) {
		return false
	}
	b.tell(w)
	for b.f.contended(b.f.names[w.Table]) {
		if host.Sleep(ctx, b.h, poll) != nil {
			return true
		}
	}
	return false
}

// death is how late a write comes with which the node dies, if it is to.
func (b *flakyBackend) death() (late time.Duration, ok bool) {
	if b.f.dies == nil {
		return 0, false
	}
	dies := b.f.dies
	b.f.dies = nil
	return dies.late, dies.begin()
}

// tell says that a write is open, and will be for a while.
func (b *flakyBackend) tell(w flow.WriteRequest) {
	if b.f.onOpen != nil && len(w.Requests) > 0 {
		b.f.onOpen(b.f.names[w.Table])
	}
}

// lose has a write come after a while, and nobody is told.
func (b *flakyBackend) lose(w flow.WriteRequest, after time.Duration) {
	b.tell(w)
	b.w.Go("late write", func() {
		b.w.Sleep(after)
		_ = b.f.network.Write(context.Background(), w)
	})
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

// requestFaults is how the frontends' calls about flows to a node fail at present.
type requestFaults struct {
	choices *sim.Stream // one word a call
	lost    int         // parts per million
	late    time.Duration
}

// latestRequest is how late a request may come at most, so that it and what it does are over within murkyTime.
const latestRequest = 1500 * time.Millisecond

// flakyNode is a flow node that does not hear of flows that are created and dropped, or late.
type flakyNode struct {
	frontend.Handler
	h host.Host
	f *requestFaults
}

func (n *flakyNode) Handle(ctx context.Context, r flow.FlowRequest) (flow.FlowResponse, error) {
	draw := sim.NewStream(n.f.choices.Uint64(), "request")
	if r.Flush != nil || !draw.PerMillion(n.f.lost) {
		return n.Handler.Handle(ctx, r)
	}
	if draw.N(2) == 0 {
		wait := min(sim.Exp(0, n.f.late).Sample(draw.Uint64()), latestRequest)
		n.h.Go("late request", func() {
			n.h.Clock().Sleep(wait)
			_, _ = n.Handler.Handle(context.Background(), r)
		})
	}
	return flow.FlowResponse{}, fmt.Errorf("%w: flow.untold", rpc.ErrUnknown)
}
