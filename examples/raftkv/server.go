package raftkv

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

const (
	port = "raftkv"
	// Time is counted in ticks, so that a clock that is set changes nothing.
	tick           = 10 * time.Millisecond
	heartbeatTicks = 5
	electionTicks  = 20 // at least; at most twice that
	// batch is how many entries a message has at most.
	batch = 32
)

type role int

const (
	follower role = iota
	candidate
	leader
)

// Config is what a server needs to know.
type Config struct {
	// Servers are the names of all servers, this one among them.
	Servers []string
	// Applied, if not nil, is told of each entry as it takes effect.
	Applied func(index uint64, e Entry)
}

type server struct {
	*store
	h        host.Host
	cfg      Config
	socket   host.Socket
	self     string
	others   []string
	role     role
	leader   string // who leads this term, if known
	elapsed  int    // ticks since something was heard from, or said as, the leader
	timeout  int    // ticks after which to stand for election
	votes    map[string]bool
	next     map[string]uint64 // first entry to send to each
	match    map[string]uint64 // last entry known to be on each
	commit   uint64
	applied  uint64
	machine  *machine
	awaiting map[uint64]string // clients to answer, by the index of their command
}

// Serve serves until its disk fails, and then returns why: what is on the disk is not known any
// more, and a new call finds out.
func Serve(h host.Host, cfg Config) error {
	st, err := openStore(h.Disk())
	if err != nil {
		return err
	}
	defer st.journal.Close()
	socket, err := h.Net().OpenSocket(port)
	if err != nil {
		return err
	}
	defer socket.Close()
	s := &server{store: st, h: h, cfg: cfg, socket: socket, self: host.JoinAddr(h.Name(), port), machine: newMachine()}
	for _, name := range cfg.Servers {
		if name != h.Name() {
			s.others = append(s.others, host.JoinAddr(name, port))
		}
	}
	s.become(follower)
	for err == nil {
		if err = s.untilTick(); err == nil {
			err = s.tick()
		}
	}
	return err
}

