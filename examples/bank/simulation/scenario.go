package simulation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/simrun-dev/simrun/examples/bank"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

const (
	coordinator  = "coordinator"
	mostBranches = 9
	perBranch    = 2   // accounts of each branch
	opening      = 100 // what each account has at first
	opTimeout    = 3 * time.Second
	oracleTotal  = "bank/total"
)

// Scenario is the whole bank under faults.
func Scenario() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "bank",
		Doc:  "clients move money between accounts on several machines, and audit them",
		Settings: []scenarios.Setting{
			{Name: "branches", Default: "3", Doc: "machines that keep accounts", Check: checkBranches},
			{Name: "clients", Default: "3", Doc: "machines that move money"},
			{Name: "pace", Default: "150ms", Doc: "mean time between two transfers of a client"},
		},
		Oracles: []string{oracleSerializable, oracleTotal},
		Build:   build,
	}
}

func checkBranches(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 2 || n > mostBranches {
		return fmt.Errorf("%q is not a number from 2 to %d", value, mostBranches)
	}
	return nil
}

func build(r *scenarios.Run) {
	var branches, accounts []string
	for i := range r.Int("branches") {
		name := fmt.Sprint("branch-", i+1)
		branches = append(branches, name)
		own := map[string]int64{}
		for k := range perBranch {
			account := fmt.Sprintf("%s/%d", name, k+1)
			own[account] = opening
			accounts = append(accounts, account)
		}
		supervised(r, name, "branch", func(h host.Host) error { return bank.ServeBranch(h, coordinator, own) })
	}
	supervised(r, coordinator, coordinator, func(h host.Host) error { return bank.ServeCoordinator(h, branches) })

	w := &workload{r: r, history: models.NewHistory(), accounts: accounts, total: r.Check(oracleTotal)}
	for i := range r.Int("clients") {
		name := fmt.Sprint("client-", i+1)
		c := &client{workload: w, number: i + 1, choices: r.World.NewStream("workload", name)}
		r.AddNode(name, "client", c.boot)
		r.Settled(name+" ending its last transfer", func() bool { return c.done })
	}
	r.Count(func() (ops, succeeded int) {
		for _, op := range w.history.Ops() {
			if op.Outcome == models.Ok && op.Client != finalClient {
				succeeded++
			}
		}
		return w.history.Len(), succeeded
	})
	r.Final(w.lastAudit)
	r.Record(Model(accounts), w.history)
	r.Judge(Serializable(accounts, w.history))
}

// supervised adds a machine whose process is started again when it ends.
func supervised(r *scenarios.Run, name, role string, serve func(host.Host) error) {
	r.AddNode(name, role, func(h host.Host) {
		for {
			h.Logf("ended: %v", serve(h))
			h.Clock().Sleep(200 * time.Millisecond)
		}
	})
	r.UsesDisk(name)
}

// workload is what clients do.
type workload struct {
	r        *scenarios.Run
	history  *models.History
	accounts []string
	total    *scenarios.Check
}

// client is one machine that moves money, over all its lives.
type client struct {
	*workload
	number  int
	choices *sim.Stream // one choice a transfer, and from it all that the transfer is
	done    bool
}

func (c *client) boot(h host.Host) {
	c.done = false
	b := bank.NewClient(h, coordinator)
	for c.r.Working() {
		draw := sim.NewStream(c.choices.Uint64(), "transfer")
		h.Clock().Sleep(sim.Exp(0, c.r.Duration("pace")).Sample(draw.Uint64()))
		if draw.N(4) == 0 {
			_, _ = c.audit(h, b, c.number)
			continue
		}
		n := uint64(len(c.accounts))
		from := draw.N(n)
		to := (from + 1 + draw.N(n-1)) % n
		in := Input{From: c.accounts[from], To: c.accounts[to], Amount: 1 + int64(draw.N(80))}
		_, _ = c.do(h, b, c.number, KindTransfer, in, bank.Leg{Account: in.From, Amount: -in.Amount}, bank.Leg{Account: in.To, Amount: in.Amount})
	}
	c.done = true
}

// errNot says that nothing was done.
var errNot = errors.New("nothing was changed")

// do does one operation and records it.
func (w *workload) do(h host.Host, b *bank.Client, number int, kind string, in Input, legs ...bank.Leg) (bank.Reply, error) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	world := w.r.World
	at := world.Op(fmt.Sprintf("client %d calls %s%v", number, kind, in))
	token := w.history.Begin(number, kind, in, at, int64(world.Now()))
	end := func(o models.Outcome, output any, text string) {
		w.history.End(token, o, output, world.Op(fmt.Sprintf("client %d: %s", number, text)), int64(world.Now()))
	}
	reply, err := b.Transfer(ctx, legs...)
	switch {
	case errors.Is(err, rpc.ErrNotSent):
		end(models.Fail, nil, "not sent")
	case err != nil:
		end(models.Unknown, nil, err.Error())
	case reply.Outcome == bank.Busy:
		end(models.Fail, nil, "busy")
		err = errNot
	default:
		out := Output{Short: reply.Outcome == bank.Short, Balances: reply.Balances}
		end(models.Ok, out, fmt.Sprint(out))
	}
	return reply, err
}

// audit reads all accounts at once.
func (w *workload) audit(h host.Host, b *bank.Client, number int) (bank.Reply, error) {
	legs := make([]bank.Leg, len(w.accounts))
	for i, account := range w.accounts {
		legs[i].Account = account
	}
	reply, err := w.do(h, b, number, KindAudit, Input{}, legs...)
	if err == nil {
		sum := int64(0)
		for _, balance := range reply.Balances {
			sum += balance
		}
		want := int64(len(w.accounts) * opening)
		w.total.Holds(sum == want, "an audit finds %d, where there must be %d: %v", sum, want, reply.Balances)
	}
	return reply, err
}

// finalClient is the client that audits the bank in the end.
const finalClient = 1_000_000

// lastAudit waits until no account is locked, and reads all.
func (w *workload) lastAudit() error {
	h := w.r.World.Host()
	b := bank.NewClient(h, coordinator)
	defer b.Close()
	var err error
	for range 20 {
		if _, err = w.audit(h, b, finalClient); err == nil {
			return nil
		}
		h.Clock().Sleep(time.Second)
	}
	return fmt.Errorf("20 audits in a row: %w", err)
}
