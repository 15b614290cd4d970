package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// peek is a peek that was not answered yet.
type peek struct {
	cmd protocol.Peek
	// target is the index; nil for the peek of a shard.
	target   *collection
	orphaned bool // the index was dropped
	// found is what the shard holds; nil as long as it is being read.
	found *protocol.PeekResponse
	life  context.Context
	end   context.CancelFunc
}

// peek takes a peek. From here on its index keeps the history that it needs.
func (w *worker) peek(cmd protocol.Peek) {
	p := &peek{cmd: cmd}
	p.life, p.end = host.WithCancel(w.h, w.life)
	if cmd.Target.Shard != "" {
		w.peeks = append(w.peeks, p)
		w.h.Go("compute peek "+string(cmd.Target.Shard), func() { w.peekShard(p) })
		return
	}
	p.target = w.find(cmd.Target.ID)
	if p.target == nil || p.target.index == nil {
		w.send(protocol.PeekResponse{ID: cmd.ID, Error: fmt.Sprintf("there is no index %v", cmd.Target.ID)})
		return
	}
	w.peeks = append(w.peeks, p)
	w.h.Sometimes("compute: a peek has to wait for its time", p.target.index.Upper().LessEqual(cmd.Timestamp))
}

// answerPeeks answers those whose time has come, as long as there is room for answers.
func (w *worker) answerPeeks() {
	for _, p := range slices.Clone(w.peeks) {
		if w.conn != nil && !w.conn.hasRoom() {
			w.h.Sometimes("compute: the answer to a peek waits for room", true)
			return
		}
		switch {
		case p.found != nil:
			w.answer(p, *p.found)
		case p.target == nil:
		case p.orphaned:
			w.answer(p, protocol.PeekResponse{Error: fmt.Sprintf("index %v was dropped", p.cmd.Target.ID)})
		case !p.target.index.Upper().LessEqual(p.cmd.Timestamp):
			w.answer(p, p.readIndex())
		}
	}
}

// answer sends a peek's answer and forgets the peek.
func (w *worker) answer(p *peek, r protocol.PeekResponse) {
	p.end()
	w.peeks = slices.DeleteFunc(w.peeks, func(o *peek) bool { return o == p })
	if p.target != nil {
		p.target.compact()
	}
	r.ID = p.cmd.ID
	w.send(r)
}

func (w *worker) cancelPeek(id protocol.PeekID) {
	i := slices.IndexFunc(w.peeks, func(p *peek) bool { return p.cmd.ID == id })
	if i >= 0 { // else this worker has answered
		w.answer(w.peeks[i], protocol.PeekResponse{Canceled: true})
	}
}

func (p *peek) readIndex() protocol.PeekResponse {
	read := func() ([]dataflow.RowCount, []dataflow.ErrorCount, error) {
		if p.cmd.Key != nil {
			return p.target.index.Lookup(*p.cmd.Key, p.cmd.Timestamp)
		}
		return p.target.index.Snapshot(p.cmd.Timestamp)
	}
	rows, errs, err := read()
	var refused *dataflow.ReadError
	if errors.As(err, &refused) {
		if p.target.log == 0 { // of a log nobody holds more than the replica keeps
			p.target.w.observe(ReadRefused{
				Epoch: p.target.w.epoch(), Peek: p.cmd.ID, From: p.target.desc.ID.String(), AsOf: refused.AsOf, Since: refused.Since,
			})
		}
		return protocol.PeekResponse{Error: err.Error()}
	}
	return found(rows, errs)
}

// found is what a worker has found: its share of the rows, or an error.
func found(rows []dataflow.RowCount, errs []dataflow.ErrorCount) protocol.PeekResponse {
	if len(errs) > 0 {
		return protocol.PeekResponse{Error: errs[0].Err.Error()}
	}
	return protocol.PeekResponse{Rows: rows}
}

