package faults

import (
	"time"

	"github.com/simrun-dev/simrun/sim"
)

// gather moves the faults of a run into storms with lulls between them. Where most kinds are on, faults
// overlap all the time: a lease has to run out, its holder's work be taken up and what was missed be
// caught up before anything new can go wrong, which takes longer than the gaps that chance leaves. The
// faults are as many as before; they begin sooner after one another, and end with their storm.
func (p *Plan) gather(seed uint64, profile Profile, length time.Duration) {
	s := sim.NewStream(seed, "fault", "storms")
	if profile.Lull == 0 || s.N(3) == 0 {
		return
	}
	period := length / time.Duration(s.Between(2, 6))
	if period <= 0 {
		return
	}
	share := time.Duration(s.Between(int64(profile.Lull/2), int64(profile.Lull))) // of lulls, in percent
	lull := period / 100 * share
	for i := range p.Faults {
		f := &p.Faults[i]
		begins := time.Duration(f.From) / period * period
		within := time.Duration(f.From) - begins
		lasts := f.To - f.From
		f.From = Time((begins + lull + within/100*(100-share)).Round(time.Microsecond))
		if f.To != 0 {
			f.To = min(f.From+lasts, Time((begins + period).Round(time.Microsecond)))
			f.To = max(f.To, f.From+Time(time.Microsecond))
		}
	}
}
