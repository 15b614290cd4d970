package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/host"
)

// cdcDatabase stands for an external database into which a changefeed is replicated: a machine of somebody
// else, which no fault of the run touches, and which keeps the newest version of each row by the commit ts
// beside it. What was sent to it takes effect, sooner or later, whatever becomes of the sender meanwhile:
// statements of a capture that has died arrive after it, and after others have taken its place.
type cdcDatabase struct {
	c        *cdcCluster
	latency  *sim.Stream
	tables   map[string]*sink.Map // by changefeed's life
	inFlight []*statement
	// locked is until when transactions of a machine wait for locks, and so take that long to be rolled back.
	locked map[string]time.Duration
}

// intoDatabase makes the sinks an external database.
func (c *cdcCluster) intoDatabase() {
	d := &cdcDatabase{c: c, latency: c.r.World.NewStream("workload", "database"), tables: map[string]*sink.Map{}, locked: map[string]time.Duration{}}
	c.latest, c.database = true, d
	c.sinks = func(h host.Host) func(context.Context, model.ChangeFeedID, model.ChangeFeedInfo) (sink.Sink, error) {
		return func(_ context.Context, _ model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
			return &databaseSink{h: h, d: d, machine: h.Name(), life: info.SinkURI, table: d.table(info.SinkURI)}, nil
		}
	}
	c.rows = func(_ context.Context, life string, _ model.Ts) (map[string]string, error) {
		for len(d.inFlight) > 0 {
			c.r.World.Sleep(poll)
		}
		rows := map[string]string{}
		for _, r := range d.table(life).Rows() {
			rows[r.Key] = r.Value
		}
		return rows, nil
	}
}

func (d *cdcDatabase) table(life string) *sink.Map {
	if d.tables[life] == nil {
		d.tables[life] = sink.NewMap(d.c.r.World.Host())
	}
	return d.tables[life]
}

// takes is how long a statement takes: mostly about as long as the run has it, now and then, while a lock is
// waited for, longer than captures live.
func (d *cdcDatabase) takes() time.Duration {
	draw := sim.NewStream(d.latency.Uint64(), "statement")
	if draw.N(100) == 0 {
		return time.Duration(draw.Between(0, int64(3*time.Second)))
	}
	return sim.Exp(0, d.c.shape.database).Sample(draw.Uint64())
}

// crashed is told that a machine has died. What it had sent is on its way: half of it takes some seconds,
// as when a proxy or the system's buffers hold it.
func (d *cdcDatabase) crashed(machine string) {
	for _, st := range d.inFlight {
		draw := sim.NewStream(d.latency.Uint64(), "orphan")
		if st.machine == machine && draw.N(2) == 0 {
			st.held = time.Duration(draw.Between(0, int64(6*time.Second)))
		}
	}
}

// hold has what a machine has sent, and the end of its key spans, take a while.
func (d *cdcDatabase) hold(machine string) {
	draw := sim.NewStream(d.latency.Uint64(), "hold")
	held := time.Duration(draw.Between(int64(500*time.Millisecond), int64(3*time.Second)))
	d.locked[machine] = d.c.r.World.Now() + held
	for _, st := range d.inFlight {
		if st.machine == machine {
			st.held = held
		}
	}
}

// writing is a machine some of whose rows are on their way, "" when there is none.
func (d *cdcDatabase) writing() string {
	for _, st := range d.inFlight {
		if st.rows > 0 {
			return st.machine
		}
	}
	return ""
}

// databaseSink is a capture's connection for one changefeed.
type databaseSink struct {
	h       host.Host
	d       *cdcDatabase
	machine string
	life    string
	table   *sink.Map
}

// Open is part of sink.Sink.
func (s *databaseSink) Open(ctx context.Context, id model.KeySpanID, start model.Ts) (sink.Span, bool, error) {
	table, base, err := s.table.Open(ctx, id, start)
	return &databaseSpan{s: s, id: id, table: table}, base, err
}

// Close is part of sink.Sink.
func (s *databaseSink) Close() {}

// databaseSpan is the writing of one key span. Its statements are executed one after the other.
type databaseSpan struct {
	s     *databaseSink
	id    model.KeySpanID
	table sink.Span
	last  *statement
}

// statement is one that was sent.
type statement struct {
	machine string
	rows    int
	held    time.Duration // beside the time that it takes
	written int
	err     error
	done    *host.Chan[struct{}] // closed once it has taken effect
}

// Write is part of sink.Span.
func (s *databaseSpan) Write(ctx context.Context, rows []source.Row, upTo model.Ts) (int, error) {
	d := s.s.d
	w := d.c.r.World
	before := s.last
	st := &statement{machine: s.s.machine, rows: len(rows), done: host.NewChan[struct{}](w.Host(), "database statement", 0)}
	s.last = st
	sender := d.c.watch.sender(s.s.machine, s.s.life, s.id)
	takes := d.takes()
	d.inFlight = append(d.inFlight, st)
	w.Go("database", func() {
		if before != nil {
			before.done.Recv()
		}
		w.Sleep(takes)
		w.Sleep(st.held)
		d.c.watch.arrives(sender, rows)
		st.written, st.err = s.table.Write(context.Background(), rows, upTo)
		d.inFlight = slices.DeleteFunc(d.inFlight, func(other *statement) bool { return other == st })
		st.done.Close()
	})
	if _, _, err := st.done.RecvContext(ctx); err != nil {
		return 0, err
	}
	return st.written, st.err
}

// Close is part of sink.Span. It waits for what was sent and for locks, as rolling back would.
func (s *databaseSpan) Close() {
	if wait := s.s.d.locked[s.s.machine] - s.s.d.c.r.World.Now(); wait > 0 {
		s.s.h.Clock().Sleep(wait)
	}
	if s.last != nil {
		s.last.done.Recv()
	}
}