// finish makes a peek's answer of the rows that all workers have found.
func finish(cmd protocol.Peek, r protocol.PeekResponse, limit int) protocol.PeekResponse {
	if r.Canceled || r.Error != "" {
		return r
	}
	for _, row := range r.Rows {
		if row.Count < 0 {
			return protocol.PeekResponse{ID: r.ID, Error: fmt.Sprintf("row %v is there %d times", row.Row, row.Count)}
		}
	}
	if cmd.Plan != nil {
		rows, err := apply(*cmd.Plan, cmd.Target.Schema, r.Rows)
		if err != nil {
			return protocol.PeekResponse{ID: r.ID, Error: err.Error()}
		}
		r.Rows = rows
	}
	size := 0
	for _, row := range r.Rows {
		size += len(row.Row)
	}
	switch {
	case size > limit:
		return protocol.PeekResponse{ID: r.ID, Error: fmt.Sprintf("the result has %d bytes, which is more than %d", size, limit)}
	case protocol.SizeOf(r) > protocol.MaxMessage:
		return protocol.PeekResponse{ID: r.ID, Error: fmt.Sprintf("the result of %d rows is too long for a message, of which %d bytes are the most", len(r.Rows), protocol.MaxMessage)}
	}
	return r
}

// apply applies a peek's plan.
func apply(plan dataflow.Plan, schema dataflow.Schema, rows []dataflow.RowCount) ([]dataflow.RowCount, error) {
	flow, err := dataflow.New(plan, dataflow.Config{Sources: dataflow.Catalog{protocol.PeekSource: schema}})
	if err != nil {
		return nil, err
	}
	updates := make([]dataflow.Update, len(rows))
	for i, r := range rows {
		updates[i] = dataflow.Update{Row: r.Row, Diff: r.Count}
	}
	if slices.Contains(flow.Sources(), protocol.PeekSource) { // a plan of constants reads nothing
		err = errors.Join(flow.Push(protocol.PeekSource, updates), flow.Advance(protocol.PeekSource, persist.Empty()))
		if err != nil {
			return nil, err
		}
	}
	out := flow.Run()
	if len(out.Errors) > 0 {
		return nil, out.Errors[0].Err
	}
	applied := make([]dataflow.RowCount, len(out.Updates))
	for i, u := range out.Updates {
		applied[i] = dataflow.RowCount{Row: u.Row, Count: u.Diff}
	}
	return applied, nil
}

// peekShard reads a shard for a peek. It is a task of its own.
func (w *worker) peekShard(p *peek) {
	updates, err := w.snapshot(p.life, p.cmd.Target.Shard, p.cmd.Timestamp)
	w.post(func(w *worker) {
		var since *persist.SinceError
		switch {
		case p.life.Err() != nil: // it was cancelled or forgotten
			return
		case errors.As(err, &since):
			w.observe(ReadRefused{Epoch: w.epoch(), Peek: p.cmd.ID, From: string(p.cmd.Target.Shard), AsOf: since.AsOf, Since: since.Since})
			p.found = &protocol.PeekResponse{Error: err.Error()}
		case err != nil:
			p.found = &protocol.PeekResponse{Error: err.Error()}
		default:
			rows := found(counts(updates))
			p.found = &rows
		}
	})
}

func (w *worker) snapshot(ctx context.Context, shard persist.ShardID, asOf uint64) ([]persist.Update, error) {
	reader, err := w.p.s.cfg.Persist.OpenReader(ctx, shard)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return reader.SnapshotAndFetch(ctx, asOf)
}

// counts are a snapshot's rows and errors.
func counts(snapshot []persist.Update) (rows []dataflow.RowCount, errs []dataflow.ErrorCount) {
	updates, failures := dataflow.FromShard(snapshot)
	for _, u := range updates {
		rows = append(rows, dataflow.RowCount{Row: u.Row, Count: u.Diff})
	}
	for _, u := range failures {
		errs = append(errs, dataflow.ErrorCount{Err: u.Err, Count: u.Diff})
	}
	return rows, errs
}
