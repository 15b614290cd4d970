package relation

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// State is what a relation's user makes of its contents. Its methods are called by one task at a time.
type State interface {
	// Reset makes it that of an empty relation.
	Reset()
	// Apply changes the multiplicity of a datum.
	Apply(data string, diff int64)
}

// Change says by how much the multiplicity of a datum changes.
type Change struct {
	_    struct{} `cbor:",toarray"`
	Data string
	Diff int64
}

// Batch are the changes of one sequence number, sorted by data.
type Batch struct {
	_       struct{} `cbor:",toarray"`
	Seq     uint64
	Changes []Change
}

// ErrForgotten says that changes are asked for that are not in memory any more: what follows the
// relation has to read it as a whole.
var ErrForgotten = errors.New("relation: the changes asked for are not kept any more; read the whole relation")

// ErrClosed says that the relation is no more: it was closed here, or its shard was given up.
var ErrClosed = errors.New("relation: it is closed")

// Config are the limits of a Relation. The zero value means the defaults.
type Config struct {
	// History is how many changes are kept for Changes, at least. Default 4096.
	History int
}

// Relation is a shard with its contents in memory. Its methods may be called by several tasks, which
// take turns.
type Relation struct {
	h      host.Host
	client *persist.Client
	shard  persist.ShardID
	cfg    Config
	state  State

	mu *host.Mutex
	// applying is held while state changes, and not while waiting.
	applying *host.Mutex
	writer   *persist.WriteHandle
	events   *persist.Listener // nil: to be opened
	upper    uint64            // the sequence number after those that state reflects
	history  []Batch           // of the latest sequence numbers, those without changes too
	kept     int               // changes in history
	closed   bool
}

// Open returns the relation in a shard, which may be new. It does nothing until it is used.
func Open(h host.Host, client *persist.Client, shard persist.ShardID, state State, cfg Config) *Relation {
	if cfg.History <= 0 {
		cfg.History = 4096
	}
	return &Relation{
		h: h, client: client, shard: shard, state: state, cfg: cfg,
		mu: host.NewMutex(h, "relation "+string(shard)), applying: host.NewMutex(h, "state of relation "+string(shard)),
	}
}

// Close ends the relation in this process, and lets go of the shard. Every method but Recent fails with ErrClosed
// afterwards.
func (r *Relation) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.events != nil {
		r.events.Close()
	}
	if r.writer != nil {
		r.writer.Close()
	}
	r.history = nil
}

// View brings the state up to date and calls look, if it is not nil, with it at rest. It returns the
// sequence number that the next change will have.
func (r *Relation) View(ctx context.Context, look func()) (upper uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return 0, err
	}
	if look != nil {
		look()
	}
	return r.upper, nil
}

// Recent calls look with the state as it is, at rest, however old that may be. It does not wait.
func (r *Relation) Recent(look func()) {
	r.applying.Lock()
	defer r.applying.Unlock()
	look()
}

// Update appends what decide returns, given the sequence number that it will have, with the state up to
// date and at rest. When somebody else appends first, it is asked again. If it returns an error, or
// nothing, nothing is appended, and the error is returned as it is.
//
// Other errors are those of persist: [persist.ErrIndeterminate] among them, after which the change may
// have been made or still be.
func (r *Relation) Update(ctx context.Context, decide func(seq uint64) ([]Change, error)) (seq uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if err := r.refresh(ctx); err != nil {
			return 0, err
		}
		changes, err := decide(r.upper)
		if err != nil || len(changes) == 0 {
			return 0, err
		}
		seq := r.upper
		updates := make([]persist.Update, len(changes))
		for i, c := range changes {
			updates[i] = persist.Update{Data: c.Data, Time: seq, Diff: c.Diff}
		}
		err = r.writer.CompareAndAppend(ctx, updates, persist.At(seq), persist.At(seq+1))
		var mismatch *persist.UpperMismatch
		if !errors.As(err, &mismatch) {
			return seq, err
		}
		r.h.Sometimes("relation: a change was decided anew because somebody else was faster", true)
	}
}

