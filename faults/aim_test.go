package faults

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// diary runs five machines that each note a step every 100 ms, a at 0 ms, b at 10 ms and so on, with a
// plan, and heals it after two seconds. It returns what the injector wrote into the trace, with the
// virtual times.
func diary(t *testing.T, seed uint64, plan string) (lines []string, w *sim.World, inj *Injector) {
	t.Helper()
	w = sim.New(sim.Config{Seed: seed, Record: true})
	t.Cleanup(w.Close)
	for n, m := range testTopology.Machines {
		w.NewNode(m.Name, func(h host.Host) {
			h.Clock().Sleep(time.Duration(n) * 10 * time.Millisecond)
			for {
				h.Note("step/"+h.Name(), "")
				inj.Noted(h.Name(), "step/"+h.Name())
				h.Clock().Sleep(100 * time.Millisecond)
			}
		})
	}
	p, err := ParsePlan([]byte("faults:\n" + plan))
	require.NoError(t, err)
	inj, err = NewInjector(w, p, testTopology, map[string]Handler{
		"owner.change": func(f *Fault) (func(), bool) { return nil, f.Target[0] == "a" },
	})
	require.NoError(t, err)
	w.Go("test", func() {
		w.Sleep(5 * time.Millisecond)
		inj.Start()
		w.Sleep(2 * time.Second)
		inj.Heal()
		inj.Heal()
	})
	require.NoError(t, w.Run(), "the injector's tasks end when it has healed")
	for _, e := range w.Trace() {
		if e.Kind == sim.EventFault {
			// Which parameters a kind has is the catalogue's business.
			lines = append(lines, time.Duration(e.At).String()+" "+parameters.ReplaceAllString(e.Text, ""))
		}
	}
	return lines, w, inj
}

var parameters = regexp.MustCompile(` \S+=\S+`)

func TestAimedFaults(t *testing.T) {
	for name, test := range map[string]struct {
		plan string
		want []string
	}{
		"where it was noted": {
			"  - {id: x, kind: node.crash, target: [there], when: {note: step, nth: 7, after: 5ms}, for: 300ms}\n",
			// After 5 ms: b to e, and a to c; c is the seventh.
			[]string{"125ms begin x on c", "425ms end x"},
		},
		"at once": {
			"  - {id: x, kind: node.pause, target: [there], when: {note: step/d}, for: 50ms}\n",
			[]string{"30ms begin x on d", "80ms end x"},
		},
		"armed later": {
			"  - {id: x, kind: node.pause, target: [there], from: 1s, when: {note: step/d}, for: 50ms}\n",
			[]string{"1.03s begin x on d", "1.08s end x"},
		},
		"elsewhere": {
			"  - {id: x, kind: node.pause, target: [e], when: {note: step/d, nth: 2}, for: 50ms}\n",
			[]string{"130ms begin x on e", "180ms end x"},
		},
		"with the others of its role": {
			"  - {id: x, kind: net.clog, target: [there, 'role/client'], when: {note: step/b}, for: 50ms}\n",
			[]string{"10ms begin x on b,a", "60ms end x"},
		},
		"both at the same place": {
			"  - {id: x, kind: net.clog, target: [there, b], when: {note: step/b}, for: 50ms}\n",
			[]string{"10ms nothing to do for x on b,b"},
		},
		"a machine without a disk": {
			"  - {id: x, kind: disk.error, target: [there], when: {note: step/b}, for: 50ms}\n",
			[]string{"10ms nothing to do for x on b"},
		},
		"a subject": {
			"  - {id: x, kind: owner.change, target: [there], when: {note: step/a, nth: 2}}\n",
			[]string{"200ms begin x on a"},
		},
		"no subject": {
			"  - {id: x, kind: owner.change, target: [there], when: {note: step/c}}\n",
			[]string{"20ms nothing to do for x on c"},
		},
		"healed in force": {
			"  - {id: x, kind: node.pause, target: [there], when: {note: step/d, nth: 20}, for: 1h}\n",
			[]string{"1.93s begin x on d", "2.005s end x"},
		},
		"in vain": {
			"  - {id: x, kind: node.pause, target: [there], when: {note: stop}, for: 1h}\n", nil,
		},
		"too late": {
			"  - {id: x, kind: node.pause, target: [there], when: {note: step/d, nth: 20, after: 80ms}, for: 1h}\n", nil,
		},
		"two at once, and one at its time": {
			"  - {id: x, kind: node.pause, target: [there], when: {note: step/b, nth: 2, after: 40ms}, for: 10ms}\n" +
				"  - {id: y, kind: node.pause, target: [there], when: {note: step/c, nth: 2}, for: 50ms}\n" +
				"  - {id: z, kind: node.pause, target: [e], from: 130ms, to: 140ms}\n",
			[]string{"120ms begin y on c", "135ms begin z on e", "145ms end z", "150ms begin x on b", "160ms end x", "170ms end y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, _, inj := diary(t, 1, test.plan)
			require.Equal(t, test.want, lines)
			require.Empty(t, inj.Active())
		})
	}
}

