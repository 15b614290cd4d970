package raftkv

import (
	"github.com/simrun-dev/simrun/examples/journal"
	"github.com/simrun-dev/simrun/system/host"
)

// store is what a server must not forget: term, vote and log. After an error it is not known what
// is on the disk: the store must be opened anew.
type store struct {
	journal *journal.Journal[record]
	term    uint64
	vote    string
	log     []Entry // of index 1 and up
}

// record is a step of the store; a later one counts.
type record struct {
	Term    uint64
	Vote    string
	From    uint64  `json:",omitempty"` // index from which on the log has been replaced
	Entries []Entry `json:",omitempty"`
}

func openStore(d host.Disk) (s *store, err error) {
	s = &store{}
	s.journal, err = journal.Open(d, "log", s.apply)
	return s, err
}

func (s *store) apply(r record) {
	s.term, s.vote = r.Term, r.Vote
	if r.From > 0 {
		s.log = append(s.log[:r.From-1], r.Entries...)
	}
}

func (s *store) write(r record) error {
	err := s.journal.Append(r)
	if err == nil {
		s.apply(r)
	}
	return err
}

// setVote makes term and vote durable.
func (s *store) setVote(term uint64, vote string) error {
	return s.write(record{Term: term, Vote: vote})
}

// replace makes the entries durable as those of the log from an index on.
func (s *store) replace(from uint64, entries ...Entry) error {
	return s.write(record{Term: s.term, Vote: s.vote, From: from, Entries: entries})
}

func (s *store) last() uint64 { return uint64(len(s.log)) }

// termAt is the term of an entry, 0 before the first.
func (s *store) termAt(index uint64) uint64 {
	if index == 0 {
		return 0
	}
	return s.log[index-1].Term
}
