package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// A random program: machines, each with a main task; what tasks do; and when machines crash and
// start anew. It runs in the kernel and in a naive interpreter, written for obviousness; both must
// log the same at the same times.

type instruction struct {
	op      string // "sleep", "send", "receive", "spawn", "log"
	for_    time.Duration
	channel int
	task    int // of the script to spawn
}

type program struct {
	scripts    [][]instruction
	mains      []int // script of each machine's main task
	capacities []int // of the channels, which belong to no machine
	crashes    []crash
}

type crash struct {
	at, restart time.Duration
	machine     int
}

func drawProgram(t *rapid.T) program {
	var p program
	scripts := rapid.IntRange(1, 5).Draw(t, "scripts")
	channels := rapid.IntRange(1, 3).Draw(t, "channels")
	for range channels {
		p.capacities = append(p.capacities, rapid.SampledFrom([]int{0, 1, 2, host.Unbounded}).Draw(t, "capacity"))
	}
	for s := range scripts {
		var script []instruction
		for range rapid.IntRange(0, 8).Draw(t, "length") {
			i := instruction{
				op:      rapid.SampledFrom([]string{"sleep", "send", "receive", "spawn", "log"}).Draw(t, "op"),
				for_:    time.Duration(rapid.IntRange(0, 5).Draw(t, "for")) * time.Millisecond,
				channel: rapid.IntRange(0, channels-1).Draw(t, "channel"),
				task:    rapid.IntRange(0, scripts-1).Draw(t, "task"),
			}
			if i.op == "spawn" && i.task <= s { // only later scripts, or it would never end
				i.op = "log"
			}
			script = append(script, i)
		}
		p.scripts = append(p.scripts, script)
	}
	for range rapid.IntRange(1, 3).Draw(t, "machines") {
		p.mains = append(p.mains, rapid.IntRange(0, scripts-1).Draw(t, "main"))
	}
	at := time.Duration(0)
	for range rapid.IntRange(0, 3).Draw(t, "crashes") {
		// At odd microseconds, when nothing else happens: what comes first at one instant is not
		// what is tested here.
		at += time.Duration(rapid.IntRange(1, 10).Draw(t, "after"))*time.Millisecond + time.Microsecond
		c := crash{at: at, machine: rapid.IntRange(0, len(p.mains)-1).Draw(t, "machine")}
		at += time.Duration(rapid.IntRange(1, 5).Draw(t, "down"))*time.Millisecond + time.Microsecond
		c.restart = at
		p.crashes = append(p.crashes, c)
	}
	return p
}

const programTime = 200 * time.Millisecond

// inKernel runs the program in a world with the FIFO strategy.
func (p program) inKernel(t require.TestingT) (log []string) {
	w := sim.New(sim.Config{Strategy: sim.FIFO()})
	defer w.Close()
	channels := make([]*host.Chan[int], len(p.capacities))
	for i, n := range p.capacities {
		channels[i] = host.NewChan[int](w.Host(), fmt.Sprint("c", i), n)
	}
	value := 0
	var run func(h host.Host, script int)
	run = func(h host.Host, script int) {
		note := func(format string, args ...any) {
			log = append(log, fmt.Sprintf("%v %s script %d: %s", w.Now(), h.Name(), script, fmt.Sprintf(format, args...)))
		}
		for _, i := range p.scripts[script] {
			switch i.op {
			case "sleep":
				h.Clock().Sleep(i.for_)
			case "send":
				value++
				v := value
				channels[i.channel].Send(v)
				note("sent %d", v)
			case "receive":
				v, _ := channels[i.channel].Recv()
				note("received %d", v)
			case "spawn":
				h.Go("task", func() { run(h, i.task) })
			case "log":
				note("here")
			}
		}
	}
	var nodes []*sim.Node
	for m, main := range p.mains {
		nodes = append(nodes, w.NewNode(fmt.Sprint("m", m), func(h host.Host) { run(h, main) }))
	}
	for _, c := range p.crashes {
		require.NoError(t, w.RunFor(c.at-w.Now()))
		nodes[c.machine].Crash()
		require.NoError(t, w.RunFor(c.restart-w.Now()))
		nodes[c.machine].Restart()
	}
	require.NoError(t, w.RunFor(programTime-w.Now()))
	return log
}

// naive interprets the program.
type naive struct {
	p        program
	now      time.Duration
	rank     int
	due      []*naiveEvent
	value    int
	buffers  [][]int
	sending  [][]*naiveTask
	awaiting [][]*naiveTask
	tasks    []*naiveTask
	log      []string
}

