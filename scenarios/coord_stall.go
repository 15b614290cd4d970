package scenarios

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// coordGate is the way of machines to the coordination service, on which what they write can be held up (the fault
// coord.stall), while what they read, watch and keep alive goes through: as when the service's leader waits for its
// disk.
type coordGate struct {
	w *sim.World
	// patience is how long a call waits for an answer at most.
	patience time.Duration
	// onward is how what was held gets to the service, whatever has become of its sender meanwhile.
	onward coord.Client
	stalls []*coordStall
	// unheard are the machines whose keep-alives hang, as often as faults say so.
	unheard map[string]int
}

// coordStall is a fault coord.stall in force.
type coordStall struct {
	machine string // whose writes are held up, "" everybody's
	how     string
	// takes tells which of the writes are held up; nil is all of them.
	takes func(coord.Txn) bool
	over  *host.Chan[struct{}] // closed when it is
	// givenUp is how many callers went away without an answer.
	givenUp int
}

func newCoordGate(w *sim.World, patience time.Duration, onward coord.Client) *coordGate {
	return &coordGate{w: w, patience: patience, onward: onward, unheard: map[string]int{}}
}

// begin holds up what a machine writes, "" is every machine.
func (g *coordGate) begin(machine, how string) *coordStall {
	s := &coordStall{machine: machine, how: how, over: host.NewChan[struct{}](g.w.Host(), "coord stall", 0)}
	g.stalls = append(g.stalls, s)
	return s
}

// end lets go on what is held up, if that was not done before.
func (g *coordGate) end(s *coordStall) {
	if s.over.Closed() {
		return
	}
	g.stalls = slices.DeleteFunc(g.stalls, func(other *coordStall) bool { return other == s })
	s.over.Close()
}

// of is the stall that holds up what a machine writes, nil when there is none. A write that is no transaction is an empty
// one.
func (g *coordGate) of(machine string, t coord.Txn) *coordStall {
	n := slices.IndexFunc(g.stalls, func(s *coordStall) bool {
		return (s.machine == "" || s.machine == machine) && (s.takes == nil || s.takes(t))
	})
	if n < 0 {
		return nil
	}
	return g.stalls[n]
}

// handle makes the writes of the machines that hold some offices, and of all, the subjects of coord.stall. Holder is
// the machine that holds an office, nil when nobody does. Soon, if not nil, is told of a stall whose end is to come
// at a moment of its own, which may be before the fault's.
func (g *coordGate) handle(r *Run, offices []string, holder func(office string) *sim.Node, soon func(f *faults.Fault, s *coordStall)) {
	r.Handle("coord.stall", append(slices.Clone(offices), everyClient), func(f *faults.Fault) (func(), bool) {
		machine := ""
		if f.Target[0] != everyClient {
			n := holder(f.Target[0])
			if n == nil {
				return nil, false
			}
			machine = n.Name()
		}
		s := g.begin(machine, f.Text("how"))
		if soon != nil {
			soon(f, s)
		}
		return func() { g.end(s) }, true
	})
}

// firstCandidature has a stall hold up the first candidature in an election that comes by it, and nothing else: as when one
// of a client's connections hangs, and it tries another.
func (s *coordStall) firstCandidature(prefix string) {
	taken := false
	s.takes = func(t coord.Txn) bool {
		if taken || !slices.ContainsFunc(t.Then, func(o coord.Op) bool { return o.Kind == coord.OpPut && strings.HasPrefix(o.Keys.From, prefix) }) {
			return false
		}
		taken = true
		return true
	}
}

// everyClient is the subject of coord.stall that stands for all machines.
const everyClient = "clients"

// through returns a machine's client of the service as one that goes through the gate.
func (g *coordGate) through(client coord.Client, machine string) coord.Client {
	return &gatedCoord{client, g, machine}
}

// gatedCoord is a machine's client of the service.
type gatedCoord struct {
	coord.Client
	g       *coordGate
	machine string
}

// Txn is part of coord.Client.
func (c *gatedCoord) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	if !t.Writes() {
		return c.Client.Txn(ctx, t)
	}
	return gated(ctx, c, "txn", t, func(ctx context.Context, client coord.Client) (coord.TxnResult, error) {
		return client.Txn(ctx, t)
	})
}

// Grant is part of coord.Client.
func (c *gatedCoord) Grant(ctx context.Context, id coord.LeaseID, ttl time.Duration) error {
	_, err := gated(ctx, c, "grant", coord.Txn{}, func(ctx context.Context, client coord.Client) (struct{}, error) {
		return struct{}{}, client.Grant(ctx, id, ttl)
	})
	return err
}

// Revoke is part of coord.Client.
func (c *gatedCoord) Revoke(ctx context.Context, id coord.LeaseID) error {
	_, err := gated(ctx, c, "revoke", coord.Txn{}, func(ctx context.Context, client coord.Client) (struct{}, error) {
		return struct{}{}, client.Revoke(ctx, id)
	})
	return err
}

// KeepAlive is part of coord.Client.
func (c *gatedCoord) KeepAlive(ctx context.Context, id coord.LeaseID) error {
	for waited := time.Duration(0); c.g.unheard[c.machine] > 0; waited += poll {
		if waited >= c.g.patience || ctx.Err() != nil {
			return &coord.CallError{Op: "keep-alive", Kind: coord.ErrUnknown, Err: errInjected}
		}
		c.g.w.Sleep(poll)
	}
	return c.Client.KeepAlive(ctx, id)
}

// gated makes a call that writes: through the machine's own client, or, while a stall holds it up, later or without
// an answer.
func gated[T any](ctx context.Context, c *gatedCoord, op string, t coord.Txn, call func(context.Context, coord.Client) (T, error)) (answer T, err error) {
	s := c.g.of(c.machine, t)
	if s == nil {
		return call(ctx, c.Client)
	}
	w := c.g.w
	var got T
	err = &coord.CallError{Op: op, Kind: coord.ErrUnknown, Err: errInjected} // of one that is lost
	answered := host.NewChan[struct{}](w.Host(), "coord stalled call", 0)
	onward := func() {
		ctx, cancel := w.Host().Clock().WithTimeout(context.Background(), opTimeout)
		defer cancel()
		got, err = call(ctx, c.g.onward)
	}
	w.Go("coord stalled "+op, func() {
		if s.how == "unanswered" {
			onward()
		}
		s.over.Recv()
		if s.how == "held" {
			onward()
		}
		answered.Close()
	})
	waits, cancel := w.Host().Clock().WithTimeout(ctx, c.g.patience)
	defer cancel()
	if _, _, gone := answered.RecvContext(waits); gone != nil {
		s.givenUp++
		return answer, &coord.CallError{Op: op, Kind: coord.ErrUnknown, Err: gone}
	}
	return got, err
}
