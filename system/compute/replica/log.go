package replica

import (
	"time"

	"github.com/simrun-dev/simrun/system/compute/protocol"
	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// logHistory is for how many intervals a log can be read back: a controller asks as of a time that was complete
// when it last heard of it.
const logHistory = 60

// startLogs makes the worker keep the logs, as long as it is a worker of this instance.
func (w *worker) startLogs(every time.Duration) {
	for _, l := range protocol.Logs {
		w.logs = append(w.logs, newLog(w, l))
	}
	w.keepLogs(every)
}

// newLog is a log without a past.
func newLog(w *worker, l protocol.Log) *collection {
	c := &collection{w: w, desc: &protocol.Dataflow{ID: l.ID(), Until: persist.Empty(), Sink: protocol.Sink{Kind: protocol.Index}}, log: l}
	c.life, c.end = host.WithCancel(w.h, w.life)
	var err error
	if c.index, err = dataflow.NewArrangement(l.Schema(), nil, 0); err != nil {
		panic("compute: " + err.Error())
	}
	return c
}

// keepLogs writes now and then what has changed.
func (w *worker) keepLogs(every time.Duration) {
	for _, c := range w.logs {
		c.write(every)
	}
	w.after(every, func(w *worker) { w.keepLogs(every) })
}

// write brings a log up to date. Its time is that of the clock, in whole intervals, which all workers so come to, and
// never goes back.
func (c *collection) write(every time.Duration) {
	step := uint64(max(every.Milliseconds(), 1))
	now := uint64(max(c.w.h.Clock().Now().UnixMilli(), 0)) / step * step
	if upper, ok := c.index.Upper().Time(); !ok || now < upper {
		return // the clock was set back, or stands
	}
	rows := c.w.rows(c.log)
	updates := make([]dataflow.Update, 0, len(rows)+len(c.logged))
	for _, r := range c.logged {
		updates = append(updates, dataflow.Update{Row: r, Time: now, Diff: -1})
	}
	for _, r := range rows {
		updates = append(updates, dataflow.Update{Row: r, Time: now, Diff: 1})
	}
	c.logged = rows
	out := dataflow.Output{Lower: c.index.Upper(), Upper: persist.At(now + 1), Updates: dataflow.Consolidate(updates)}
	if err := c.index.Apply(out); err != nil {
		panic("compute: " + err.Error())
	}
	c.allowed = persist.At(now - min(now, logHistory*step))
	c.compact()
}

// rows are what a log holds at present.
func (w *worker) rows(l protocol.Log) (rows []dataflow.Row) {
	worker := dataflow.Int(int64(w.number))
	switch l {
	case protocol.LogFrontiers:
		for _, c := range w.collections {
			f := c.frontiersNow()
			rows = append(rows, dataflow.Pack(worker, collectionDatum(c.desc.ID), frontierDatum(f.Write), frontierDatum(f.Input), frontierDatum(f.Output)))
		}
	case protocol.LogOperators:
		for _, c := range w.collections {
			rows = append(rows, c.operators()...)
		}
	case protocol.LogPeeks:
		for _, p := range w.peeks {
			rows = append(rows, dataflow.Pack(worker, dataflow.String(string(p.cmd.ID)), collectionDatum(p.cmd.Target.ID), dataflow.Int(int64(p.cmd.Timestamp))))
		}
	}
	return rows
}

// operators are the rows of a collection's operators.
func (c *collection) operators() (rows []dataflow.Row) {
	add := func(stage, place int, op string, size dataflow.Size) {
		rows = append(rows, dataflow.Pack(
			dataflow.Int(int64(c.w.number)), collectionDatum(c.desc.ID), dataflow.Int(int64(stage)), dataflow.Int(int64(place)),
			dataflow.String(op), dataflow.Int(int64(size.Records)), dataflow.Int(int64(size.Bytes)),
		))
	}
	places := 0
	for i, s := range c.stages {
		operators := s.flow.Operators()
		for place, o := range operators {
			add(i, place, string(o.Op), o.Size)
		}
		places = len(operators)
	}
	if c.index != nil {
		add(len(c.stages)-1, places, "arrange", dataflow.Size{Records: c.index.Len()})
	}
	return rows
}

func collectionDatum(id protocol.GlobalID) dataflow.Datum { return dataflow.Int(int64(id)) }

func frontierDatum(f protocol.Frontier) dataflow.Datum {
	if t, ok := f.Time(); ok {
		return dataflow.Int(int64(t))
	}
	return dataflow.Null()
}