// untilTick takes what comes until it is time for the next tick.
func (s *server) untilTick() error {
	ctx, cancel := s.h.Clock().WithTimeout(context.Background(), tick)
	defer cancel()
	for ctx.Err() == nil {
		_, data, err := s.socket.RecvFrom(ctx)
		var m message
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && json.Unmarshal(data, &m) == nil:
			if err := s.step(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) tick() error {
	s.elapsed++
	switch {
	case s.role == leader && s.elapsed >= heartbeatTicks:
		s.elapsed = 0
		s.replicate()
	case s.role != leader && s.elapsed >= s.timeout:
		return s.campaign()
	}
	return nil
}

func (s *server) become(r role) {
	s.role, s.elapsed = r, 0
	s.timeout = electionTicks + s.h.Rand().IntN(electionTicks)
	s.awaiting = map[uint64]string{} // their clients ask again
}

func (s *server) campaign() error {
	if err := s.setVote(s.term+1, s.self); err != nil {
		return err
	}
	s.become(candidate)
	s.leader, s.votes = "", map[string]bool{s.self: true}
	for _, to := range s.others {
		s.send(to, message{Kind: askVote, Index: s.last(), LogTerm: s.termAt(s.last())})
	}
	return s.elected()
}

// elected makes a candidate with a majority the leader.
func (s *server) elected() error {
	if s.role != candidate || 2*len(s.votes) <= len(s.cfg.Servers) {
		return nil
	}
	s.become(leader)
	s.h.Sometimes("raftkv: a later leader is elected", s.term > 1)
	s.leader, s.next, s.match = s.self, map[string]uint64{}, map[string]uint64{}
	for _, to := range s.others {
		s.next[to] = s.last() + 1
	}
	s.h.Note("raftkv.leader", s.self)
	return s.propose(Command{})
}

// propose appends a command to the leader's log.
func (s *server) propose(c Command) error {
	if err := s.replace(s.last()+1, Entry{s.term, c}); err != nil {
		return err
	}
	s.advance()
	s.replicate()
	return nil
}

func (s *server) replicate() {
	for _, to := range s.others {
		s.sendEntries(to)
	}
}

func (s *server) step(m message) error {
	if m.Kind == askDo {
		return s.do(m)
	}
	if m.Term > s.term {
		s.h.Sometimes("raftkv: a leader is deposed", s.role == leader)
		if err := s.setVote(m.Term, ""); err != nil {
			return err
		}
		s.become(follower)
		s.leader = ""
	}
	switch m.Kind {
	case askVote:
		return s.voteFor(m)
	case giveVote:
		if m.Term == s.term && m.Yes && s.role == candidate {
			s.votes[m.From] = true
			return s.elected()
		}
	case askAppend:
		return s.accept(m)
	case giveAppend:
		if m.Term == s.term && s.role == leader {
			s.accepted(m)
		}
	}
	return nil
}

func (s *server) voteFor(m message) error {
	lastTerm := s.termAt(s.last())
	upToDate := m.LogTerm > lastTerm || m.LogTerm == lastTerm && m.Index >= s.last()
	yes := m.Term == s.term && upToDate && (s.vote == "" || s.vote == m.From)
	if yes && s.vote == "" {
		if err := s.setVote(s.term, m.From); err != nil {
			return err
		}
		s.elapsed = 0
	}
	s.send(m.From, message{Kind: giveVote, Yes: yes})
	return nil
}

// accept takes a leader's entries into the log.
func (s *server) accept(m message) error {
	// Where they do not fit, the leader is to try the entry before, or the last one there is.
	reply := message{Kind: giveAppend, Index: min(max(m.Index, 1)-1, s.last())}
	if m.Term < s.term {
		s.send(m.From, reply)
		return nil
	}
	if s.role != follower {
		s.become(follower)
	}
	s.leader, s.elapsed = m.From, 0
	if m.Index <= s.last() && s.termAt(m.Index) == m.LogTerm {
		// What is there already stays: the message may be an old one, and more have been taken since.
		index, entries := m.Index+1, m.Entries
		for len(entries) > 0 && index <= s.last() && s.termAt(index) == entries[0].Term {
			index, entries = index+1, entries[1:]
		}
		if len(entries) > 0 {
			s.h.Sometimes("raftkv: entries are overwritten", index <= s.last())
			s.h.Always("raftkv: what is committed stays", index > s.commit, "entry %d is overwritten, %d are committed", index, s.commit)
			if err := s.replace(index, entries...); err != nil {
				return err
			}
		}
		reply.Yes, reply.Index = true, m.Index+uint64(len(m.Entries))
		s.commit = max(s.commit, min(m.Commit, reply.Index))
		s.apply()
	}
	s.send(m.From, reply)
	return nil
}

// accepted takes in what a follower says of the entries it was sent.
func (s *server) accepted(m message) {
	if m.Yes {
		s.match[m.From] = max(s.match[m.From], m.Index)
		s.next[m.From] = max(s.next[m.From], m.Index+1)
		s.advance()
	} else {
		// Older, but not what is known to be there.
		s.next[m.From] = max(s.match[m.From]+1, min(s.next[m.From], m.Index+1))
	}
	if !m.Yes || s.next[m.From] <= s.last() {
		s.sendEntries(m.From)
	}
}

// advance commits what is on a majority. Entries of earlier terms count only with one of this term
// behind them.
func (s *server) advance() {
	indexes := []uint64{s.last()}
	for _, o := range s.others {
		indexes = append(indexes, s.match[o])
	}
	slices.Sort(indexes)
	if majority := indexes[(len(indexes)-1)/2]; majority > s.commit && s.termAt(majority) == s.term {
		s.commit = majority
		s.apply()
	}
}

func (s *server) sendEntries(to string) {
	from := s.next[to]
	end := min(s.last(), from-1+batch)
	s.send(to, message{Kind: askAppend, Index: from - 1, LogTerm: s.termAt(from - 1), Entries: s.log[from-1 : end], Commit: s.commit})
}

func (s *server) send(to string, m message) {
	m.From, m.Term = s.self, s.term
	send(s.socket, to, m)
}

// do takes a client's command.
func (s *server) do(m message) error {
	if s.role != leader {
		s.send(m.From, message{Kind: giveDo, Command: m.Command, Leader: s.leader})
		return nil
	}
	s.awaiting[s.last()+1] = m.From
	return s.propose(m.Command)
}

// apply carries out what is committed and answers who waits for it.
func (s *server) apply() {
	for s.applied < s.commit {
		s.applied++
		e := s.log[s.applied-1]
		if s.cfg.Applied != nil {
			s.cfg.Applied(s.applied, e)
		}
		result := s.machine.apply(e.Command)
		if client, ok := s.awaiting[s.applied]; ok {
			delete(s.awaiting, s.applied)
			s.send(client, message{Kind: giveDo, Yes: true, Command: e.Command, Result: result})
		}
	}
}
