package relation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow/relation"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// counts is the state of a relation whose data are counted.
type counts map[string]int64

func (c counts) Reset() { clear(c) }

func (c counts) Apply(data string, diff int64) {
	if c[data] += diff; c[data] == 0 {
		delete(c, data)
	}
}

func inWorld(t testing.TB, body func(w *sim.World, client *persist.Client)) {
	w := sim.New(sim.Config{Seed: 1, MaxTime: time.Hour})
	defer w.Close()
	w.Go("test", func() {
		defer w.Stop()
		h := w.Host()
		body(w, persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{}))
	})
	require.NoError(t, w.Run())
}

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		stock := counts{}
		r := relation.Open(h, client, "stock", stock, relation.Config{})
		take := func(uint64) ([]relation.Change, error) {
			if stock["apple"] == 0 {
				return nil, errors.New("no apples")
			}
			return []relation.Change{{Data: "apple", Diff: -1}}, nil
		}
		fmt.Println(r.Update(ctx, take))
		fmt.Println(r.Update(ctx, func(uint64) ([]relation.Change, error) { return []relation.Change{{Data: "apple", Diff: 2}}, nil }))
		fmt.Println(r.Update(ctx, take))
		batches, _ := r.Changes(ctx, 1)
		for _, b := range batches {
			fmt.Println(b.Seq, b.Changes[0].Data, b.Changes[0].Diff)
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 no apples
	// 1 <nil>
	// 2 <nil>
	// 1 apple 2
	// 2 apple -1
}

// TestUpdatesAreTransactions: two processes that each count a number up, if they see it as it is, lose no
// count, and number their changes without gaps.
func TestUpdatesAreTransactions(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		const each = 20
		seqs := map[uint64]bool{}
		tasks := host.NewWaitGroup(w.Host(), "writers")
		var states []counts
		for range 3 {
			state := counts{}
			states = append(states, state)
			r := relation.Open(w.Host(), client, "r", state, relation.Config{})
			tasks.Go(w.Host(), "writer", func() {
				for range each {
					seq, err := r.Update(context.Background(), func(uint64) ([]relation.Change, error) {
						n := 0
						for data := range state {
							_, err := fmt.Sscanf(data, "%d", &n)
							require.NoError(t, err)
						}
						next := []relation.Change{{Data: fmt.Sprint(n + 1), Diff: 1}}
						if n > 0 {
							next = append(next, relation.Change{Data: fmt.Sprint(n), Diff: -1})
						}
						w.Sleep(time.Millisecond) // the others get in between
						return next, nil
					})
					require.NoError(t, err)
					require.False(t, seqs[seq])
					seqs[seq] = true
				}
			})
		}
		tasks.Wait()
		require.Len(t, seqs, 3*each)
		for seq := uint64(1); seq <= 3*each; seq++ {
			require.True(t, seqs[seq])
		}
		r := relation.Open(w.Host(), client, "r", states[0], relation.Config{})
		upper, err := r.View(context.Background(), nil)
		require.NoError(t, err)
		require.EqualValues(t, 3*each+1, upper)
		require.Equal(t, counts{fmt.Sprint(3 * each): 1}, states[0])
	})
}

func TestChangesAreForgotten(t *testing.T) {
	inWorld(t, func(w *sim.World, client *persist.Client) {
		ctx := context.Background()
		r := relation.Open(w.Host(), client, "r", counts{}, relation.Config{History: 5})
		for i := range 40 {
			_, err := r.Update(ctx, func(uint64) ([]relation.Change, error) {
				return []relation.Change{{Data: fmt.Sprint(i), Diff: 1}}, nil
			})
			require.NoError(t, err)
		}
		_, err := r.Changes(ctx, 1)
		require.ErrorIs(t, err, relation.ErrForgotten)
		batches, err := r.Changes(ctx, 38)
		require.NoError(t, err)
		require.Len(t, batches, 3)
		require.EqualValues(t, 38, batches[0].Seq)
		none, err := r.Changes(ctx, 41)
		require.NoError(t, err)
		require.Empty(t, none)

		late := relation.Open(w.Host(), client, "r", counts{}, relation.Config{})
		_, err = late.Changes(ctx, 38)
		require.ErrorIs(t, err, relation.ErrForgotten, "who begins later knows nothing of before")
	})
}

func BenchmarkUpdate(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, func(w *sim.World, client *persist.Client) {
		r := relation.Open(w.Host(), client, "r", counts{}, relation.Config{})
		for i := 0; b.Loop(); i++ {
			if _, err := r.Update(context.Background(), func(uint64) ([]relation.Change, error) {
				return []relation.Change{{Data: fmt.Sprint(i), Diff: 1}}, nil
			}); err != nil {
				w.Fail("benchmark", "%v", err)
			}
		}
	})
}
