package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// Moment is one at which a fault is worth more than at others: something is half done.
type Moment struct {
	// Note is what is noted then; see [When].
	Note string
	// Kind is a kind of fault whose handlers only scenarios with that system have.
	Kind string
	// Doc says what is half done.
	Doc string
}

var moments = []Moment{
	{"persist.upper", "persist.upper_mismatch", "an append is in, and its writer has not been answered"},
	{"persist: several changes were synced at once", "persist.indeterminate", "the store has synced, and nobody knows yet"},
	{"persist: a writer's lease expired", "persist.lease_expire", "a writer is being forgotten"},
	{"persist: batches were merged", "persist.upper_mismatch", "batches are replaced and their blobs not yet collected"},
	{"persist: a rollup was added", "persist.upper_mismatch", "versions are about to be dropped"},
	{"storage: a tick writes what differs", "persist.upper_mismatch", "a correction is on its way"},
	{"storage: an append is tried again after somebody else's", "persist.upper_mismatch", "a writer has just lost a race"},
	{"storage: a tick found that somebody else wrote", "persist.lease_expire", "a task is about to read its shard anew"},
	{"cdc.owner", "owner.change", "an owner has just been elected"},
	{"cdc.checkpoint", "owner.change", "a checkpoint is stored, and captures do not know it yet"},
	{"cdc: a key span takes a while to end", "owner.change", "a key span is leaving one capture for another"},
	{"cdc: a sync tells of running key spans", "owner.change", "a new owner learns who has what"},
	{"cdc: a sync tells of key spans being removed", "owner.change", "a new owner learns of a move under way"},
	{"cdc: a key span has to catch up before it counts as added", "owner.change", "a key span is on its way into the checkpoint"},
	{"cdc: a capture lost its session", "capture.crash", "a capture does not lead what it still writes"},
	{"coord: several commands were synced at once", "owner.change", "the service has synced, and nobody knows yet"},
	{"coord: a lease expired", "owner.change", "what hung on a lease is going"},
	{"cdc: the outcome of a checkpoint write is not known", "coord.stall", "what an owner has stored may still take effect"},
	{"wal: a write failed", "coord.stall", "what was logged may be on the disk, and is being taken back"},
	{"compute: a dataflow begins to read late", "replica.disconnect", "a dataflow is to read as of a time that the next connection may not ask for"},
	{"compute: a dataflow waits for others to hydrate", "replica.disconnect", "a replica has begun a part of its dataflows"},
	{"compute: a dataflow's work took several turns", "replica.disconnect", "a dataflow stands in the midst of its input"},
	{"compute: a peek has to wait for its time", "replica.disconnect", "a peek is open"},
	{"compute: a reconciliation retained a dataflow", "controller.restart", "a new controller has just taken over"},
	{"compute: another replica had written to the shard", "replica.disconnect", "two replicas write to one shard"},
	{"flow: changes were held back during a refill", "flow.restart", "a flow refills while inserts arrive"},
	{"flow: a flush waits for a refill", "flow.restart", "a flow refills and is asked to flush"},
	{"flow: a flow was replaced", "flow.restart", "a flow's new version has its sink"},
	{"flow: an insert came early", "flow.mirror", "what precedes an insert is on its way"},
	{"flow: a write of unknown outcome is repeated", "flow.lost_reply", "a result may be in its sink twice"},
}

// Moments is the catalogue of moments that profiles aim faults at.
func Moments() []Moment { return slices.Clone(moments) }

// momentsOf are the moments of a scenario that has handlers for some kinds.
func momentsOf(t *Topology, handled []string) []string {
	var notes []string
	for _, m := range moments {
		if slices.Contains(handled, m.Kind) {
			notes = append(notes, m.Note)
		}
	}
	return append(notes, t.Moments...)
}

// maxNthLog bounds which time of a moment is drawn: those that come once in a run are to be hit as well
// as those that come all the time.
const maxNthLog = 6

// aim adds faults that wait for moments: in half of the runs, of each kind one or none.
func (p *Plan) aim(seed uint64, profile Profile, possible []*Kind, t *Topology, notes []string) {
	if len(notes) == 0 || sim.NewStream(seed, "fault", "swarm", "aimed").N(2) == 0 {
		return
	}
	for _, k := range possible {
		id := k.Name + "/aimed"
		s := sim.NewStream(seed, "fault", id)
		if s.N(100) >= uint64(profile.Aimed) {
			continue
		}
		f := Fault{ID: id, Kind: k.Name, When: &When{
			Note: notes[s.N(uint64(len(notes)))],
			Nth:  1 + int(s.N(1<<s.N(maxNthLog))),
		}}
		// At once, while the message is on its way, or while its consequences are.
		after := s.N([]uint64{0, 2_000, 50_000}[s.N(3)])
		f.When.After = Time(time.Duration(after) * time.Microsecond)
		if !k.Instant {
			lasts := s.Between(int64(profile.For[0]), int64(profile.For[1]))
			f.For = Time(time.Duration(lasts).Round(time.Microsecond))
		}
		f.Target = k.aimAt(s, t)
		if k.draw != nil {
			k.draw(s, &f, t)
		}
		p.Faults = append(p.Faults, f)
	}
}

// aimAt draws what a fault that waits for a moment strikes: mostly the machine that noted.
func (k *Kind) aimAt(s *sim.Stream, t *Topology) []string {
	other := t.Machines[s.N(uint64(len(t.Machines)))]
	there := s.N(4) > 0
	switch {
	case k.Machines == oneMachine && there:
		return []string{There}
	case k.Machines == oneMachine && other.Role != "":
		return []string{fmt.Sprint(rolePrefix, other.Role)}
	case k.Machines == oneMachine:
		return []string{other.Name}
	case k.Machines == oneDisk:
		return []string{pick(s, t.diskNames())}
	case k.Machines == twoMachines:
		return []string{There, other.Name}
	}
	return nil // the kind draws them itself
}
