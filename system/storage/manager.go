package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// CollectionManager has the tasks that write a process's collections. Its methods may be called by any
// task.
//
// A manager may begin in read-only mode, in which its tasks follow their commands and touch no shard;
// AllowWrites ends that for all of them. So the process that is to take over from another can
// get ready while the other still writes.
//
// Collections are written apart from each other: that one is closed, damaged or held up does not
// concern the rest.
type CollectionManager struct {
	h   host.Host
	cfg ManagerConfig

	mu          *host.Mutex
	readOnly    bool
	closed      bool
	collections map[GlobalID]*collection
}

// ManagerConfig is what all tasks of a [CollectionManager] have in common. The zero value means the
// defaults, as in [TaskConfig].
type ManagerConfig struct {
	// ReadOnly is the mode to begin in.
	ReadOnly bool

	Now               func() uint64
	UpperTickInterval time.Duration
	BatchDuration     time.Duration
	BatchSize         int
	Retry             RetryConfig
}

// Kind is how a collection is written.
type Kind int

const (
	// Differential collections are what their commands have made of them, whatever else was in the
	// shard: see [DifferentialWriteTask].
	Differential Kind = iota + 1
	// AppendOnly collections grow by what is appended to them: see [AppendOnlyTask].
	AppendOnly
)

func (k Kind) String() string {
	switch k {
	case Differential:
		return "differential"
	case AppendOnly:
		return "append-only"
	}
	return "known"
}

// collection is one that is registered. It stays so until its task has ended, lest two tasks of one
// manager write one shard.
type collection struct {
	kind   Kind
	handle *Handle
	ending bool // it was unregistered
}

// NewCollectionManager returns a manager without collections.
func NewCollectionManager(h host.Host, cfg ManagerConfig) *CollectionManager {
	return &CollectionManager{
		h: h, cfg: cfg, readOnly: cfg.ReadOnly,
		mu:          host.NewMutex(h, "collection manager"),
		collections: map[GlobalID]*collection{},
	}
}

// DifferentialCollection is what a differential collection is registered with. The fields are those
// of [TaskConfig].
type DifferentialCollection struct {
	Writer        *persist.WriteHandle
	OpenReader    func(context.Context) (*persist.ReadHandle, error)
	Introspection Introspection
	// ForceWritable collections are written in read-only mode too, such as those that tell of the
	// process itself.
	ForceWritable bool
}

// RegisterDifferential starts a task for a differential collection, which is empty until commands
// make something of it. It fails with *AlreadyRegistered or ErrManagerClosed. Writer must be of no
// other use as long as the collection is registered.
func (m *CollectionManager) RegisterDifferential(id GlobalID, c DifferentialCollection) (*DifferentialSender, error) {
	handle, err := m.register(id, Differential, func(readOnly bool) *Handle {
		return Spawn(m.h, TaskConfig{
			ID: id, Writer: c.Writer, OpenReader: c.OpenReader, Introspection: c.Introspection,
			ReadOnly: readOnly && !c.ForceWritable,
			Now:      m.cfg.Now, UpperTickInterval: m.cfg.UpperTickInterval,
			BatchDuration: m.cfg.BatchDuration, BatchSize: m.cfg.BatchSize, Retry: m.cfg.Retry,
		})
	})
	if err != nil {
		return nil, err
	}
	return &DifferentialSender{handle}, nil
}

// AppendOnlyCollection is what an append-only collection is registered with. The fields are those of
// [AppendOnlyConfig].
type AppendOnlyCollection struct {
	Writer        *persist.WriteHandle
	OpenReader    func(context.Context) (*persist.ReadHandle, error)
	Prepare       func(ctx context.Context, contents []RowDiff) ([]RowDiff, error)
	ForceWritable bool // as in DifferentialCollection
}

// RegisterAppendOnly starts a task for an append-only collection. It fails as RegisterDifferential
// does.
func (m *CollectionManager) RegisterAppendOnly(id GlobalID, c AppendOnlyCollection) (*AppendOnlySender, error) {
	handle, err := m.register(id, AppendOnly, func(readOnly bool) *Handle {
		return SpawnAppendOnly(m.h, AppendOnlyConfig{
			ID: id, Writer: c.Writer, OpenReader: c.OpenReader, Prepare: c.Prepare,
			ReadOnly: readOnly && !c.ForceWritable,
			Now:      m.cfg.Now, UpperTickInterval: m.cfg.UpperTickInterval,
			BatchDuration: m.cfg.BatchDuration, BatchSize: m.cfg.BatchSize, Retry: m.cfg.Retry,
		})
	})
	if err != nil {
		return nil, err
	}
	return &AppendOnlySender{handle}, nil
}

