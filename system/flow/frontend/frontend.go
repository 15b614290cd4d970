package frontend

import (
	"context"
	"time"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Config is what a frontend has to know. Times that are zero have their defaults.
type Config struct {
	// Nodes are the names of the machines that run flows; each flow is given to one of them.
	Nodes []string
	// MirrorTimeout is how long a mirrored request may take. Default 2 s.
	MirrorTimeout time.Duration
	// FlowTimeout is how long a flow node may take to create, drop or flush a flow. Default 10 s.
	FlowTimeout time.Duration
	// StatementTimeout is how long a statement may take, after which nothing of it will happen any more.
	// Default 30 s.
	StatementTimeout time.Duration
	// Mirror, if not nil, is told of each node and of how the frontend reaches it, and returns how it is
	// to be reached for mirrored inserts.
	Mirror func(node string, to Inserter) Inserter
	// Handle, if not nil, is told the same, and returns how the node is to be reached for requests about flows.
	Handle func(node string, to Handler) Handler
	// SweepInterval is how often it is looked whether there are dropped tables of which something is left. Default
	// 1 min.
	SweepInterval time.Duration
	// History is how many changes of each table are kept for nodes that missed some. Default 4096.
	History int
}

// Inserter takes in mirrored inserts, as a [flow.Manager] does.
type Inserter interface {
	HandleInserts(ctx context.Context, inserts flow.InsertRequests) (flow.FlowResponse, error)
}

// Handler carries out requests about flows, as a [flow.Manager] does.
type Handler interface {
	Handle(ctx context.Context, r flow.FlowRequest) (flow.FlowResponse, error)
}

// remote is the flow node at the other end of a connection.
type remote struct{ *rpc.Client }

func (r remote) Handle(ctx context.Context, req flow.FlowRequest) (flow.FlowResponse, error) {
	return flow.MethodHandle.Call(ctx, r.Client, req)
}

func (r remote) HandleInserts(ctx context.Context, inserts flow.InsertRequests) (flow.FlowResponse, error) {
	return flow.MethodInserts.Call(ctx, r.Client, inserts)
}

// Frontend executes statements. Its methods may be called by several tasks. Their errors carry codes:
// see [Definite].
type Frontend struct {
	h       host.Host
	cfg     Config
	client  *persist.Client
	catalog *catalog.Store
	clients []*rpc.Client // of the flow nodes
	nodes   map[string]Handler
	mirrors map[string]Inserter

	life context.Context
	end  context.CancelFunc

	mu     *host.Mutex
	tables map[catalog.TableID]*table
}

// New returns a frontend over the tables that are kept with a client.
func New(h host.Host, client *persist.Client, cfg Config) *Frontend {
	if cfg.MirrorTimeout <= 0 {
		cfg.MirrorTimeout = 2 * time.Second
	}
	if cfg.FlowTimeout <= 0 {
		cfg.FlowTimeout = 10 * time.Second
	}
	if cfg.StatementTimeout <= 0 {
		cfg.StatementTimeout = 30 * time.Second
	}
	if cfg.SweepInterval <= 0 {
		cfg.SweepInterval = time.Minute
	}
	f := &Frontend{
		h: h, cfg: cfg, client: client, catalog: catalog.OpenStore(h, client), nodes: map[string]Handler{}, mirrors: map[string]Inserter{},
		mu: host.NewMutex(h, "tables of the frontend"), tables: map[catalog.TableID]*table{},
	}
	f.life, f.end = host.WithCancel(h, context.Background())
	for _, name := range cfg.Nodes {
		client := rpc.NewClient(h, host.JoinAddr(name, flow.Port), rpc.ClientOptions{CallTimeout: cfg.FlowTimeout})
		f.clients = append(f.clients, client)
		f.nodes[name], f.mirrors[name] = remote{client}, remote{client}
		if cfg.Handle != nil {
			f.nodes[name] = cfg.Handle(name, f.nodes[name])
		}
		if cfg.Mirror != nil {
			f.mirrors[name] = cfg.Mirror(name, f.mirrors[name])
		}
	}
	return f
}

// Close ends the connections to the flow nodes. The client of the tables is the caller's.
func (f *Frontend) Close() {
	f.end()
	for _, c := range f.clients {
		c.Close()
	}
}

// open is a table in memory.
func (f *Frontend) open(def *catalog.Table) *table {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tables[def.ID]
	if t == nil {
		t = openTable(f.h, f.client, def, relation.Config{History: f.cfg.History})
		f.tables[def.ID] = t
	}
	return t
}

// table finds a table by its number.
func (f *Frontend) table(ctx context.Context, id catalog.TableID) (*table, error) {
	f.mu.Lock()
	t := f.tables[id]
	f.mu.Unlock()
	if t == nil || !f.catalog.Knows(id) {
		def, err := f.catalog.TableByID(ctx, id)
		if err != nil {
			return nil, err
		}
		t = f.open(def)
	}
	return t, nil
}

// Table implements flow.TableMeta.
func (f *Frontend) Table(ctx context.Context, name catalog.Name) (*catalog.Table, error) {
	return f.catalog.Table(ctx, name)
}

// TableByID implements flow.TableMeta.
func (f *Frontend) TableByID(ctx context.Context, id catalog.TableID) (*catalog.Table, error) {
	return f.catalog.TableByID(ctx, id)
}

// Flows implements flow.FlowMeta.
func (f *Frontend) Flows(ctx context.Context) ([]*catalog.Flow, uint64, error) {
	return f.catalog.Flows(ctx)
}

// Enlist implements flow.FlowMeta.
func (f *Frontend) Enlist(ctx context.Context, node string) (uint64, error) {
	epoch, err := f.catalog.Enlist(ctx, node)
	return epoch, coded(err)
}

// CreateTable implements flow.FrontendInvoker.
func (f *Frontend) CreateTable(ctx context.Context, t catalog.Table) (created bool, err error) {
	_, err = f.catalog.CreateTable(ctx, t)
	if isExists(err) {
		return false, nil
	}
	return err == nil, coded(err)
}

// Upper implements flow.FrontendInvoker.
func (f *Frontend) Upper(ctx context.Context, id catalog.TableID) (uint64, error) {
	t, err := f.table(ctx, id)
	if err != nil {
		return 0, asTable(err)
	}
	upper, err := t.relation.View(ctx, nil)
	return upper, asTable(err)
}

// Snapshot implements flow.FrontendInvoker.
func (f *Frontend) Snapshot(ctx context.Context, id catalog.TableID) (rows []dataflow.RowCount, upper uint64, err error) {
	t, err := f.table(ctx, id)
	if err != nil {
		return nil, 0, asTable(err)
	}
	upper, err = t.relation.View(ctx, func() { rows = t.rows.sorted() })
	return rows, upper, asTable(err)
}

// Changes implements flow.FrontendInvoker.
func (f *Frontend) Changes(ctx context.Context, id catalog.TableID, from uint64) ([]flow.Batch, error) {
	t, err := f.table(ctx, id)
	if err != nil {
		return nil, asTable(err)
	}
	list, err := t.relation.Changes(ctx, from)
	if err != nil {
		return nil, asTable(err)
	}
	batches := make([]flow.Batch, len(list))
	for i, b := range list {
		batches[i] = batch(b.Seq, b.Changes)
	}
	return batches, nil
}

// Write implements flow.FrontendInvoker.
func (f *Frontend) Write(ctx context.Context, w flow.WriteRequest) error {
	t, err := f.table(ctx, w.Table)
	if err != nil {
		return asTable(err)
	}
	b, err := t.write(ctx, w)
	if err == nil && b.Seq > 0 {
		f.mirror(t, insertRequest(t, b))
	}
	return asTable(err)
}
