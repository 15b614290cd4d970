package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/simrun-dev/simrun/faults"
	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/reports"
)

func (c *Command) listCommand() *cobra.Command {
	var json jsonFlag
	var catalogue bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios with their settings and oracles, or the kinds of faults",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if catalogue {
				return c.listFaults(&json)
			}
			return c.listScenarios(&json)
		},
	}
	json.add(cmd.Flags(), "the list")
	cmd.Flags().BoolVar(&catalogue, "faults", false, "list the kinds of faults with their parameters, and the profiles")
	return cmd
}

func (c *Command) listScenarios(json *jsonFlag) error {
	list := make([]reports.ScenarioInfo, len(c.Scenarios))
	for i, s := range c.Scenarios {
		list[i] = reports.ScenarioInfo{Name: s.Name, Doc: s.Doc, Profile: rerun.DefaultProfile(s), Oracles: s.Oracles}
		for _, setting := range s.AllSettings() {
			list[i].Settings = append(list[i].Settings, reports.SettingInfo{
				Name: setting.Name, Default: setting.Default, Doc: setting.Doc,
			})
		}
	}
	return writeList(c, json, list, (*reports.JSONLines).Scenario, func(t *reports.Terminal, list []reports.ScenarioInfo) error {
		profiles, err := profileInfos()
		return errors.Join(err, t.Scenarios(list), t.Profiles(profiles))
	})
}

// profileInfos are the fault profiles, as reports print them.
func profileInfos() ([]reports.ProfileInfo, error) {
	var profiles []reports.ProfileInfo
	for _, name := range faults.Profiles() {
		p, err := faults.FindProfile(name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, reports.ProfileInfo{Name: p.Name, Doc: p.Doc})
	}
	return profiles, nil
}

func (c *Command) listFaults(json *jsonFlag) error {
	kinds := faults.Kinds()
	list := make([]reports.FaultInfo, len(kinds))
	for i, k := range kinds {
		list[i] = reports.FaultInfo{Kind: k.Name, Doc: k.Doc, Cause: k.Cause}
		for _, p := range k.Params {
			list[i].Params = append(list[i].Params, reports.SettingInfo{Name: p.Name, Default: p.Default, Doc: p.Doc})
		}
	}
	return writeList(c, json, list, (*reports.JSONLines).Fault, func(t *reports.Terminal, list []reports.FaultInfo) error {
		profiles, err := profileInfos()
		return errors.Join(err, t.Faults(list), t.Moments(faults.Moments()), t.Profiles(profiles))
	})
}

// writeList writes a list as text, unless JSON takes standard output, and as JSON if asked for.
func writeList[T any](c *Command, json *jsonFlag, list []T,
	line func(*reports.JSONLines, T) error, text func(*reports.Terminal, []T) error,
) (err error) {
	out, err := c.open(json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if out.json != nil {
		j := reports.NewJSONLines(out.json)
		for _, item := range list {
			if err := line(j, item); err != nil {
				return err
			}
		}
	}
	if json.path == "-" {
		return nil
	}
	return text(c.terminal(out.text), list)
}
