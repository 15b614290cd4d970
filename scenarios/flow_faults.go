package scenarios

import (
	"time"

	"github.com/simrun-dev/simrun/faults"
)

// handleBackends makes the ways of machines to the frontends the subject of faults. Begun, if not nil, is told whenever one
// begins. Of several that are in force at a time each ends only what it has begun.
func handleBackends(r *Run, machines []string, of func(machine string) *backendFaults, begun func()) {
	handle := func(kind string, begin func(on *backendFaults, f *faults.Fault) (end func())) {
		r.Handle(kind, machines, func(f *faults.Fault) (func(), bool) {
			end := begin(of(f.Target[0]), f)
			if begun != nil {
				begun()
			}
			return end, true
		})
	}
	handle("frontend.unavailable", func(on *backendFaults, _ *faults.Fault) func() {
		on.down++
		return func() { on.down-- }
	})
	handle("frontend.slow", func(on *backendFaults, f *faults.Fault) func() {
		by := f.Duration("mean")
		on.slow += by
		return func() { on.slow -= by }
	})
	handle("flow.lost_reply", func(on *backendFaults, f *faults.Fault) func() {
		return loseCalls(&on.lost, &on.late, f)
	})
}

// loseCalls has a share of calls get lost, some of which come late; what is late is as late as the fault says that began last.
func loseCalls(lost *int, late *time.Duration, f *faults.Fault) (end func()) {
	share := f.PerMillion("share")
	*lost, *late = *lost+share, f.Duration("late")
	return func() { *lost -= share }
}

// handleMirrors makes the inserts that frontends mirror the subject of faults.
func handleMirrors(r *Run, frontends []string, of map[string]*mirrorFaults) {
	r.Handle("flow.mirror", frontends, func(f *faults.Fault) (func(), bool) {
		on, lost, twice, late := of[f.Target[0]], f.PerMillion("lost"), f.PerMillion("twice"), f.Duration("late")
		on.lost, on.twice, on.late = on.lost+lost, on.twice+twice, on.late+late
		return func() { on.lost, on.twice, on.late = on.lost-lost, on.twice-twice, on.late-late }, true
	})
}
