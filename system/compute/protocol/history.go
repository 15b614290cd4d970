package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// History is the commands that were given so far, without those that no longer matter: who replays what
// is left comes to the same collections, readable as of the same times. It forgets of itself when
// it has grown to twice its size.
type History struct {
	commands []Command
	reduced  int // how many commands were left when it was last reduced
}

// Push adds a command.
func (h *History) Push(c Command) {
	h.commands = append(h.commands, c)
	if len(h.commands) > 2*h.reduced {
		h.Reduce()
	}
}

// Commands are the commands in their order. The slice must not be changed, and is not changed either.
func (h *History) Commands() []Command { return slices.Clip(h.commands) }

// contents are what a history says, taken apart.
type contents struct {
	timely      *CreateTimely
	instance    *CreateInstance
	parameters  Parameters
	dataflows   []*Dataflow
	schedules   []Schedule
	peeks       map[PeekID]Peek
	compactions map[GlobalID]Frontier
	initialized bool
	writes      bool
}

// Reduce forgets what no longer matters.
func (h *History) Reduce() {
	c := takeApart(h.commands)
	c.compact()
	h.commands = c.putTogether()
	h.reduced = len(h.commands)
}

func takeApart(commands []Command) *contents {
	c := &contents{peeks: map[PeekID]Peek{}, compactions: map[GlobalID]Frontier{}}
	for _, cmd := range commands {
		switch cmd := cmd.(type) {
		case CreateTimely:
			c.timely = once(c.timely, cmd)
		case CreateInstance:
			c.instance = once(c.instance, cmd)
		case UpdateConfiguration:
			c.parameters = c.parameters.Merge(cmd.Parameters)
		case CreateDataflow:
			c.dataflows = append(c.dataflows, cmd.Dataflow)
		case Schedule:
			c.schedules = append(c.schedules, cmd)
		case Peek:
			c.peeks[cmd.ID] = cmd
		case CancelPeek:
			delete(c.peeks, cmd.ID)
		case AllowCompaction:
			c.compactions[cmd.ID] = cmd.Frontier
		case InitializationComplete:
			c.initialized = true
		case AllowWrites:
			c.writes = true
		default:
			panic(fmt.Sprintf("compute protocol: unknown command %T", cmd))
		}
	}
	return c
}

func once[C Command](before *C, c C) *C {
	if before != nil {
		panic(fmt.Sprintf("compute protocol: a history with two %T", c))
	}
	return &c
}

// compact lets dataflows start where they may be compacted to, and forgets those that were dropped. A
// peek needs no regard: as long as it is not cancelled, compaction is not allowed beyond its time.
func (c *contents) compact() {
	kept := c.dataflows[:0:0]
	live := map[GlobalID]bool{}
	for _, d := range c.dataflows {
		if f, ok := c.compactions[d.ID]; ok && d.AsOf.Before(f) {
			d = d.Clone()
			d.AsOf = f
		}
		if !d.AsOf.IsEmpty() {
			kept = append(kept, d)
			live[d.ID] = true
		}
	}
	c.dataflows = kept
	c.schedules = slices.DeleteFunc(c.schedules, func(s Schedule) bool { return !live[s.ID] })
}

// putTogether lists the commands in an order in which each finds what it refers to.
func (c *contents) putTogether() []Command {
	var commands []Command
	if c.timely != nil {
		commands = append(commands, *c.timely)
	}
	if c.instance != nil {
		commands = append(commands, *c.instance)
	}
	if c.parameters != (Parameters{}) {
		commands = append(commands, UpdateConfiguration{c.parameters})
	}
	for _, d := range c.dataflows {
		commands = append(commands, CreateDataflow{d})
	}
	for _, s := range c.schedules {
		commands = append(commands, s)
	}
	for _, id := range slices.Sorted(maps.Keys(c.peeks)) {
		commands = append(commands, c.peeks[id])
	}
	if c.initialized {
		commands = append(commands, InitializationComplete{})
	}
	if c.writes {
		commands = append(commands, AllowWrites{})
	}
	return commands
}
