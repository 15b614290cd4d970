package raftkv

// machine is the state that all servers come to by applying the same log.
type machine struct {
	values   map[string]string
	sessions map[string]answered
}

// answered is the last command of a session and what came of it.
type answered struct {
	seq    uint64
	result Result
}

func newMachine() *machine {
	return &machine{values: map[string]string{}, sessions: map[string]answered{}}
}

// apply carries out a command, unless its session has got there already.
func (m *machine) apply(c Command) Result {
	if c.Op == "" {
		return Result{}
	}
	if last := m.sessions[c.Session]; c.Seq <= last.seq {
		return last.result
	}
	before := m.values[c.Key]
	r := Result{Value: before, Done: true}
	switch {
	case c.Op == "put", c.Op == "cas" && before == c.Old:
		m.values[c.Key] = c.Value
	case c.Op == "cas":
		r.Done = false
	}
	m.sessions[c.Session] = answered{c.Seq, r}
	return r
}
