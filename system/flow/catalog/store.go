package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Shard is where a Store keeps the definitions.
const Shard persist.ShardID = "catalog"

// Store keeps the definitions. Any number of tasks may use it, in any number of processes.
type Store struct {
	relation *relation.Relation
	state    *definitions
}

// OpenStore returns the catalog. Errors of its methods are those of relation and the ones named.
func OpenStore(h host.Host, client *persist.Client) *Store {
	s := &Store{state: &definitions{}}
	s.relation = relation.Open(h, client, Shard, s.state, relation.Config{})
	return s
}

// Table finds a table by its name; the error may be a [*NotFoundError].
func (s *Store) Table(ctx context.Context, name Name) (t *Table, err error) {
	_, viewErr := s.relation.View(ctx, func() { t, err = s.state.table(name) })
	if viewErr != nil {
		return nil, viewErr
	}
	return t, err
}

// TableByID finds a table by its number; the error may be a [*NotFoundError].
func (s *Store) TableByID(ctx context.Context, id TableID) (t *Table, err error) {
	_, err = s.relation.View(ctx, func() { t = s.state.tables[id] })
	if err == nil && t == nil {
		return nil, &NotFoundError{"table", Public(id.String())}
	}
	return t, err
}

// Knows tells whether a table was there when this process last saw the catalog.
func (s *Store) Knows(id TableID) (known bool) {
	s.relation.Recent(func() { known = s.state.tables[id] != nil })
	return known
}

// KnownTables are the numbers of the tables as this process last saw them, sorted.
func (s *Store) KnownTables() (all []TableID) {
	s.relation.Recent(func() { all = slices.Sorted(maps.Keys(s.state.tables)) })
	return all
}

// Tables are all tables, sorted by name.
func (s *Store) Tables(ctx context.Context) (all []*Table, err error) {
	_, err = s.relation.View(ctx, func() {
		for _, t := range s.state.tables {
			all = append(all, t)
		}
	})
	slices.SortFunc(all, func(a, b *Table) int { return a.Name.Compare(b.Name) })
	return all, err
}

// CreateTable adds a table and returns it with its number. It fails with [*ExistsError] when the name is
// taken.
func (s *Store) CreateTable(ctx context.Context, t Table) (*Table, error) {
	_, err := s.relation.Update(ctx, func(seq uint64) ([]relation.Change, error) {
		if _, err := s.state.table(t.Name); err == nil {
			return nil, &ExistsError{"table", t.Name}
		}
		t.ID = TableID(seq)
		return add(entry{Table: &t}), nil
	})
	return &t, err
}

// DropTable removes a table and returns it; the error may be a [*NotFoundError]. It is among [Store.Dropped] from then on.
func (s *Store) DropTable(ctx context.Context, name Name) (t *Table, err error) {
	_, err = s.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		if t, err = s.state.table(name); err != nil {
			return nil, err
		}
		return append(remove(entry{Table: t}), add(entry{Dropped: t.ID})...), nil
	})
	return t, err
}

// Dropped are the numbers of the tables that were dropped and of which something may be left, sorted.
func (s *Store) Dropped(ctx context.Context) (all []TableID, err error) {
	_, err = s.relation.View(ctx, func() { all = slices.Sorted(maps.Keys(s.state.dropped)) })
	return all, err
}

// Forget takes a table off those that were dropped: nothing is left of it.
func (s *Store) Forget(ctx context.Context, id TableID) error {
	_, err := s.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		if !s.state.dropped[id] {
			return nil, nil
		}
		return remove(entry{Dropped: id}), nil
	})
	return err
}

// Flow finds a flow by its name; the error may be a [*NotFoundError].
func (s *Store) Flow(ctx context.Context, name Name) (f *Flow, err error) {
	_, viewErr := s.relation.View(ctx, func() { f, err = s.state.flow(name) })
	if viewErr != nil {
		return nil, viewErr
	}
	return f, err
}

// Flows are all flows, sorted by number, as of a revision: those made or dropped later are not among
// them, or still are.
func (s *Store) Flows(ctx context.Context) (all []*Flow, revision uint64, err error) {
	upper, err := s.relation.View(ctx, func() { all = s.state.sortedFlows() })
	return all, upper - 1, err
}

// KnownFlows are the flows as this process last saw them, sorted by number.
func (s *Store) KnownFlows() (all []*Flow) {
	s.relation.Recent(func() { all = s.state.sortedFlows() })
	return all
}

// PutFlow adds a flow, or puts it in the place of the one of its name: that keeps its number. Which is
// right is for decide to say, which is told of the flow of that name, nil if there is none: it returns
// the flow as it is to be, or an error. Number, revision and earlier sinks are filled in.
func (s *Store) PutFlow(ctx context.Context, name Name, decide func(old *Flow) (*Flow, error)) (f, old *Flow, err error) {
	_, err = s.relation.Update(ctx, func(seq uint64) ([]relation.Change, error) {
		old, _ = s.state.flow(name)
		next, err := decide(old)
		if err != nil {
			return nil, err
		}
		made := *next
		made.Revision, made.ID = seq, FlowID(seq)
		f = &made
		if old == nil {
			return add(entry{Flow: f}), nil
		}
		f.ID, f.Earlier = old.ID, s.state.leftBy(old, f.Sink)
		return append(remove(entry{Flow: old}), add(entry{Flow: f})...), nil
	})
	if err != nil {
		return nil, old, err
	}
	return f, old, nil
}

// DropFlow removes a flow and returns it, and the revision without it; the error may be a
// [*NotFoundError].
func (s *Store) DropFlow(ctx context.Context, name Name) (f *Flow, revision uint64, err error) {
	revision, err = s.relation.Update(ctx, func(uint64) ([]relation.Change, error) {
		if f, err = s.state.flow(name); err != nil {
			return nil, err
		}
		return remove(entry{Flow: f}), nil
	})
	return f, revision, err
}

