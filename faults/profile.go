package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// Profile says how often the kinds of faults happen.
type Profile struct {
	Name string
	Doc  string
	// On is how likely a kind is switched on in a run, in percent. A scenario's own kinds are off
	// half as often as the others.
	On int
	// Every is the mean time between two faults of one kind that is on, at least and at most; a
	// run draws its own between them.
	Every [2]time.Duration
	// For is how long a fault lasts, at least and at most.
	For [2]time.Duration
	// Lull is how much of the time is free of faults, at most, in percent: two thirds of the runs have
	// storms with lulls between them (storm.go), in which what was broken can begin to work again, and
	// be broken anew.
	Lull int
	// Aimed is how likely each kind has a fault that waits for a moment ([Moments]), in percent, in a
	// run that has any: half of them.
	Aimed int
	// Only, if not nil, are the kinds it draws from. A name that ends in "*" stands for all that begin
	// as it does, but for unbounded ones.
	Only []string
}

// draws tells whether the profile may draw faults of a kind.
func (p *Profile) draws(k *Kind) bool {
	if slices.Contains(p.Only, k.Name) {
		return true
	}
	if k.Unbounded {
		return false
	}
	return p.Only == nil || slices.ContainsFunc(p.Only, func(name string) bool {
		prefix, ok := strings.CutSuffix(name, "*")
		return ok && strings.HasPrefix(k.Name, prefix)
	})
}

// How often and for how long faults happen where a system's own are to overlap.
var (
	often = [2]time.Duration{600 * time.Millisecond, 8 * time.Second}
	short = [2]time.Duration{50 * time.Millisecond, 2500 * time.Millisecond}
)

var profiles = []Profile{
	{Name: "calm", Doc: "no faults at all"},
	{
		Name: "default", Doc: "each kind is on in half of the runs",
		On: 50, Every: [2]time.Duration{2 * time.Second, 15 * time.Second}, Aimed: 10,
		For: [2]time.Duration{50 * time.Millisecond, 4 * time.Second},
	},
	{
		// Short faults: where several kinds overlap all the time, long ones would leave no operation
		// that succeeds, and so nothing to go wrong.
		Name: "chaos", Doc: "most kinds are on, often and briefly",
		On: 80, Every: [2]time.Duration{600 * time.Millisecond, 8 * time.Second}, Aimed: 15, Lull: 60,
		For: [2]time.Duration{20 * time.Millisecond, 1500 * time.Millisecond},
	},
	{
		Name: "persist", Doc: "rivals, unknown outcomes, outages and lost leases only",
		On: 100, Every: [2]time.Duration{300 * time.Millisecond, 4 * time.Second}, Aimed: 30,
		For:  [2]time.Duration{200 * time.Millisecond, 4 * time.Second},
		Only: []string{"persist.*"},
	},
	{
		Name: "cdc", Doc: "owners, captures and the source, with what parts them from the coordination service",
		On: 40, Every: often, For: short, Aimed: 20,
		Only: []string{"owner.*", "capture.*", "source.*", "sink.*", "coord.*", "node.pause", "node.crash", "net.partition", "net.oneway", "net.clog", "clock.jump"},
	},
	{
		Name: "compute", Doc: "replicas and their controller, with what they read from and write to",
		On: 40, Every: often, For: short, Aimed: 20,
		Only: []string{"replica.*", "controller.*", "persist.*", "node.crash", "node.pause", "net.partition", "net.clog"},
	},
	{
		Name: "flow", Doc: "flow nodes and frontends, with what they read from and write to",
		On: 40, Every: often, For: short, Aimed: 20,
		Only: []string{"flow.*", "frontend.*", "persist.*", "node.crash", "net.partition", "net.delay", "clock.jump"},
	},
	{
		Name: "pipeline", Doc: "what is special to any of the systems, and few of the faults that strike all machines alike",
		On: 30, Every: [2]time.Duration{time.Second, 10 * time.Second}, For: short, Aimed: 10,
		Only: []string{"owner.*", "capture.*", "source.*", "sink.*", "coord.*", "replica.*", "controller.*", "flow.*", "frontend.*", "pipeline.*", "persist.*", "node.crash", "net.partition"},
	},
	{
		// For runs of days: what was broken is to be mended and be let alone before it is broken again.
		Name: "haul", Doc: "most kinds are on, in storms, with lulls that are as long",
		On: 60, Every: [2]time.Duration{3 * time.Second, 20 * time.Second}, Aimed: 20, Lull: 70,
		For: [2]time.Duration{50 * time.Millisecond, 5 * time.Second},
	},
}

