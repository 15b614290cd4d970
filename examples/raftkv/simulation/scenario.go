package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/examples/raftkv"
	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// opTimeout is how long clients wait for an answer.
const opTimeout = 3 * time.Second

// Scenario is the whole store under faults.
func Scenario() *scenarios.Scenario {
	return &scenarios.Scenario{
		Name: "raftkv",
		Doc:  "clients read and write a few keys of a replicated store",
		Settings: []scenarios.Setting{
			{Name: "servers", Default: "3", Doc: "machines that hold the store", Check: oneToNine},
			{Name: "clients", Default: "3", Doc: "machines that use it"},
			{Name: "keys", Default: "3", Doc: "keys they share", Check: oneToNine},
			{Name: "pace", Default: "80ms", Doc: "mean time between two commands of a client"},
		},
		Oracles: []string{models.OracleKV, oracleSame},
		Build:   build,
	}
}

func oneToNine(value string) error {
	if len(value) != 1 || value < "1" || value > "9" {
		return fmt.Errorf("%q is not a number from 1 to 9", value)
	}
	return nil
}

const oracleSame = "raftkv/same-log"

func build(r *scenarios.Run) {
	servers := names("server", r.Int("servers"))
	same := r.Check(oracleSame)
	carriedOut := map[uint64]raftkv.Entry{}
	applied := func(index uint64, e raftkv.Entry) {
		if first, ok := carriedOut[index]; ok {
			same.Holds(first == e, "entry %d is %v on one server and %v on another", index, first, e)
		}
		carriedOut[index] = e
	}
	for _, name := range servers {
		r.AddNode(name, "server", func(h host.Host) {
			for {
				err := raftkv.Serve(h, raftkv.Config{Servers: servers, Applied: applied})
				h.Logf("the server ended: %v", err)
				h.Clock().Sleep(200 * time.Millisecond) // as a supervisor starts it again
			}
		})
		r.UsesDisk(name)
	}
	history := models.NewHistory()
	w := &workload{r: r, history: history, servers: servers, keys: names("key", r.Int("keys"))}
	for i, name := range names("client", r.Int("clients")) {
		c := &client{workload: w, number: i + 1, choices: r.World.NewStream("workload", name)}
		r.AddNode(name, "client", c.boot)
		r.Settled(name+" ending its last command", func() bool { return c.done })
	}
	r.Count(func() (ops, succeeded int) {
		for _, op := range history.Ops() {
			if op.Outcome == models.Ok && op.Client != finalClient {
				succeeded++
			}
		}
		return history.Len(), succeeded
	})
	r.Final(w.readAll)
	r.Record(kv(), history)
	r.Judge(models.KV(history))
}

// kv is the model that simrun has of stores like this one: `simrun check --model kv` judges what
// --history writes.
func kv() models.Model {
	m, err := models.Lookup("kv")
	if err != nil {
		panic(err) // it is one of models.Builtin
	}
	return m
}

func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return all
}

// workload is what clients do.
type workload struct {
	r       *scenarios.Run
	history *models.History
	servers []string
	keys    []string
}

// client is one machine that uses the store, over all its lives.
type client struct {
	*workload
	number  int
	choices *sim.Stream // one choice a command, and from it all that the command is
	written int
	done    bool
}

func (c *client) boot(h host.Host) {
	c.done = false
	session, err := raftkv.NewClient(h, fmt.Sprintf("%s-life-%d", h.Name(), h.Incarnation()), c.servers)
	if err != nil {
		h.Logf("no session: %v", err)
		return
	}
	seen := map[string]string{} // what a key had when this client last looked
	for c.r.Working() {
		draw := sim.NewStream(c.choices.Uint64(), "command")
		h.Clock().Sleep(sim.Exp(0, c.r.Duration("pace")).Sample(draw.Uint64()))
		key := c.keys[draw.N(uint64(len(c.keys)))]
		cmd := raftkv.Command{Op: []string{models.KindGet, models.KindGet, models.KindPut, models.KindCAS}[draw.N(4)], Key: key}
		if cmd.Op != models.KindGet {
			c.written++
			cmd.Value = fmt.Sprintf("v%d-%d", c.number, c.written) // each value once: reads tell who wrote
		}
		if cmd.Op == models.KindCAS {
			cmd.Old = seen[key]
		}
		result, err := c.do(h, session, c.number, cmd)
		switch {
		case err != nil:
		case cmd.Op == models.KindGet, !result.Done:
			seen[key] = result.Value
		default:
			seen[key] = cmd.Value
		}
	}
	c.done = true
}

// do does one command and records it.
func (w *workload) do(h host.Host, session *raftkv.Client, number int, cmd raftkv.Command) (raftkv.Result, error) {
	ctx, cancel := h.Clock().WithTimeout(context.Background(), opTimeout)
	defer cancel()
	world := w.r.World
	in := input(cmd)
	at := world.Op(fmt.Sprintf("client %d calls %s%v", number, cmd.Op, in))
	token := w.history.Begin(number, cmd.Op, in, at, int64(world.Now()))
	result, err := session.Do(ctx, cmd)
	outcome, output := answer(cmd, result, err)
	text := fmt.Sprintf("client %d: %s", number, outcome)
	if output != nil {
		text += fmt.Sprintf(" %v", output)
	}
	w.history.End(token, outcome, output, world.Op(text), int64(world.Now()))
	return result, err
}

// input is a command as the model knows it.
func input(cmd raftkv.Command) any {
	switch cmd.Op {
	case models.KindPut:
		return models.Put{Key: cmd.Key, Value: models.Text(cmd.Value)}
	case models.KindCAS:
		return models.CompareAndSet{Key: cmd.Key, Old: models.Text(cmd.Old), New: models.Text(cmd.Value)}
	}
	return models.Get{Key: cmd.Key}
}

// answer is what came of a command as the model knows it. Without an answer nobody knows.
func answer(cmd raftkv.Command, result raftkv.Result, err error) (models.Outcome, any) {
	switch {
	case err != nil:
		return models.Unknown, nil
	case !result.Done:
		return models.Fail, models.Mismatch{}
	case cmd.Op == models.KindGet:
		return models.Ok, models.Found{Value: models.Text(result.Value)}
	}
	return models.Ok, nil
}

// finalClient is the client that reads what is there in the end.
const finalClient = 1_000_000

// readAll reads every key, so that what became of every command is known.
func (w *workload) readAll() error {
	h := w.r.World.Host()
	session, err := raftkv.NewClient(h, "final", w.servers)
	if err != nil {
		return err
	}
	for _, key := range w.keys {
		if _, err := w.do(h, session, finalClient, raftkv.Command{Op: models.KindGet, Key: key}); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return session.Close()
}