// Changes are those of the sequence numbers from the given one on, as far as there are any. The error
// is [ErrForgotten], or one of persist.
func (r *Relation) Changes(ctx context.Context, from uint64) ([]Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	if from >= r.upper {
		return nil, nil
	}
	first := r.upper - uint64(len(r.history))
	if from < first || r.h.Buggify("relation/forgetful") {
		return nil, fmt.Errorf("%w: from %d, kept from %d", ErrForgotten, from, first)
	}
	return append([]Batch(nil), r.history[from-first:]...), nil
}

// refresh reads what is new in the shard.
func (r *Relation) refresh(ctx context.Context) error {
	if r.closed {
		return fmt.Errorf("%w: shard %s", ErrClosed, r.shard)
	}
	if r.writer == nil {
		w, err := r.client.OpenWriter(ctx, r.shard)
		if err != nil {
			return err
		}
		r.writer = w
	}
	for {
		upper, err := r.writer.FetchRecentUpper(ctx)
		if err != nil {
			return err
		}
		t, open := upper.Time()
		switch {
		case !open:
			return fmt.Errorf("%w: shard %s was given up", ErrClosed, r.shard)
		case t == 0: // new: the first change is number 1, so that there is a time before it to read as of
			if err := r.begin(ctx); err != nil {
				return err
			}
			continue
		}
		if err := r.follow(ctx, t); err != nil {
			if errors.Is(err, persist.ErrLeaseExpired) {
				r.h.Sometimes("relation: a reader lost its lease and the relation was read anew", true)
				r.events = nil
				continue
			}
			return err
		}
		return nil
	}
}

func (r *Relation) begin(ctx context.Context) error {
	err := r.writer.CompareAndAppend(ctx, nil, persist.At(0), persist.At(1))
	var mismatch *persist.UpperMismatch
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// follow applies what happened before upper.
func (r *Relation) follow(ctx context.Context, upper uint64) error {
	if r.events == nil {
		if err := r.subscribe(ctx, upper); err != nil {
			return err
		}
	}
	for r.upper < upper {
		event, err := r.events.Next(ctx)
		if err != nil {
			return err
		}
		r.take(event)
	}
	return nil
}

func (r *Relation) subscribe(ctx context.Context, upper uint64) error {
	reader, err := r.client.OpenReader(ctx, r.shard)
	if err != nil {
		return err
	}
	events, err := reader.Subscribe(ctx, upper-1)
	if err != nil {
		reader.Close()
		return err
	}
	r.events, r.upper, r.history, r.kept = events, 0, nil, 0
	r.applying.Lock()
	defer r.applying.Unlock()
	r.state.Reset()
	return nil
}

// take applies an event.
func (r *Relation) take(event persist.Event) {
	r.applying.Lock()
	defer r.applying.Unlock()
	to, _ := event.Progress.Time()
	if event.Snapshot {
		for _, u := range event.Updates {
			r.state.Apply(u.Data, u.Diff)
		}
		r.upper = to + 1
		return
	}
	for i := 0; r.upper < to; r.upper++ {
		b := Batch{Seq: r.upper}
		for ; i < len(event.Updates) && event.Updates[i].Time == r.upper; i++ {
			u := event.Updates[i]
			r.state.Apply(u.Data, u.Diff)
			b.Changes = append(b.Changes, Change{Data: u.Data, Diff: u.Diff})
		}
		r.remember(b)
	}
}

// remember keeps a batch for those that follow.
func (r *Relation) remember(b Batch) {
	r.history = append(r.history, b)
	r.kept += 1 + len(b.Changes)
	drop := 0
	for r.kept > 2*r.cfg.History && drop < len(r.history)-1 {
		r.kept -= 1 + len(r.history[drop].Changes)
		drop++
	}
	if drop > 0 {
		r.history = append([]Batch(nil), r.history[drop:]...)
	}
}