type naiveEvent struct {
	at   time.Duration
	rank int
	task *naiveTask
}

type naiveTask struct {
	machine, script, next int
	dead                  bool
	value                 int    // being sent, or received
	done                  string // what to log when it goes on, with value
}

func (n *naive) schedule(at time.Duration, t *naiveTask) {
	n.rank++
	n.due = append(n.due, &naiveEvent{at, n.rank, t})
}

func (n *naive) spawn(machine, script int) {
	t := &naiveTask{machine: machine, script: script}
	n.tasks = append(n.tasks, t)
	n.schedule(n.now, t)
}

// step makes the next event happen, if one is due by the limit.
func (n *naive) step(limit time.Duration) bool {
	n.due = slices.DeleteFunc(n.due, func(e *naiveEvent) bool { return e.task.dead })
	var best *naiveEvent
	for _, e := range n.due {
		// Of those that are due the lowest rank; if none is, the earliest.
		late := max(e.at, n.now)
		if late <= limit && (best == nil || late < max(best.at, n.now) || late == max(best.at, n.now) && e.rank < best.rank) {
			best = e
		}
	}
	if best == nil {
		n.now = limit
		return false
	}
	n.now = max(n.now, best.at)
	n.due = slices.DeleteFunc(n.due, func(e *naiveEvent) bool { return e == best })
	n.run(best.task)
	return true
}

func (n *naive) note(t *naiveTask, what string) {
	n.log = append(n.log, fmt.Sprintf("%v m%d script %d: %s", n.now, t.machine, t.script, what))
}

// pop takes the first task.
func pop(q *[]*naiveTask) *naiveTask {
	for len(*q) > 0 {
		t := (*q)[0]
		*q = (*q)[1:]
		return t
	}
	return nil
}

func (n *naive) run(t *naiveTask) {
	if t.done != "" {
		n.note(t, fmt.Sprintf("%s %d", t.done, t.value))
		t.done = ""
	}
	for t.next < len(n.p.scripts[t.script]) {
		i := n.p.scripts[t.script][t.next]
		t.next++
		c := i.channel
		switch i.op {
		case "sleep":
			n.schedule(n.now+i.for_, t)
			return
		case "spawn":
			n.spawn(t.machine, i.task)
		case "log":
			n.note(t, "here")
		case "send":
			n.value++
			t.value, t.done = n.value, "sent"
			if r := pop(&n.awaiting[c]); r != nil {
				r.value = t.value
				n.schedule(n.now, r)
			} else if limit := n.p.capacities[c]; limit == host.Unbounded || len(n.buffers[c]) < limit {
				n.buffers[c] = append(n.buffers[c], t.value)
			} else {
				n.sending[c] = append(n.sending[c], t)
				return
			}
		case "receive":
			t.done = "received"
			switch {
			case len(n.buffers[c]) > 0:
				t.value = n.buffers[c][0]
				n.buffers[c] = n.buffers[c][1:]
				if s := pop(&n.sending[c]); s != nil {
					n.buffers[c] = append(n.buffers[c], s.value)
					n.schedule(n.now, s)
				}
			case len(n.sending[c]) > 0:
				s := pop(&n.sending[c])
				t.value = s.value
				n.schedule(n.now, s)
			default:
				n.awaiting[c] = append(n.awaiting[c], t)
				return
			}
		}
		if t.done != "" {
			n.note(t, fmt.Sprintf("%s %d", t.done, t.value))
			t.done = ""
		}
	}
}

func (p program) naively() []string {
	n := &naive{p: p, buffers: make([][]int, len(p.capacities)),
		sending: make([][]*naiveTask, len(p.capacities)), awaiting: make([][]*naiveTask, len(p.capacities))}
	for m, main := range p.mains {
		n.spawn(m, main)
	}
	for _, c := range p.crashes {
		for n.step(c.at) {
		}
		for _, t := range n.tasks {
			t.dead = t.dead || t.machine == c.machine
		}
		dead := func(t *naiveTask) bool { return t.dead }
		for i := range n.sending {
			n.sending[i], n.awaiting[i] = slices.DeleteFunc(n.sending[i], dead), slices.DeleteFunc(n.awaiting[i], dead)
		}
		for n.step(c.restart) {
		}
		n.spawn(c.machine, p.mains[c.machine])
	}
	for n.step(programTime) {
	}
	return n.log
}

func TestKernelAgainstANaiveInterpreter(t *testing.T) {
	longest := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		log := p.inKernel(t)
		longest = max(longest, len(log))
		require.Equal(t, p.naively(), log)
	})
	require.Greater(t, longest, 10)
}
