package storage

import "github.com/simrun-dev/simrun/system/host"

// WriteOp changes what a collection should be: [Append] or [Delete].
type WriteOp interface{ writeOp() }

// Append adds the updates, whose diffs may be negative.
type Append struct{ Updates []RowDiff }

// Delete removes the rows that Filter is true of, whatever their multiplicity. Only rows that
// the task was told of are looked at, those of the commands before it included. Filter must
// be a pure function.
type Delete struct{ Filter func(Row) bool }

func (Append) writeOp() {}
func (Delete) writeOp() {}

// Responder is told what became of a command: once, by the task, which it must not hold up. Nil
// stands for not being interested.
//
//   - nil: it was written.
//   - *InvalidUppers: it was not written yet, but is kept, and will be with the next write
//     that succeeds.
//   - *IdentifierInvalid: the task was shut down. It was not written and will not be.
//   - *ReadOnly: the task does not write. A differential collection's took it up.
//   - *ShardClosed: it was not written and can't be.
//   - *Aborted: the task was aborted. It may have been written, and may still be.
//   - *GaveUp, *Uncertain, *InvalidAppend: of append-only collections; see there.
//   - Another error: a store is damaged and the task has ended. It was not written.
type Responder func(error)

// RespondTo returns a Responder that sends to c, which has a capacity and is used for one
// command at a time.
func RespondTo(c *host.Chan[error]) Responder {
	return func(err error) { c.Send(err) }
}

func (r Responder) answer(err error) {
	if r != nil {
		r(err)
	}
}

// command is a WriteOp on its way to the task.
type command struct {
	op      WriteOp
	respond Responder
}

func answerAll(responders []Responder, err error) {
	for _, r := range responders {
		r.answer(err)
	}
}
