package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// victim is five machines that send each other a datagram every 10 ms; heard is when each last
// heard from each, by "to<from".
func victim(t *testing.T, w *sim.World) (heard map[string]time.Duration, lives map[string]uint64) {
	heard, lives = map[string]time.Duration{}, map[string]uint64{}
	for _, m := range testTopology.Machines {
		w.NewNode(m.Name, func(h host.Host) {
			lives[h.Name()] = h.Incarnation()
			s, err := h.Net().OpenSocket("p")
			require.NoError(t, err)
			h.Go("send", func() {
				for {
					for _, to := range testTopology.Machines {
						if to.Name != h.Name() {
							_ = s.SendTo(to.Name+":p", []byte("hello"))
						}
					}
					h.Clock().Sleep(10 * time.Millisecond)
				}
			})
			for {
				from, _, err := s.RecvFrom(context.Background())
				require.NoError(t, err)
				name, _ := host.SplitAddr(from)
				heard[h.Name()+"<"+name] = w.Now()
			}
		})
	}
	return heard, lives
}

// Each kind is carried out on a small victim, does what it says while it lasts, and leaves nothing
// behind.
func TestEachKindActsAndEnds(t *testing.T) {
	type observation struct {
		heard map[string]time.Duration
		lives map[string]uint64
		w     *sim.World
	}
	cut := func(o observation, pair string) bool { return o.w.Now()-o.heard[pair] > time.Second }
	for name, test := range map[string]struct {
		plan  string
		check func(t *testing.T, o observation) // 3 s after the fault began, 1 s before it ends
	}{
		"partition": {"{kind: net.partition, target: [a, b], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "a<c") && cut(o, "c<a") && cut(o, "b<e"))
			require.False(t, cut(o, "a<b") || cut(o, "d<e"))
		}},
		"bridge": {"{kind: net.partition, target: [a, b], from: 1s, to: 5s, params: {shape: bridge}}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<c") && cut(o, "c<b"))
			require.False(t, cut(o, "a<b") || cut(o, "a<c") || cut(o, "c<a"))
		}},
		"ring": {"{kind: net.partition, target: [a, b, c, d, e], from: 1s, to: 5s, params: {shape: ring}}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "a<c") && cut(o, "a<d") && cut(o, "b<d") && cut(o, "c<e"))
			require.False(t, cut(o, "a<b") || cut(o, "a<e") || cut(o, "e<a") || cut(o, "c<d"))
		}},
		"oneway": {"{kind: net.oneway, target: [a, b], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a"))
			require.False(t, cut(o, "a<b"))
		}},
		"clog": {"{kind: net.clog, target: [a, b], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a") && cut(o, "a<b"))
			require.False(t, cut(o, "a<c"))
		}},
		"swizzle": {"{kind: net.swizzle, target: [a, b], from: 1s, to: 7s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "c<a") && cut(o, "a<c"))
			require.False(t, cut(o, "c<d"))
		}},
		"slow": {"{kind: net.slow, target: [a], from: 1s, to: 5s, params: {extra: 2500ms}}", func(t *testing.T, o observation) {
			require.Greater(t, o.heard["b<a"], 3*time.Second)
		}},
		"crash": {"{kind: node.crash, target: [a], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a"))
			require.False(t, o.w.Node("a").Up())
		}},
		"pause": {"{kind: node.pause, target: [a], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a") && cut(o, "a<b"))
			require.True(t, o.w.Node("a").Up())
		}},
		"throttle": {"{kind: net.throttle, target: [a], from: 1s, to: 5s, params: {bandwidth: 1}}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a"), "five bytes take five seconds")
		}},
		"wipe": {"{kind: node.wipe, target: [a], from: 1s, to: 5s}", func(t *testing.T, o observation) {
			require.True(t, cut(o, "b<a"))
			require.Nil(t, o.w.Node("a").DiskFile("f"))
		}},
		"skew": {"{kind: clock.skew, target: [a], from: 1s, to: 5s, params: {drift: 100000}}", func(t *testing.T, o observation) {
			require.InDelta(t, 0.3, o.w.Node("a").ClockOffset().Seconds(), 0.01)
		}},
		"jump": {"{kind: clock.jump, target: [a], from: 1s, to: 5s, params: {by: -3s}}", func(t *testing.T, o observation) {
			require.Equal(t, -3*time.Second, o.w.Node("a").ClockOffset())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := sim.New(sim.Config{Seed: 1})
			defer w.Close()
			heard, lives := victim(t, w)
			plan, err := ParsePlan([]byte("faults:\n  - " + test.plan + "\n"))
			require.NoError(t, err)
			inj, err := NewInjector(w, plan, testTopology, nil)
			require.NoError(t, err)
			inj.Start()
			o := observation{heard, lives, w}
			require.NoError(t, w.RunFor(4*time.Second))
			test.check(t, o)
			require.Equal(t, map[string]int{plan.Faults[0].Kind: 1}, inj.Fired())
			if plan.Faults[0].Kind != "net.swizzle" {
				require.Len(t, inj.Active(), 1)
			}
			require.NoError(t, w.RunFor(5*time.Second))
			require.Empty(t, inj.Active())
			require.Len(t, heard, 20)
			for pair, at := range heard {
				require.Less(t, w.Now()-at, 100*time.Millisecond, pair)
			}
			require.InDelta(t, 0, w.Node("a").ClockOffset(), float64(time.Millisecond))
		})
	}
}

func TestHealEndsEverything(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	heard, _ := victim(t, w)
	var handled []string
	plan, err := ParsePlan([]byte(`
faults:
  - {kind: net.swizzle, target: [a, b], from: 1s, to: 100s}
  - {kind: net.partition, target: [c], from: 1s, to: 100s}
  - {kind: node.pause, target: [d], from: 1s, to: 100s}
  - {kind: net.reset, target: [a, b], from: 1s}
  - {kind: persist.indeterminate, target: [a], from: 1s, to: 100s}
  - {kind: node.crash, target: [e], from: 50s, to: 100s}
`))
	require.NoError(t, err)
	inj, err := NewInjector(w, plan, testTopology, map[string]Handler{
		"persist.indeterminate": func(f *Fault) (func(), bool) {
			handled = append(handled, "begin "+f.Target[0])
			return func() { handled = append(handled, "end") }, true
		},
	})
	require.NoError(t, err)
	inj.Start()
	require.NoError(t, w.RunFor(40*time.Second))
	require.Len(t, inj.Active(), 4)
	inj.Heal()
	require.Empty(t, inj.Active())
	require.NoError(t, w.RunFor(60*time.Second))
	require.Equal(t, []string{"begin a", "end"}, handled)
	require.NotContains(t, inj.Fired(), "node.crash", "what would begin after the healing does not")
	require.NotContains(t, inj.Fired(), "net.reset", "there was no connection to cut")
	for pair, at := range heard {
		require.Less(t, w.Now()-at, 100*time.Millisecond, pair)
	}
}
