package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/scheduler"
)

// agent is a capture that keeps to the protocol, without epochs: there is no network in between.
type agent struct {
	runs       map[model.KeySpanID]bool
	operations map[model.KeySpanID]bool // true: remove
	checkpoint model.Ts
	announced  bool // asked for a Sync
	synced     bool // with the present dispatcher
}

// cluster is a dispatcher, its captures and its messages, and judges what is dispatched.
type cluster struct {
	t        *rapid.T
	d        *scheduler.BaseScheduleDispatcher
	agents   map[model.CaptureID]*agent
	captures map[model.CaptureID]*model.CaptureInfo // as the owner knows them
	queued   bool                                   // whether messages can be queued now
	global   model.Ts
}

func (c *cluster) Announce(_ context.Context, _ model.ChangeFeedID, id model.CaptureID) (bool, error) {
	if !c.queued {
		return false, nil
	}
	if a := c.agents[id]; a != nil {
		a.announced = true
	}
	return true, nil
}

func (c *cluster) DispatchKeySpan(_ context.Context, _ model.ChangeFeedID, id model.KeySpanID, capture model.CaptureID, isDelete bool) (bool, error) {
	for known := range c.captures {
		if a := c.agents[known]; a != nil {
			require.True(c.t, a.synced, "dispatched before %s had synced", known)
		}
	}
	require.Contains(c.t, c.captures, capture)
	if !c.queued {
		return false, nil
	}
	for other, a := range c.agents {
		if other != capture {
			require.False(c.t, a.runs[id], "key span %d is on %s, and dispatched to %s", id, other, capture)
		}
	}
	a := c.agents[capture]
	if a == nil {
		return true, nil // it has died
	}
	_, underWay := a.operations[id]
	require.False(c.t, underWay, "two operations on key span %d", id)
	require.Equal(c.t, isDelete, a.runs[id])
	a.operations[id] = isDelete
	if !isDelete {
		a.runs[id] = true
		a.checkpoint = min(a.checkpoint, c.global)
	}
	return true, nil
}