// UndoFlow takes back what [Store.PutFlow] did, unless somebody has changed the flow since: old is put
// in its place if there was one.
func (s *Store) UndoFlow(ctx context.Context, f, old *Flow) error {
	_, err := s.relation.Update(ctx, func(seq uint64) ([]relation.Change, error) {
		now, err := s.state.flow(f.Name)
		if err != nil || now.Revision != f.Revision {
			return nil, nil
		}
		changes := remove(entry{Flow: now})
		if old != nil {
			again := *old
			again.Revision = seq
			changes = append(changes, add(entry{Flow: &again})...)
		}
		return changes, nil
	})
	return err
}

// Enlist begins a life of a flow node and returns its number, which is greater than those of all lives
// before it.
func (s *Store) Enlist(ctx context.Context, node string) (epoch uint64, err error) {
	return s.relation.Update(ctx, func(seq uint64) ([]relation.Change, error) {
		changes := add(entry{Node: &life{Name: node, Epoch: seq}})
		if before, ok := s.state.lives[node]; ok {
			changes = append(changes, remove(entry{Node: &life{Name: node, Epoch: before}})...)
		}
		return changes, nil
	})
}

// entry is a datum of the shard: one of the four is there.
type entry struct {
	Table *Table `cbor:"1,keyasint,omitempty"`
	Flow  *Flow  `cbor:"2,keyasint,omitempty"`
	Node  *life  `cbor:"3,keyasint,omitempty"`
	// Dropped is a table that was dropped, and of which something may be left.
	Dropped TableID `cbor:"4,keyasint,omitempty"`
}

// life is the latest life of a flow node.
type life struct {
	_     struct{} `cbor:",toarray"`
	Name  string
	Epoch uint64
}

var encoding = func() cbor.EncMode {
	opts := cbor.CoreDetEncOptions()
	opts.String = cbor.StringToByteString
	mode, err := opts.EncMode()
	if err != nil {
		panic("catalog: " + err.Error()) // the options are constants
	}
	return mode
}()

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{ByteStringToString: cbor.ByteStringToStringAllowed}.DecMode()
	if err != nil {
		panic("catalog: " + err.Error())
	}
	return mode
}()

func (e entry) data() string {
	b, err := encoding.Marshal(e)
	if err != nil {
		panic("catalog: definitions always encode: " + err.Error())
	}
	return string(b)
}

func add(e entry) []relation.Change    { return []relation.Change{{Data: e.data(), Diff: 1}} }
func remove(e entry) []relation.Change { return []relation.Change{{Data: e.data(), Diff: -1}} }

// definitions are the contents of the catalog. What they point to is never changed.
type definitions struct {
	tables     map[TableID]*Table
	flows      map[FlowID]*Flow
	tableNames map[Name]TableID
	flowNames  map[Name]FlowID
	lives      map[string]uint64
	dropped    map[TableID]bool
}

// Reset implements relation.State.
func (d *definitions) Reset() {
	*d = definitions{map[TableID]*Table{}, map[FlowID]*Flow{}, map[Name]TableID{}, map[Name]FlowID{}, map[string]uint64{}, map[TableID]bool{}}
}

// Apply implements relation.State. Within a change the order of what goes and what comes is that of
// the data, so that what goes must not take with it what has come under the same number.
func (d *definitions) Apply(data string, diff int64) {
	var e entry
	if err := decoding.Unmarshal([]byte(data), &e); err != nil {
		panic("catalog: the shard holds what is no definition: " + err.Error())
	}
	switch {
	case e.Table != nil && diff > 0:
		d.tables[e.Table.ID], d.tableNames[e.Table.Name] = e.Table, e.Table.ID
	case e.Table != nil:
		delete(d.tables, e.Table.ID)
		if d.tableNames[e.Table.Name] == e.Table.ID {
			delete(d.tableNames, e.Table.Name)
		}
	case e.Dropped != 0 && diff > 0:
		d.dropped[e.Dropped] = true
	case e.Dropped != 0:
		delete(d.dropped, e.Dropped)
	case e.Node != nil && diff > 0:
		d.lives[e.Node.Name] = e.Node.Epoch
	case e.Flow != nil && diff > 0:
		d.flows[e.Flow.ID], d.flowNames[e.Flow.Name] = e.Flow, e.Flow.ID
	case e.Flow != nil:
		if f := d.flows[e.Flow.ID]; f != nil && f.Revision == e.Flow.Revision {
			delete(d.flows, f.ID)
			if d.flowNames[f.Name] == f.ID {
				delete(d.flowNames, f.Name)
			}
		}
	}
}

func (d *definitions) table(name Name) (*Table, error) {
	if id, ok := d.tableNames[name]; ok {
		return d.tables[id], nil
	}
	return nil, &NotFoundError{"table", name}
}

func (d *definitions) flow(name Name) (*Flow, error) {
	if id, ok := d.flowNames[name]; ok {
		return d.flows[id], nil
	}
	return nil, &NotFoundError{"flow", name}
}

// leftBy are the sinks that a flow leaves when it gets another one, or the same.
func (d *definitions) leftBy(f *Flow, next Name) []Name {
	var left []Name
	for _, sink := range append(slices.Clone(f.Earlier), f.Sink) {
		if _, there := d.tableNames[sink]; there && sink != next && !slices.Contains(left, sink) {
			left = append(left, sink)
		}
	}
	return left
}

func (d *definitions) sortedFlows() []*Flow {
	all := make([]*Flow, 0, len(d.flows))
	for _, f := range d.flows {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Flow) int { return int(int64(a.ID) - int64(b.ID)) })
	return all
}
