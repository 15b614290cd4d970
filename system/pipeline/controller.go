package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/simrun-dev/simrun/system/compute"
	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// instance names the compute instance where its controllers' lives are numbered.
const instance = "pipeline"

// Controller is a process that controls the compute instance while it leads, and stands by while another does.
// While it leads it answers peeks, and keeps the introspection collections.
type Controller struct {
	h     host.Host
	cfg   Config
	links Links
	// current is the compute controller of the present leadership, nil before it has created all views.
	current *compute.Controller
	// incarnation is its number, and subscribed how many subscriptions this process has begun.
	incarnation int64
	subscribed  protocol.GlobalID
}

// StartController runs a controller.
func StartController(h host.Host, cfg Config, links Links) (*Controller, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	c := &Controller{h: h, cfg: cfg, links: links}
	service := rpc.NewService()
	c.handle(service)
	if _, err := rpc.Serve(h, ControllerPort, service, rpc.ServerOptions{}); err != nil {
		return nil, err
	}
	l := &leadership{h: h, coord: links.Coord, prefix: ControllerElection, ttl: cfg.SessionTTL}
	h.Go("campaign", func() { l.run(c.lead) })
	return c, nil
}

// Leading is the compute controller, if this process leads and has created all views; otherwise nil.
func (c *Controller) Leading() *compute.Controller {
	if c.current == nil || c.current.Err() != nil {
		return nil
	}
	return c.current
}

// lead controls the instance until ctx is done or another controller has taken over.
func (c *Controller) lead(ctx context.Context, _ coord.Revision) {
	controller, err := c.take(ctx)
	if err != nil {
		c.h.Logf("controller: %v", err)
		return
	}
	defer controller.Close()
	i := newIntrospection(c, controller)
	defer i.close()
	if err := c.create(ctx, controller); err != nil {
		c.h.Logf("controller: %v", err)
		return
	}
	controller.InitializationComplete()
	controller.AllowWrites()
	c.current = controller
	defer func() { c.current = nil }()
	for ctx.Err() == nil && controller.Err() == nil {
		i.refresh(ctx)
		tick := c.h.Clock().Timer(c.cfg.IntrospectionInterval)
		host.Select(c.h, host.OnDone(ctx), controller.Done(), host.OnTime(tick.C, nil))
		tick.Stop()
	}
	c.h.Sometimes("pipeline: a controller was replaced while it led", errors.Is(controller.Err(), compute.ErrFenced))
}

// take begins a life of the instance's controller.
func (c *Controller) take(ctx context.Context) (*compute.Controller, error) {
	ctx, cancel := c.h.Clock().WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	incarnation, err := compute.NextIncarnation(ctx, c.links.Consensus, instance)
	if err != nil {
		return nil, err
	}
	c.incarnation = incarnation
	cfg := c.cfg.Compute
	cfg.Incarnation, cfg.Persist, cfg.Retention = incarnation, c.links.Persist, milliseconds(c.cfg.Retention)
	controller, err := compute.NewController(c.h, cfg)
	if err != nil {
		return nil, err
	}
	if c.cfg.Parameters != (protocol.Parameters{}) {
		controller.UpdateConfiguration(c.cfg.Parameters)
	}
	for _, name := range c.cfg.Topology.Replicas {
		replica := c.cfg.Replica
		replica.Address = host.JoinAddr(name, ReplicaPort)
		if err := controller.AddReplica(protocol.ReplicaID(name), replica); err != nil {
			controller.Close()
			return nil, err
		}
	}
	return controller, nil
}

// create creates all views.
func (c *Controller) create(ctx context.Context, controller *compute.Controller) error {
	for _, v := range c.cfg.Views {
		d, err := c.cfg.describe(v)
		if err != nil {
			return err
		}
		for {
			attempt, cancel := c.h.Clock().WithTimeout(ctx, 5*c.cfg.CallTimeout)
			_, err := controller.CreateDataflow(attempt, d)
			cancel()
			if err == nil || errors.Is(err, compute.ErrCollectionExists) {
				break
			}
			if ctx.Err() != nil || controller.Err() != nil {
				return err
			}
			c.h.Logf("controller: view %s: %v", v.Name, err)
			c.h.Clock().Sleep(c.cfg.Interval)
		}
	}
	return nil
}

// Subscribe follows a view, from the leading controller's own process: what Next of the subscription returns
// begins with its contents, if snapshot. It fails with ErrNotLeading or ErrUnknownView, or as
// [compute.Controller.Subscribe] does. [Controller.Drop] ends it.
func (c *Controller) Subscribe(ctx context.Context, view string, snapshot bool) (*compute.Subscription, error) {
	controller := c.Leading()
	if controller == nil {
		return nil, ErrNotLeading
	}
	v, ok := c.cfg.view(view)
	if !ok {
		return nil, ErrUnknownView
	}
	d, err := c.cfg.describe(v)
	if err != nil {
		return nil, err
	}
	c.subscribed++
	d.ID = FirstSubscribe + protocol.GlobalID(c.incarnation)<<32 + c.subscribed // which no other controller uses
	d.Sink, d.Policy, d.Transient = protocol.Sink{Kind: protocol.Subscribe, Snapshot: snapshot}, nil, true
	return controller.Subscribe(ctx, d)
}

// Drop ends a subscription. One of an earlier leadership has ended already.
func (c *Controller) Drop(s *compute.Subscription) {
	if controller := c.Leading(); controller != nil {
		_ = controller.DropCollections(s.ID()) // it fails if it is not there
	}
}

// patience is how long a peek may take.
func (c *Controller) patience() time.Duration { return c.cfg.CallTimeout - c.cfg.CallTimeout/8 }
