package reports

import (
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/faults"
)

// ScenarioInfo describes a scenario: one line of `simrun list --json`.
type ScenarioInfo struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Profile is the fault profile used when none is asked for.
	Profile  string        `json:"profile"`
	Settings []SettingInfo `json:"settings"`
	Oracles  []string      `json:"oracles"`
}

// SettingInfo describes a setting of a scenario.
type SettingInfo struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// FaultInfo describes a kind of fault: one line of `simrun list --faults --json`.
type FaultInfo struct {
	Kind string `json:"kind"`
	// Doc says what happens, Cause what does this to real systems.
	Doc    string        `json:"doc"`
	Cause  string        `json:"cause"`
	Params []SettingInfo `json:"params"`
}

// ProfileInfo describes a fault profile.
type ProfileInfo struct{ Name, Doc string }

// Scenarios prints what scenarios there are.
func (t *Terminal) Scenarios(list []ScenarioInfo) error {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n  %s\n", t.paint(bold, s.Name), s.Doc)
		if s.Profile != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", "faults", s.Profile)
		}
		if len(s.Oracles) > 0 {
			fmt.Fprintf(&b, "  %-9s %s\n", "oracles", strings.Join(s.Oracles, ", "))
		}
		settings(&b, "settings", s.Settings)
	}
	return t.block(&b)
}

// Faults prints the catalogue of faults.
func (t *Terminal) Faults(list []FaultInfo) error {
	var b strings.Builder
	for i, f := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n  %s\n", t.paint(bold, f.Kind), f.Doc)
		if f.Cause != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", "cause", f.Cause)
		}
		settings(&b, "params", f.Params)
	}
	return t.block(&b)
}

// Profiles prints the fault profiles.
func (t *Terminal) Profiles(profiles []ProfileInfo) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.paint(bold, "fault profiles"))
	for _, p := range profiles {
		fmt.Fprintf(&b, "  %-9s %s\n", p.Name, p.Doc)
	}
	return t.block(&b)
}

// Moments prints the moments that faults are aimed at.
func (t *Terminal) Moments(list []faults.Moment) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (when: {note: ...})\n", t.paint(bold, "moments"))
	for _, m := range list {
		fmt.Fprintf(&b, "  %-58s %s\n", m.Note, m.Doc)
	}
	return t.block(&b)
}

// settings prints names with their defaults, one a line.
func settings(b *strings.Builder, title string, list []SettingInfo) {
	width := 0
	for _, s := range list {
		width = max(width, len(s.Name)+1+len(s.Default))
	}
	for _, s := range list {
		fmt.Fprintf(b, "  %-9s %-*s  %s\n", title, width, s.Name+"="+s.Default, s.Doc)
		title = ""
	}
}
