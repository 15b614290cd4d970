package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/flow/catalog"
	"github.com/simrun-dev/simrun/system/flow/planner"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// Port is where a flow node answers.
const Port = "flow"

// Backend is what a node needs of the frontends.
type Backend interface {
	TableMeta
	FlowMeta
	FrontendInvoker
}

// Node is the process of a flow node: a manager with its workers, the server that makes it reachable, and
// a task that keeps what runs as the catalog has it. What a process before it ran is not known to it: the
// catalog says what to run, and refills what it had read.
type Node struct {
	*Manager
	h        host.Host
	backend  Backend
	shutdown *host.Chan[struct{}]
	ended    *host.Chan[struct{}]
	keeping  *host.WaitGroup // the task that keeps to the catalog
	server   *rpc.Server
}

// StartNode starts the node on this machine; its name is the machine's. When it returns the node can be
// reached.
func StartNode(h host.Host, backend Backend, cfg Config, observer Observer) (*Node, error) {
	m, workers := NewWithWorkers(h, h.Name(), planner.Flow, backend, cfg)
	if observer != nil {
		m.WithObserver(observer)
	}
	m.WithFlowMeta(backend)
	m.SetFrontendInvoker(backend)
	n := &Node{Manager: m, h: h, backend: backend, shutdown: host.NewChan[struct{}](h, "node shuts down", 0)}
	service := rpc.NewService()
	HandleService(service, m)
	server, err := rpc.Serve(h, Port, service, rpc.ServerOptions{})
	if err != nil {
		return nil, err
	}
	n.server = server
	for i, w := range workers {
		h.Go(fmt.Sprintf("worker %d", i), w.Run)
	}
	n.ended = m.RunBackground(n.shutdown)
	n.keeping = host.NewWaitGroup(h, "keep to the catalog")
	n.keeping.Go(h, "keep to the catalog", n.keepToCatalog)
	return n, nil
}

// Close ends the node and waits for its tasks.
func (n *Node) Close() {
	n.server.Close()
	n.shutdown.Close()
	n.keeping.Wait()
	n.ended.Recv()
}

func (n *Node) keepToCatalog() {
	soon := n.cfg.RefillBackoff
	for {
		ctx, cancel := n.h.Clock().WithTimeout(context.Background(), 4*n.cfg.CallTimeout)
		err := n.Reconcile(ctx)
		cancel()
		wait := n.cfg.ReconcileInterval
		if err != nil {
			n.h.Logf("flow: keeping to the catalog: %v", err)
			wait = soon
			soon = min(2*soon, n.cfg.ReconcileInterval)
		} else {
			soon = n.cfg.RefillBackoff
		}
		if n.pause(n.shutdown, wait) {
			return
		}
	}
}

// Reconcile starts the flows that the catalog has and the node not, replaces those it has in an earlier
// revision, removes those that the catalog has not, and begins refills again that were given up. One
// flow's trouble does not keep it from the others.
func (n *Node) Reconcile(ctx context.Context) error {
	flows, revision, err := n.backend.Flows(ctx)
	if err != nil {
		return err
	}
	var errs []error
	wanted := map[catalog.FlowID]bool{}
	for _, f := range flows {
		if f.Node != n.node {
			continue
		}
		wanted[f.ID] = true
		if r := n.context.flow(f.ID); r != nil && r.args.Revision >= f.Revision {
			continue
		}
		if _, err := n.CreateFlow(ctx, ArgsOf(f)); err != nil && !errors.Is(err, ErrSuperseded) {
			errs = append(errs, fmt.Errorf("flow %s: %w", f.Name, err))
		}
	}
	for _, r := range n.context.allFlows() {
		if !wanted[r.args.ID] && r.args.Revision <= revision {
			n.h.Sometimes("flow: a flow was removed because the catalog has it no more", true)
			errs = append(errs, n.RemoveFlow(ctx, DropFlow{ID: r.args.ID, Revision: revision, Sink: r.args.Sink}))
		}
	}
	errs = append(errs, n.clearAll(ctx))
	tasks, err := n.CreateRefillFlowTasks(ctx, n.backend)
	if err == nil || errors.Is(err, ErrFlowNotFound) {
		err = n.StartingRefillFlows(tasks) // a flow that is not there has been told of above
	}
	return errors.Join(append(errs, err)...)
}