func (m *CollectionManager) register(id GlobalID, kind Kind, spawn func(readOnly bool) *Handle) (*Handle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrManagerClosed
	}
	if c := m.collections[id]; c != nil && !c.handle.ended.Closed() {
		return nil, &AlreadyRegistered{ID: id}
	}
	handle := spawn(m.readOnly)
	m.collections[id] = &collection{kind: kind, handle: handle}
	return handle, nil
}

// DifferentialSender returns a sender of a differential collection, or *NotRegistered. There may be
// any number; what they send is carried out in the order in which it is sent.
func (m *CollectionManager) DifferentialSender(id GlobalID) (*DifferentialSender, error) {
	handle, err := m.find(id, Differential)
	if err != nil {
		return nil, err
	}
	return &DifferentialSender{handle}, nil
}

// AppendOnlySender returns a sender of an append-only collection, or *NotRegistered.
func (m *CollectionManager) AppendOnlySender(id GlobalID) (*AppendOnlySender, error) {
	handle, err := m.find(id, AppendOnly)
	if err != nil {
		return nil, err
	}
	return &AppendOnlySender{handle}, nil
}

func (m *CollectionManager) find(id GlobalID, kind Kind) (*Handle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.collections[id]
	if c == nil || c.ending || c.kind != kind {
		return nil, &NotRegistered{ID: id, Kind: kind}
	}
	return c.handle, nil
}

// Registered returns the collections that were registered and not unregistered since, sorted.
func (m *CollectionManager) Registered() []GlobalID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []GlobalID
	for _, id := range slices.Sorted(maps.Keys(m.collections)) {
		if !m.collections[id].ending {
			ids = append(ids, id)
		}
	}
	return ids
}

// Wait waits for the end of a collection's task and returns its reason, as Handle.Wait does: a task
// may end by itself, when its shard is closed or damaged. It fails with *NotRegistered, or when ctx
// ends first, with ctx's error.
func (m *CollectionManager) Wait(ctx context.Context, id GlobalID) error {
	m.mu.Lock()
	c := m.collections[id]
	m.mu.Unlock()
	if c == nil {
		return &NotRegistered{ID: id}
	}
	return c.handle.Wait(ctx)
}

// Unregister makes a collection's task end and waits until it has: from then on the process writes
// nothing to the shard any more. The command that is being written is, and is answered so; those that
// wait are answered *IdentifierInvalid, as is what senders send afterwards. Their collection is gone even when another is registered under
// the same name.
//
// It fails with *NotRegistered, or with ctx's error when ctx ends first. The task ends all the same, and
// the name is free when it has.
func (m *CollectionManager) Unregister(ctx context.Context, id GlobalID) error {
	m.mu.Lock()
	c := m.collections[id]
	if c != nil {
		c.ending = true
		m.h.Sometimes("storage: a collection was unregistered with commands waiting", c.handle.mailbox.commands.Len() > 0)
		c.handle.Shutdown()
	}
	m.mu.Unlock()
	if c == nil {
		return &NotRegistered{ID: id}
	}
	if err := c.wait(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.collections[id] == c {
		delete(m.collections, id)
	}
	return nil
}

// wait waits for the end, whatever the reason.
func (c *collection) wait(ctx context.Context) error {
	_, _, err := c.handle.ended.RecvContext(ctx)
	return err
}

// AllowWrites ends read-only mode, of collections registered already and of those to come. Differential
// collections are made what their commands have made of them since they were registered. What was
// sent to append-only ones before is not written: it was answered *ReadOnly.
func (m *CollectionManager) AllowWrites() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readOnly = false
	for _, id := range slices.Sorted(maps.Keys(m.collections)) {
		m.collections[id].handle.AllowWrites()
	}
}

// Shutdown unregisters all collections and waits for their ends. Nothing can be registered afterwards. It
// fails with ctx's error when ctx ends first; the tasks end all the same.
func (m *CollectionManager) Shutdown(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	ids := slices.Sorted(maps.Keys(m.collections))
	for _, id := range ids { // all at once
		m.collections[id].ending = true
		m.collections[id].handle.Shutdown()
	}
	m.mu.Unlock()
	for _, id := range ids {
		var gone *NotRegistered
		if err := m.Unregister(ctx, id); err != nil && !errors.As(err, &gone) {
			return err
		}
	}
	return nil
}
