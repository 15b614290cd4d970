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
	r := Result{Value: m.values[c.Key], Done: c.Op != "cas" || m.values[c.Key] == c.Old}
	if r.Done && c.Op != "get" {
		m.values[c.Key] = c.Value
	}
	m.sessions[c.Session] = answered{c.Seq, r}
	return r
}
