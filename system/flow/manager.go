package flow

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/sql"
)

// QueryEngine turns the text of a SELECT into the plan of a flow; [planner.Flow] is one.
type QueryEngine func(q sql.Query, tables planner.Tables, expireAfter int64) (*planner.Query, error)

// Manager is FlowWorkerManager: it owns the flows of one node. See the package's documentation.
//
// Locks, in the order in which they are taken: ddl, that of a sink's writes, stamping, those of sources, sinks
// and landings, the context's. The last three are never held while waiting.
type Manager struct {
	h        host.Host
	cfg      Config
	node     string
	engine   QueryEngine
	meta     TableMeta
	flowMeta FlowMeta
	observer Observer

	workers  []*WorkerHandle
	selector int // of the next worker

	// ddl is held while flows are created and removed. It guards left: the sinks of earlier definitions of
	// flows into which something may come yet.
	ddl     *host.Mutex
	left    map[catalog.FlowID][]catalog.Name
	context *nodeContext
	ticks   *tickManager
	flush   *flushLock

	// stamping guards what follows.
	stamping *host.Mutex
	epoch    uint64 // of this life of the node; 0 if it is not known yet
	stamps   uint64

	invokerLock *host.Mutex
	invoker     FrontendInvoker

	reports *host.Chan[StateRequest]
}

// StateRequest asks for a state report, which is sent to Answer.
type StateRequest struct{ Answer *host.Chan[FlowStat] }

// NewFlowWorkerManager returns a manager without workers, and without a frontend: until it has one it
// can't create flows. Node is its name in the catalog.
func NewFlowWorkerManager(h host.Host, node string, engine QueryEngine, meta TableMeta, cfg Config) *Manager {
	cfg = cfg.withDefaults()
	if h.Buggify("flow/small buffers") {
		cfg.SendBufCap, cfg.BroadcastCap, cfg.SendBufRows, cfg.EarlyInserts = 2, 2, 3, 1
	}
	return &Manager{
		h: h, cfg: cfg, node: node, engine: engine, meta: meta, observer: nobody{},
		ddl: host.NewMutex(h, "flow definitions"), left: map[catalog.FlowID][]catalog.Name{}, context: newNodeContext(h), ticks: newTickManager(h),
		flush: newFlushLock(h), stamping: host.NewMutex(h, "stamps"), invokerLock: host.NewMutex(h, "frontend invoker"),
	}
}

// NewWithWorkers is [NewFlowWorkerManager] with workers, each to be run as a task of its own.
func NewWithWorkers(h host.Host, node string, engine QueryEngine, meta TableMeta, cfg Config) (*Manager, []*Worker) {
	m := NewFlowWorkerManager(h, node, engine, meta, cfg)
	workers := make([]*Worker, m.cfg.Workers)
	for i := range workers {
		handle, w := NewWorker(h, i)
		m.AddWorkerHandle(handle)
		workers[i] = w
	}
	return m, workers
}

// AddWorkerHandle puts a worker under the manager, before the manager is used.
func (m *Manager) AddWorkerHandle(w *WorkerHandle) { m.workers = append(m.workers, w) }

// SetFrontendInvoker tells the manager how to get at tables; nil takes it away.
func (m *Manager) SetFrontendInvoker(f FrontendInvoker) {
	m.invokerLock.Lock()
	defer m.invokerLock.Unlock()
	m.invoker = f
}

// frontend is the frontend; the error is [ErrNoFrontend].
func (m *Manager) frontend() (FrontendInvoker, error) {
	m.invokerLock.Lock()
	defer m.invokerLock.Unlock()
	if m.invoker == nil {
		return nil, ErrNoFrontend
	}
	return m.invoker, nil
}

// WithStateReportHandler lets the manager answer requests for state reports from a channel once it runs.
func (m *Manager) WithStateReportHandler(requests *host.Chan[StateRequest]) *Manager {
	m.reports = requests
	return m
}

// WithFlowMeta tells the manager where nodes enlist, and what flows others have; it needs that to write.
func (m *Manager) WithFlowMeta(meta FlowMeta) *Manager {
	m.flowMeta = meta
	return m
}

// stamp is that of the next write into a sink, which the caller has for itself.
func (m *Manager) stamp(ctx context.Context) (Stamp, error) {
	m.stamping.Lock()
	defer m.stamping.Unlock()
	if m.epoch == 0 {
		if m.flowMeta == nil {
			return Stamp{}, fmt.Errorf("%w: the manager knows of no place to enlist", ErrNoFrontend)
		}
		ctx, cancel := m.h.Clock().WithTimeout(ctx, m.cfg.CallTimeout)
		defer cancel()
		epoch, err := m.flowMeta.Enlist(ctx, m.node)
		if err != nil {
			return Stamp{}, err
		}
		m.epoch = epoch
	}
	m.stamps++
	return Stamp{Writer: m.node, Epoch: m.epoch, N: m.stamps}, nil
}

// WithObserver lets somebody know what happens.
func (m *Manager) WithObserver(o Observer) *Manager {
	m.observer = o
	return m
}

func (m *Manager) tell(e Event) { m.observer.Observe(e) }

// getWorkerHandleForCreateFlow picks the worker for a flow that is to be created: each in turn. The error
// is [ErrInternal].
func (m *Manager) getWorkerHandleForCreateFlow() (*WorkerHandle, error) {
	if len(m.workers) == 0 {
		return nil, fmt.Errorf("%w: the manager has no workers", ErrInternal)
	}
	if m.selector >= len(m.workers) {
		m.selector = 0
	}
	w := m.workers[m.selector]
	m.selector++
	return w, nil
}

// Status is what a manager has, for tests and for people.
type Status struct {
	Flows   []catalog.FlowID
	Sources []catalog.TableID
	// Refilling are the flows that do not have what their tables hold yet.
	Refilling []catalog.FlowID
}

// Status tells what the manager has.
func (m *Manager) Status() Status {
	var s Status
	for _, r := range m.context.allFlows() {
		s.Flows = append(s.Flows, r.args.ID)
		if t := m.context.refill(r); t == nil || !t.IsFinished() {
			s.Refilling = append(s.Refilling, r.args.ID)
		}
	}
	for _, src := range m.context.allSources() {
		s.Sources = append(s.Sources, src.table.ID)
	}
	return s
}
