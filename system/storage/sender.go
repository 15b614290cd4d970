package storage

import "context"

// DifferentialSender sends commands to a differential collection of a [CollectionManager]. Its methods
// may be called by any task.
type DifferentialSender struct{ handle *Handle }

// ID is the collection.
func (s *DifferentialSender) ID() GlobalID { return s.handle.id }

// Send is Handle.Send.
func (s *DifferentialSender) Send(op WriteOp, respond Responder) { s.handle.Send(op, respond) }

// Write is Handle.Write.
func (s *DifferentialSender) Write(ctx context.Context, op WriteOp) error {
	return s.handle.Write(ctx, op)
}

// AppendOnlySender appends to an append-only collection of a [CollectionManager]. Its methods may be
// called by any task.
type AppendOnlySender struct{ handle *Handle }

// ID is the collection.
func (s *AppendOnlySender) ID() GlobalID { return s.handle.id }

// Send hands rows to the collection's task, without waiting, and respond is told what became of
// them. Their diffs must be positive. They are written together.
func (s *AppendOnlySender) Send(rows []RowDiff, respond Responder) {
	s.handle.Send(Append{Updates: rows}, respond)
}

// Append is Send that waits for the answer. When ctx ends first the rows go on.
func (s *AppendOnlySender) Append(ctx context.Context, rows ...RowDiff) error {
	return s.handle.Write(ctx, Append{Updates: rows})
}