// A run with faults that wait is the same each time, and without one of them the others are as they
// were.
func TestAimedFaultsDoNotDisturbEachOther(t *testing.T) {
	all := []string{
		"  - {id: w, kind: net.clog, target: [there, 'role/server'], when: {note: step/a, nth: 3, after: 7ms}, for: 90ms}\n",
		"  - {id: x, kind: node.pause, target: ['role/client'], when: {note: step/d, nth: 2}, for: 30ms}\n",
		"  - {id: y, kind: node.crash, target: ['role/server'], when: {note: step/b, nth: 5, after: 1ms}, for: 200ms}\n",
		"  - {id: z, kind: net.loss, target: [c], from: 100ms, to: 900ms, params: {loss: 50%}}\n",
	}
	for seed := range uint64(10) {
		whole, w, _ := diary(t, seed, strings.Join(all, ""))
		_, again, _ := diary(t, seed, strings.Join(all, ""))
		require.Equal(t, w.Hash(), again.Hash())
		require.Len(t, whole, 8)
		for i, id := range []string{"w", "x", "y", "z"} {
			without, _, _ := diary(t, seed, strings.Join(slices.Concat(all[:i], all[i+1:]), ""))
			rest := slices.DeleteFunc(slices.Clone(whole), func(line string) bool {
				words := strings.Fields(line)
				return words[2] == id
			})
			require.Equal(t, rest, without, "without %s", id)
		}
	}
}

// Every profile but calm aims some faults, not in each run, and what it aims of one kind does not
// depend on what other kinds there are.
func TestGenerateAims(t *testing.T) {
	for _, p := range profiles {
		runs, aimed := 0, 0
		moments := map[string]bool{}
		for seed := range uint64(300) {
			plan := Generate(seed, p, testTopology, 20*time.Second, testHandled())
			mine := slices.DeleteFunc(slices.Clone(plan.Faults), func(f Fault) bool { return f.When == nil })
			if len(mine) > 0 {
				runs++
			}
			aimed += len(mine)
			for _, f := range mine {
				moments[f.When.Note] = true
			}
			only := p
			only.Only = []string{"node.crash"}
			for _, f := range Generate(seed, only, testTopology, 20*time.Second, testHandled()).Faults {
				if f.When != nil && p.draws(kinds["node.crash"]) {
					require.Contains(t, plan.Faults, f)
				}
			}
		}
		if p.Name == "calm" {
			require.Zero(t, runs)
			continue
		}
		require.Greater(t, runs, 60, p.Name)
		require.Less(t, runs, 200, p.Name)
		require.Greater(t, aimed, runs, p.Name)
		require.Len(t, moments, len(Moments()), p.Name)
	}
	none := Generate(1, profile(t, "chaos"), &Topology{Machines: testTopology.Machines}, 20*time.Second, nil)
	require.False(t, slices.ContainsFunc(none.Faults, func(f Fault) bool { return f.When != nil }), "no moment is known")
	own := false
	for seed := range uint64(20) {
		plan := Generate(seed, profile(t, "chaos"), &Topology{Machines: testTopology.Machines, Moments: []string{"mine"}}, 20*time.Second, nil)
		own = own || slices.ContainsFunc(plan.Faults, func(f Fault) bool { return f.When != nil && f.When.Note == "mine" })
	}
	require.True(t, own)
}

func TestPeriod(t *testing.T) {
	require.Equal(t, "2s", (&Fault{From: Time(2 * time.Second)}).Period())
	require.Equal(t, "2s to 3.5s", (&Fault{From: Time(2 * time.Second), To: Time(3500 * time.Millisecond)}).Period())
	require.Equal(t, "at x", (&Fault{When: &When{Note: "x"}}).Period())
	require.Equal(t, "from 1s at time 3 of x + 5ms, for 2s",
		(&Fault{From: Time(time.Second), For: Time(2 * time.Second), When: &When{Note: "x", Nth: 3, After: Time(5 * time.Millisecond)}}).Period())
}

func BenchmarkNoted(b *testing.B) {
	w := sim.New(sim.Config{})
	defer w.Close()
	plan := &Plan{Faults: []Fault{{ID: "x", Kind: "node.pause", Target: []string{There}, When: &When{Note: "y"}, For: 1}}}
	inj, err := NewInjector(w, plan, testTopology, nil)
	if err != nil {
		b.Fatal(err)
	}
	inj.Start()
	for b.Loop() {
		inj.Noted("a", "persist.upper/shard-1")
	}
}
