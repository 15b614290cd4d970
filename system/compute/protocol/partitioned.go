package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// PartitionedState makes one replica of several parts that do the same commands, each on its share of the
// rows: it tells which part is given which command, and makes one response of those of all parts. It does
// nothing itself, and lives as long as a connection.
//
//   - Frontiers of the whole are those of the slowest part, of each kind.
//   - A peek is answered when all its parts have: cancelled if one was, with an error if one has one, else with the
//     rows of all.
//   - A subscribe's batch goes to where all parts have come; what comes early is kept. It is dropped when all parts
//     have dropped it.
//   - Status is passed on.
type PartitionedState struct {
	parts      int
	frontiers  map[GlobalID][]Frontiers // by part
	peeks      map[PeekID]*partitionedPeek
	subscribes map[GlobalID]*partitionedSubscribe
}

// NewPartitionedState is of so many parts.
func NewPartitionedState(parts int) *PartitionedState {
	return &PartitionedState{
		parts: parts, frontiers: map[GlobalID][]Frontiers{},
		peeks: map[PeekID]*partitionedPeek{}, subscribes: map[GlobalID]*partitionedSubscribe{},
	}
}

// partitionedPeek is a peek that not all its parts have answered.
type partitionedPeek struct {
	asked    []bool // parts that have to answer
	rows     []dataflow.RowCount
	err      string
	canceled bool
}

// partitionedSubscribe is what parts have sent.
type partitionedSubscribe struct {
	gather *dataflow.Gather
	ended  []bool // parts that send no more
}

// Split tells what each part is given for a command; nil is nothing.
func (s *PartitionedState) Split(cmd Command) []Command {
	commands := make([]Command, s.parts)
	for i := range commands {
		commands[i] = cmd
	}
	switch cmd := cmd.(type) {
	case Peek:
		p := &partitionedPeek{asked: make([]bool, s.parts)}
		s.peeks[cmd.ID] = p
		reader := int(xxh3.HashString(string(cmd.ID)) % uint64(s.parts))
		for i := range commands {
			if p.asked[i] = cmd.Target.Shard == "" || i == reader; !p.asked[i] {
				commands[i] = nil // one reads the whole shard
			}
		}
	case CancelPeek:
		for i := range commands {
			if p := s.peeks[cmd.ID]; p == nil || !p.asked[i] {
				commands[i] = nil
			}
		}
	}
	return commands
}

// ErrUnasked: a part answers a peek that it was not given, or again.
var ErrUnasked = errors.New("compute protocol: a part answers what it was not asked")

// Absorb takes a part's response, and returns that of the whole, or nil if that makes none. It fails with
// [ErrUnasked], and is as it was then.
func (s *PartitionedState) Absorb(part int, r Response) (Response, error) {
	var whole Response
	var ok bool
	switch r := r.(type) {
	case Frontiers:
		whole, ok = s.absorbFrontiers(part, r)
	case PeekResponse:
		if p := s.peeks[r.ID]; p == nil || !p.asked[part] {
			return nil, fmt.Errorf("%w: part %d, peek %s", ErrUnasked, part, r.ID)
		}
		whole, ok = s.absorbPeek(part, r)
	case SubscribeResponse:
		whole, ok = s.absorbSubscribe(part, r)
	default:
		return r, nil
	}
	if !ok {
		return nil, nil
	}
	return whole, nil
}

// absorbFrontiers passes on what has advanced on all parts. A part that has not told anything yet is at the very
// beginning.
func (s *PartitionedState) absorbFrontiers(part int, f Frontiers) (Response, bool) {
	all := s.frontiers[f.ID]
	if all == nil {
		all = make([]Frontiers, s.parts)
		s.frontiers[f.ID] = all
	}
	before := slowest(f.ID, all)
	of := &all[part]
	of.Write, of.Input, of.Output = of.Write.Join(f.Write), of.Input.Join(f.Input), of.Output.Join(f.Output)
	after := slowest(f.ID, all)
	if after.Write.IsEmpty() && after.Input.IsEmpty() && after.Output.IsEmpty() {
		delete(s.frontiers, f.ID)
	}
	return after, after != before
}

func slowest(id GlobalID, all []Frontiers) Frontiers {
	f := Frontiers{ID: id, Write: persist.Empty(), Input: persist.Empty(), Output: persist.Empty()}
	for _, o := range all {
		f.Write, f.Input, f.Output = f.Write.Meet(o.Write), f.Input.Meet(o.Input), f.Output.Meet(o.Output)
	}
	return f
}

func (s *PartitionedState) absorbPeek(part int, r PeekResponse) (Response, bool) {
	p := s.peeks[r.ID]
	p.asked[part] = false
	p.rows = append(p.rows, r.Rows...)
	p.canceled = p.canceled || r.Canceled
	if p.err == "" {
		p.err = r.Error
	}
	if slices.Contains(p.asked, true) {
		return nil, false
	}
	delete(s.peeks, r.ID)
	switch {
	case p.canceled:
		return PeekResponse{ID: r.ID, Canceled: true}, true
	case p.err != "":
		return PeekResponse{ID: r.ID, Error: p.err}, true
	}
	return PeekResponse{ID: r.ID, Rows: total(p.rows)}, true
}

// total adds up equal rows, and sorts.
func total(rows []dataflow.RowCount) (sum []dataflow.RowCount) {
	slices.SortStableFunc(rows, func(a, b dataflow.RowCount) int { return strings.Compare(string(a.Row), string(b.Row)) })
	for _, r := range rows {
		if n := len(sum); n > 0 && sum[n-1].Row == r.Row {
			sum[n-1].Count += r.Count
		} else {
			sum = append(sum, r)
		}
	}
	return slices.DeleteFunc(sum, func(r dataflow.RowCount) bool { return r.Count == 0 })
}

func (s *PartitionedState) absorbSubscribe(part int, r SubscribeResponse) (Response, bool) {
	sub := s.subscribes[r.ID]
	if sub == nil {
		sub = &partitionedSubscribe{gather: dataflow.NewGather(s.parts, Frontier{}), ended: make([]bool, s.parts)}
		s.subscribes[r.ID] = sub
	}
	var whole SubscribeResponse
	if b := r.Batch; b != nil {
		sub.ended[part] = b.Upper.IsEmpty()
		out, ok := sub.gather.Add(part, dataflow.Output{Lower: b.Lower, Upper: b.Upper, Updates: b.Updates, Errors: b.Errors})
		if !ok {
			return nil, false
		}
		whole = SubscribeResponse{ID: r.ID, Batch: &SubscribeBatch{Lower: out.Lower, Upper: out.Upper, Updates: out.Updates, Errors: out.Errors}}
	} else {
		sub.ended[part] = true
	}
	if slices.Contains(sub.ended, false) {
		return whole, whole.Batch != nil
	}
	delete(s.subscribes, r.ID)
	if whole.Batch == nil {
		at := sub.gather.Upper()
		whole = SubscribeResponse{ID: r.ID, DroppedAt: &at}
	}
	return whole, true
}
