package replica

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/persist"
)

// follow reads a shard for the dataflow: its contents as of a time, and then what changes.
func (c *collection) follow(s protocol.ShardImport) {
	asOf := timeOf(c.desc.AsOf)
	c.start("compute read "+string(s.Shard), func() {
		if c.w.h.Buggify("compute/slow hydration") {
			c.w.h.Clock().Sleep(time.Duration(c.w.h.Rand().IntN(3000)) * time.Millisecond)
		}
		err := listen(c.life, c.w, s.Shard, func(persist.Frontier) uint64 { return asOf }, func(e persist.Event) {
			c.post(func() { c.input(s.Name, e) })
		})
		var since *persist.SinceError
		switch {
		case c.life.Err() != nil:
		case errors.As(err, &since):
			c.post(func() { c.tooLate(s, asOf, since.Since) })
		default:
			c.w.lost(c.life, s.Shard, err)
		}
	})
}

// tooLate is called when a shard could not be read as of a time any more. If a new connection asks for a
// later AsOf meanwhile, reading begins there: what the dataflow computes of earlier times nobody sees.
func (c *collection) tooLate(s protocol.ShardImport, asOf uint64, since protocol.Frontier) {
	if asOf < timeOf(c.desc.AsOf) {
		c.w.h.Sometimes("compute: a retained dataflow had to begin later", true)
		c.follow(s)
		return
	}
	c.refuse(string(s.Shard), since)
}

// listen subscribes to a shard as of the time that from tells, given the since, and hands on what it emits,
// until the shard is closed or an error comes.
func listen(ctx context.Context, w *worker, shard persist.ShardID, from func(since persist.Frontier) uint64, emit func(persist.Event)) error {
	reader, err := w.s.cfg.Persist.OpenReader(ctx, shard)
	if err != nil {
		return err
	}
	listener, err := reader.Subscribe(ctx, from(reader.Since()))
	if err != nil {
		reader.Close()
		return err
	}
	defer listener.Close()
	for {
		e, err := listener.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		emit(e)
	}
}

// lost is called when a shard can't be followed any more for a reason that does not lie in its history: a
// lease that ran out while the process stood still, or damage. Starting from nothing mends the first, and a
// controller that sees the replica come back again and again knows of the second.
func (w *worker) lost(life context.Context, shard persist.ShardID, err error) {
	if err == nil {
		return // the shard is closed, and all of it was read
	}
	w.h.Logf("compute: shard %s can't be read on: %v", shard, err)
	w.h.Clock().Sleep(retry)
	w.post(func(w *worker) {
		if life.Err() == nil {
			w.halt("shard " + string(shard) + " can't be read on")
		}
	})
}

// input takes what a shard has emitted.
func (c *collection) input(name dataflow.SourceID, e persist.Event) {
	rows, errs := dataflow.FromShard(e.Updates)
	c.feed(name, dataflow.Output{Updates: rows, Errors: errs, Upper: e.Progress})
	c.read[name] = e.Progress
}