// Profiles returns the names of the profiles, sorted.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

// FindProfile returns a profile by name.
func FindProfile(name string) (Profile, error) {
	for _, p := range profiles {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("there is no fault profile %q; there are %v", name, Profiles())
}

// Slower returns the profile for a system that lives by times as long intervals and timeouts as those that profiles are
// made for: faults last by times as long.
func (p Profile) Slower(by int) Profile {
	p.For[0] *= time.Duration(by)
	p.For[1] *= time.Duration(by)
	return p
}

// usualLength is the length of a phase up to which faults come as often as their profile says. In longer ones there are
// as many as in one of this length, spread over all of it.
const usualLength = 5 * time.Minute

// spread returns the profile for a phase of the length.
func (p Profile) spread(length time.Duration) Profile {
	if length <= usualLength {
		return p
	}
	for i, every := range p.Every {
		p.Every[i] = time.Duration(float64(every) * (float64(length) / float64(usualLength)))
	}
	return p
}

// Generate draws a plan for a phase of the given length. The kinds are those that the topology has
// targets for and, of the scenario's own, those in handled.
func Generate(seed uint64, p Profile, t *Topology, length time.Duration, handled []string) *Plan {
	plan := &Plan{Profile: p.Name, Seed: seed}
	p = p.spread(length)
	if p.On == 0 {
		return plan
	}
	var possible []*Kind
	for _, k := range Kinds() {
		switch {
		case !p.draws(k):
		case k.Subjects && (!slices.Contains(handled, k.Name) || len(t.Subjects[k.Name]) == 0):
		case k.Machines == oneDisk && len(t.diskNames()) == 0:
		case len(t.Machines) == 0:
		case (k.Machines == twoMachines || k.Machines == someMachines) && len(t.Machines) < 2:
		default:
			possible = append(possible, k)
		}
	}
	on := 0
	for _, k := range possible {
		likely := p.On
		if k.Subjects {
			likely = (100 + p.On) / 2 // the scenario's own kinds are what it is about
		}
		if sim.NewStream(seed, "fault", "swarm", k.Name).N(100) < uint64(likely) {
			on++
			plan.draw(seed, p, k, t, length)
		}
	}
	if on == 0 && len(possible) > 0 {
		// A swarm is never empty: a run without faults has the profile calm.
		plan.draw(seed, p, possible[sim.NewStream(seed, "fault", "swarm").N(uint64(len(possible)))], t, length)
	}
	plan.gather(seed, p, length)
	plan.aim(seed, p, possible, t, momentsOf(t, handled))
	plan.sort()
	return plan
}

// draw adds the faults of one kind. If chance has none begin in time, one begins halfway, so that
// a kind that is on is seen.
func (p *Plan) draw(seed uint64, profile Profile, k *Kind, t *Topology, length time.Duration) {
	rate := sim.NewStream(seed, "fault", "rate", k.Name)
	mean := time.Duration(rate.Between(int64(profile.Every[0]), int64(profile.Every[1])))
	gaps := sim.NewStream(seed, "fault", "gap", k.Name)
	at := time.Duration(0)
	for i := 1; ; i++ {
		at += sim.Exp(0, mean).Sample(gaps.Uint64())
		if at >= length {
			if i > 1 {
				return
			}
			at = length / 2
		}
		f := Fault{ID: fmt.Sprintf("%s/%d", k.Name, i), Kind: k.Name, From: Time(at.Round(time.Microsecond))}
		s := sim.NewStream(seed, "fault", f.ID)
		if !k.Instant {
			lasts := s.Between(int64(profile.For[0]), int64(profile.For[1]))
			f.To = f.From + Time(time.Duration(lasts).Round(time.Microsecond))
		}
		switch k.Machines {
		case oneMachine:
			f.Target = shuffled(s, t.machineNames())[:1]
		case oneDisk:
			f.Target = []string{pick(s, t.diskNames())}
		case twoMachines:
			f.Target = shuffled(s, t.machineNames())[:2]
		}
		if k.draw != nil {
			k.draw(s, &f, t)
		}
		p.Faults = append(p.Faults, f)
		if at == length/2 && i == 1 {
			return
		}
	}
}
