package persist_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

// unreliable makes the operations of a store fail in every way in which they may.
type unreliable struct {
	w      *sim.World
	random *sim.Stream
	// rate is how many operations in a hundred fail.
	rate int64
}

func newUnreliable(w *sim.World, rate int64, name string) *unreliable {
	return &unreliable{w: w, random: w.NewStream("test", "unreliable", name), rate: rate}
}

var errInjected = errors.New("injected")

// do does op, or not, or later, and tells or does not tell.
func (u *unreliable) do(op func() error) error {
	u.w.Sleep(time.Duration(u.random.Between(0, 3)) * time.Millisecond)
	if u.random.Between(0, 99) >= u.rate {
		err := op()
		u.w.Sleep(time.Duration(u.random.Between(0, 3)) * time.Millisecond)
		return err
	}
	fail := func(kind error, how string) error {
		return &persist.StoreError{Op: how, Kind: kind, Err: errInjected}
	}
	switch u.random.N(4) {
	case 0:
		return fail(persist.ErrDeterminate, "not done")
	case 1:
		return fail(persist.ErrIndeterminate, "not done, not told")
	case 2:
		_ = op()
		return fail(persist.ErrIndeterminate, "done, not told")
	default:
		later := time.Duration(u.random.Between(0, 200)) * time.Millisecond
		u.w.Go("late operation", func() {
			u.w.Sleep(later)
			_ = op()
		})
		return fail(persist.ErrIndeterminate, "done later, not told")
	}
}

// unreliableConsensus is a Consensus of which some operations fail.
type unreliableConsensus struct {
	*unreliable
	c persist.Consensus
}

func (u unreliableConsensus) Head(ctx context.Context, key string) (v persist.Versioned, err error) {
	var got persist.Versioned
	err = u.do(func() (err error) { got, err = u.c.Head(ctx, key); return err })
	if err == nil {
		v = got
	}
	return v, err
}

func (u unreliableConsensus) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	var committed bool
	err := u.do(func() (err error) {
		committed, err = u.c.CompareAndSet(context.WithoutCancel(ctx), key, expected, next)
		return err
	})
	return committed && err == nil, err
}

func (u unreliableConsensus) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) (versions []persist.Versioned, err error) {
	err = u.do(func() (err error) { versions, err = u.c.Scan(ctx, key, from, limit); return err })
	return versions, err
}

func (u unreliableConsensus) Truncate(ctx context.Context, key string, seqno persist.SeqNo) (dropped int, err error) {
	err = u.do(func() (err error) { dropped, err = u.c.Truncate(ctx, key, seqno); return err })
	return dropped, err
}

func (u unreliableConsensus) ListKeys(ctx context.Context) (keys []string, err error) {
	err = u.do(func() (err error) { keys, err = u.c.ListKeys(ctx); return err })
	return keys, err
}

// unreliableBlob is a Blob of which some operations fail.
type unreliableBlob struct {
	*unreliable
	b persist.Blob
}

func (u unreliableBlob) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = u.do(func() (err error) { value, ok, err = u.b.Get(ctx, key); return err })
	return value, ok, err
}

func (u unreliableBlob) Set(ctx context.Context, key string, value []byte) error {
	return u.do(func() error { return u.b.Set(context.WithoutCancel(ctx), key, value) })
}

func (u unreliableBlob) Delete(ctx context.Context, key string) (size int64, existed bool, err error) {
	err = u.do(func() (err error) { size, existed, err = u.b.Delete(context.WithoutCancel(ctx), key); return err })
	return size, existed, err
}

func (u unreliableBlob) List(ctx context.Context, prefix string) (infos []persist.BlobInfo, err error) {
	err = u.do(func() (err error) { infos, err = u.b.List(ctx, prefix); return err })
	return infos, err
}

// script fails operations as it is told, one after the other.
type script struct {
	persist.Consensus
	cas []func(do func() (bool, error)) (bool, error)
}

func (s *script) CompareAndSet(ctx context.Context, key string, expected persist.SeqNo, next persist.Versioned) (bool, error) {
	do := func() (bool, error) { return s.Consensus.CompareAndSet(ctx, key, expected, next) }
	if len(s.cas) == 0 {
		return do()
	}
	step := s.cas[0]
	s.cas = s.cas[1:]
	return step(do)
}

// The steps of a script.
func lostReply(do func() (bool, error)) (bool, error) {
	if committed, err := do(); !committed || err != nil {
		panic(fmt.Sprint("the script expects a success: ", committed, err))
	}
	return false, &persist.StoreError{Op: "lost reply", Kind: persist.ErrIndeterminate, Err: errInjected}
}

func lostRequest(func() (bool, error)) (bool, error) {
	return false, &persist.StoreError{Op: "lost request", Kind: persist.ErrIndeterminate, Err: errInjected}
}

func refused(func() (bool, error)) (bool, error) {
	return false, &persist.StoreError{Op: "refused", Kind: persist.ErrDeterminate, Err: errInjected}
}

// during does something else just before the operation.
func during(other func(), then func(func() (bool, error)) (bool, error)) func(func() (bool, error)) (bool, error) {
	return func(do func() (bool, error)) (bool, error) {
		other()
		return then(do)
	}
}

// after does something else just after the operation.
func after(then func(func() (bool, error)) (bool, error), other func()) func(func() (bool, error)) (bool, error) {
	return func(do func() (bool, error)) (bool, error) {
		committed, err := then(do)
		other()
		return committed, err
	}
}