// Whatever happens, no key span is on two captures, nothing is dispatched before all have synced, and a
// checkpoint is that of captures which together have exactly the wanted key spans.
func TestDispatcherKeepsItsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cluster{t: t, agents: map[model.CaptureID]*agent{}, queued: true, global: 100}
		c.d = scheduler.NewBaseScheduleDispatcher("f", c, c.global)
		wanted := ids(1, 2, 3, 4)
		next := 0
		some := func(what string) (model.CaptureID, *agent) {
			if len(c.agents) == 0 {
				t.Skip("no captures")
			}
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(c.agents))).Draw(t, what)
			return id, c.agents[id]
		}
		sync := func(id model.CaptureID, a *agent) {
			var running, adding, removing []model.KeySpanID
			for _, k := range slices.Sorted(maps.Keys(a.runs)) {
				switch isDelete, underWay := a.operations[k]; {
				case !underWay:
					running = append(running, k)
				case isDelete:
					removing = append(removing, k)
				default:
					adding = append(adding, k)
				}
			}
			c.d.OnAgentSyncTaskStatuses(id, running, adding, removing)
			if a.announced {
				a.synced, a.announced = true, false
			}
		}
		finish := func(id model.CaptureID, a *agent, k model.KeySpanID) {
			if !a.synced {
				return // the dispatcher does not know of it yet
			}
			if a.operations[k] {
				delete(a.runs, k)
			} else {
				c.d.OnAgentCheckpoint(id, a.checkpoint, a.checkpoint)
			}
			delete(a.operations, k)
			c.d.OnAgentFinishedKeySpanOperation(id, k)
		}
		learn := func() {
			c.captures = map[model.CaptureID]*model.CaptureInfo{}
			for id := range c.agents {
				c.captures[id] = &model.CaptureInfo{ID: id}
			}
		}
		tick := func() {
			statuses, err := c.d.GetTaskStatuses()
			require.NoError(t, err)
			for id, status := range statuses {
				for _, k := range slices.Sorted(maps.Keys(status.KeySpans)) {
					if a := c.agents[id]; a != nil && a.synced {
						require.True(t, a.runs[k], "recorded where it is not")
					}
				}
			}
			checkpoint, resolved, err := c.d.Tick(background, c.global, wanted, c.captures)
			require.NoError(t, err)
			if checkpoint == scheduler.CheckpointCannotProceed {
				require.Zero(t, resolved)
				return
			}
			if len(wanted) == 0 {
				return
			}
			require.GreaterOrEqual(t, checkpoint, c.global)
			var have []model.KeySpanID
			for id := range c.captures {
				if a := c.agents[id]; a != nil && len(a.runs) > 0 {
					require.LessOrEqual(t, checkpoint, a.checkpoint, "beyond what %s has", id)
					require.Empty(t, a.operations)
					have = append(have, slices.Sorted(maps.Keys(a.runs))...)
				} else if a == nil {
					// It died since, and the owner does not know: what it has is not lost, as nobody
					// else has it.
					status, err := c.d.GetTaskStatuses()
					require.NoError(t, err)
					if s := status[id]; s != nil {
						have = append(have, slices.Sorted(maps.Keys(s.KeySpans))...)
					}
				}
			}
			slices.Sort(have)
			require.Equal(t, wanted, have)
			c.global = checkpoint
		}
		t.Repeat(map[string]func(*rapid.T){
			"tick": func(*rapid.T) { tick() },
			"tick with a full queue": func(*rapid.T) {
				c.queued = false
				tick()
				c.queued = true
			},
			"capture comes": func(t *rapid.T) {
				if len(c.agents) >= 4 {
					t.Skip("enough")
				}
				next++
				c.agents[fmt.Sprintf("c%03d", next)] = &agent{runs: map[model.KeySpanID]bool{}, operations: map[model.KeySpanID]bool{}, checkpoint: c.global}
				learn()
			},
			"capture dies": func(*rapid.T) {
				id, _ := some("dies")
				delete(c.agents, id)
			},
			"owner learns": func(*rapid.T) { learn() },
			"sync": func(t *rapid.T) {
				id, a := some("syncs")
				if a.announced || a.synced && c.captures[id] != nil {
					sync(id, a)
				}
			},
			"finish": func(t *rapid.T) {
				id, a := some("finishes")
				if len(a.operations) == 0 {
					t.Skip("nothing under way")
				}
				finish(id, a, rapid.SampledFrom(slices.Sorted(maps.Keys(a.operations))).Draw(t, "span"))
			},
			"progress": func(t *rapid.T) {
				id, a := some("progresses")
				a.checkpoint += rapid.Uint64Range(1, 5).Draw(t, "by")
				if a.checkpoint < c.global {
					a.checkpoint = c.global
				}
				c.d.OnAgentCheckpoint(id, a.checkpoint, a.checkpoint)
			},
			"move": func(t *rapid.T) {
				id, _ := some("target")
				c.d.MoveKeySpan(model.KeySpanID(rapid.IntRange(1, 6).Draw(t, "span")), id)
			},
			"rebalance": func(*rapid.T) { c.d.Rebalance() },
			"wanted changes": func(t *rapid.T) {
				wanted = slices.Sorted(maps.Keys(rapid.MapOf(rapid.Uint64Range(1, 6), rapid.Just(true)).Draw(t, "wanted")))
			},
			"owner changes": func(*rapid.T) {
				c.d = scheduler.NewBaseScheduleDispatcher("f", c, c.global)
				for _, a := range c.agents {
					a.synced, a.announced = false, false
				}
			},
			"": func(t *rapid.T) {
				on := map[model.KeySpanID]model.CaptureID{}
				for _, id := range slices.Sorted(maps.Keys(c.agents)) {
					for k := range c.agents[id].runs {
						require.NotContains(t, on, k, "on %s too", id)
						on[k] = id
					}
				}
			},
		})
		// Left alone, all comes to rest: the checkpoint moves, and the load is spread.
		if len(c.agents) == 0 || len(wanted) == 0 {
			return
		}
		learn()
		c.d.Rebalance()
		before := c.global
		for range 30 {
			tick()
			for _, id := range slices.Sorted(maps.Keys(c.agents)) {
				a := c.agents[id]
				if a.announced {
					sync(id, a)
				}
				for _, k := range slices.Sorted(maps.Keys(a.operations)) {
					finish(id, a, k)
				}
				a.checkpoint = max(a.checkpoint, c.global) + 1
				c.d.OnAgentCheckpoint(id, a.checkpoint, a.checkpoint)
			}
		}
		require.Greater(t, c.global, before)
		share := (len(wanted) + len(c.agents) - 1) / len(c.agents)
		for id, a := range c.agents {
			require.LessOrEqual(t, len(a.runs), share, "%s has too much", id)
		}
	})
}
