package scenarios

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// Coverage is which situations runs have got into, over several scenarios and fault profiles.
type Coverage struct {
	situations map[string]*Situation
	// added counts the runs by campaign.
	added map[Campaigned]int
	runs  int
}

// Campaigned is a campaign whose runs a [Coverage] takes in.
type Campaigned struct{ Scenario, Profile string }

// Situation is how well runs have covered one situation.
type Situation struct {
	Name string `json:"situation"`
	// Hits is how often it was reached, Seeds in how many runs, of the Runs that came near: those
	// that reached something of the same package.
	Hits  int `json:"hits"`
	Seeds int `json:"seeds"`
	Runs  int `json:"runs"`
	// Scenario and Profile are the campaign that got there with the fewest seeds, Needed how many it
	// took, and First the seed that did. They are empty if none did.
	Scenario string `json:"scenario"`
	Profile  string `json:"profile"`
	Needed   int    `json:"needed"`
	First    uint64 `json:"first_seed"`
	// Scenarios are all whose runs reached it, in the order of their first runs.
	Scenarios []string `json:"scenarios"`

	reachedBy []Campaigned
}

// Package is the part of the name before the colon, "" if there is none.
func (s *Situation) Package() string {
	if p, _, ok := strings.Cut(s.Name, ":"); ok {
		return p
	}
	return ""
}

// Add takes in a run of a campaign. The runs of each campaign are added in the order of its seeds.
func (c *Coverage) Add(campaign Campaigned, r *Result) {
	if c.added == nil {
		c.added = map[Campaigned]int{}
	}
	c.added[campaign]++
	c.runs++
	for name, hits := range r.Sometimes {
		s := c.situation(name)
		s.Runs++
		if hits == 0 {
			continue
		}
		s.Hits += hits
		s.Seeds++
		if slices.Contains(s.reachedBy, campaign) {
			continue
		}
		s.reachedBy = append(s.reachedBy, campaign)
		if !slices.Contains(s.Scenarios, campaign.Scenario) {
			s.Scenarios = append(s.Scenarios, campaign.Scenario)
		}
		if needed := c.added[campaign]; s.Needed == 0 || needed < s.Needed {
			s.Needed, s.First, s.Scenario, s.Profile = needed, r.Seed, campaign.Scenario, campaign.Profile
		}
	}
}

// AddDeclared adds all situations that the program declares, also those of packages that no run has
// used: without it they are left out.
func (c *Coverage) AddDeclared() {
	for _, name := range host.Declared() {
		c.situation(name)
	}
}

func (c *Coverage) situation(name string) *Situation {
	s := c.situations[name]
	if s == nil {
		if c.situations == nil {
			c.situations = map[string]*Situation{}
		}
		s = &Situation{Name: name, Scenarios: []string{}}
		c.situations[name] = s
	}
	return s
}

// Runs is how many runs were added.
func (c *Coverage) Runs() int { return c.runs }

// Situations are all situations, by package and name.
func (c *Coverage) Situations() []Situation {
	all := make([]Situation, 0, len(c.situations))
	for _, s := range c.situations {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Situation) int {
		return cmp.Or(strings.Compare(a.Package(), b.Package()), strings.Compare(a.Name, b.Name))
	})
	return all
}
